"""Stays in a hospital: dates, an illness and a cost, as a notebook: `marimo edit a-hospital.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: a hospital

    A file of stays has dates, an illness and a cost. Dates single people out: somebody may know when a neighbour was in
    hospital. Analysts need the length of stays and the season.
    """)
    return (mo,)


@app.cell
def _():
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(1)
    n = 900
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    days = 1 + rng.gamma(2.0, 4.0, n).astype(int)
    illness = rng.choice(["heart", "lung", "bone", "skin"], n, p=[0.4, 0.3, 0.2, 0.1])
    stays = pd.DataFrame({
        "person": np.arange(n), "sex": rng.integers(1, 3, n), "illness": illness,
        "admitted": admitted, "discharged": admitted + pd.to_timedelta(days, unit="D"),
        "cost": (400 * days * rng.lognormal(0, 0.4, n)).round(),
    })
    stays.head()
    return pd, stays


@app.cell
def _(stays):
    import larvatus as lv

    data = lv.read(stays, confidential=["admitted", "discharged", "illness", "cost"], sub_groups=["sex"], person="person",
                   nominal=["illness"])
    data
    return data, lv


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Two plans

    * **shifted**: all dates of a person move by the same number of days. The length of a stay does not change.
    * **coarse**: only the months of admission and discharge are released.

    In both, about a tenth of the illnesses change at random, and costs are shuffled.
    """)


@app.cell
def _(data, lv):
    rest = ["post_randomisation(stay=0.9, columns=['illness'])", "data_shuffling(columns=['cost'])"]
    shifted = lv.mask(data, "date_shift(days=60)", *rest, name="shifted", secret=b"hospital: shifted")
    coarse = lv.mask(data, "recoding(unit='month', columns=['admitted', 'discharged'])", *rest, name="coarse",
                     secret=b"hospital: coarse")
    shifted.head()
    return coarse, shifted


@app.cell
def _(shifted):
    shifted.plot("illness")


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Who is found

    The intruder knows both dates, the illness and the cost of a stay. Long stays are rare, and a shift does not hide
    their length:
    """)


@app.cell
def _(data, lv, shifted):
    attacks = ["nearest_record", "date_intervals", "category_disclosure"]
    lv.risk(data, shifted, attacks).plot()
    return (attacks,)


@app.cell
def _(coarse, data, lv):
    lv.risk(data, coarse, ["nearest_record", "category_disclosure"]).plot()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What analysts still see

    The length of a stay, how often each illness occurs, and the total cost. `post_randomisation` keeps the shares of
    categories on average.
    """)


@app.cell
def _(coarse, pd, shifted, stays):
    def figures(name, frame):
        length = (pd.to_datetime(frame["discharged"]) - pd.to_datetime(frame["admitted"])).dt.days
        return {"file": name, "mean days": round(length.mean(), 2), "days of the longest tenth": length.quantile(0.9),
                "share of heart": round((frame["illness"] == "heart").mean(), 3), "total cost": frame["cost"].sum()}

    pd.DataFrame([figures("original", stays), figures("shifted", shifted.frame()), figures("coarse", coarse.frame())])


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    Neither of them may go out as it is: in both pictures, attacks go far beyond their limits. Shifting keeps the length
    of every stay, and that is what gives people away. Months hide more, but stays of a few days become 0 or 31. The
    next plan would release the month and the length of a stay instead of two dates, and shuffle both. *Dates and times*
    in the guides shows more ways.
    """)


if __name__ == "__main__":
    app.run()
