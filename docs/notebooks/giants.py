"""A business survey with giants, as a notebook: `marimo edit giants.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: a business survey with giants

    A few firms are so large that everyone knows them. Noise that hides a baker does not hide the steel works.
    """)
    return (mo,)


@app.cell
def _():
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(8)
    n = 500
    size = rng.lognormal(0, 1.4, n)
    firms = pd.DataFrame({
        "industry": rng.choice(["food", "metal", "trade"], n, p=[0.3, 0.3, 0.4]),
        "employees": np.ceil(6 * size * rng.lognormal(0, 0.3, n)),
        "turnover": (700 * size * rng.lognormal(0, 0.5, n)).round(),
        "wages": (180 * size * rng.lognormal(0, 0.3, n)).round(),
    })
    firms.nlargest(4, "turnover")
    return (firms,)


@app.cell
def _(firms):
    import larvatus as lv

    data = lv.read(firms, confidential=["employees", "turnover", "wages"], sub_groups=["industry"])
    noise = lv.mask(data, "additive_noise(variance=0.1)", name="noise", secret=b"notebook on giants: noise")
    noise.plot("turnover")
    return data, lv, noise


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## The mean hides the giants

    The attack reports the tenth of records that lie farthest from the others by themselves. That is where the giants are.
    """)


@app.cell
def _(data, lv, noise):
    found = lv.risk(data, noise, ["nearest_record"])
    found.nearest_record.details["outliers"]
    return (found,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Four answers

    * **top-coded**: the largest 5 % of the values get their mean, and then all values get noise;
    * **groups**: each firm gets the mean of ten similar firms;
    * **in proportion**: noise multiplies values, so that large values change more;
    * **shuffled**: values move between firms.
    """)


@app.cell
def _(data, lv, noise):
    answers = {
        "top-coded": ["top_coding(tail=0.05, replacement='mean')", "additive_noise(variance=0.1)"],
        "groups": ["microaggregation(k=10)"],
        "in proportion": ["bias_and_noise"],
        "shuffled": ["data_shuffling"],
    }
    releases = [noise, *(
        lv.mask(data, *steps, name=name, secret=f"notebook on giants: {name}".encode()) for name, steps in answers.items()
    )]
    comparison = lv.compare(data, releases, ["nearest_record", "value_disclosure"], ["moments", "correlation", "inequality"])
    comparison.plot()
    return comparison, releases


@app.cell
def _(data, lv, releases):
    from larvatus.data.score import Rows

    worst = []
    for release in releases:
        score = lv.risk(data, release, ["nearest_record"]).nearest_record
        part = {row["records"]: row["value"] for row in score.details["outliers"]}
        worst.append({"release": release.name, "all firms": score.value, **part})
    Rows.of(worst)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    Look at the outlying tenth. Noise of either kind hides the interior and leaves most giants to be found. Cutting tops helps
    in part. Groups and shuffling treat giants as they treat all other firms.

    ## What it costs

    Totals matter in business statistics. The table shows total turnover and the share of the ten largest firms.
    """)


@app.cell
def _(firms, releases):
    import pandas

    def totals(name, turnover):
        return {"file": name, "total": round(turnover.sum()), "share of the ten largest": round(
            turnover.nlargest(10).sum() / turnover.sum(), 3)}

    pandas.DataFrame([totals("original", firms["turnover"]), *(totals(r.name, r.frame()["turnover"]) for r in releases)])


if __name__ == "__main__":
    app.run()
