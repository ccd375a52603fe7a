"""A household survey with weights, as a notebook: `marimo edit household-survey.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: a household survey with weights

    Members of a household share their rent and their weight. If masking ignores that, the rows of a family no longer fit
    together, or they point at each other.
    """)
    return (mo,)


@app.cell
def _():
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(4)
    family = np.repeat(np.arange(250), rng.integers(1, 6, 250))
    n = len(family)
    region = rng.choice(["north", "east", "south", "west"], 250)
    people = pd.DataFrame({
        "family": family, "region": region[family], "sex": rng.integers(1, 3, n), "age": rng.integers(0, 9, n) * 10,
        "rent": rng.lognormal(6, 0.5, 250).round()[family], "wage": rng.lognormal(7, 0.6, n).round(),
        "weight": rng.uniform(20, 90, 250).round(2)[family],
    })
    people.head(7)
    return pd, people


@app.cell
def _(people):
    import larvatus as lv

    data = lv.read(people, confidential=["rent", "wage"], non_confidential=["sex", "age"], sub_groups=["region"],
                   nominal=["sex"], household="family", weight="weight")
    release = lv.mask(data, "additive_noise(variance=0.5)", name="weights as they are", secret=b"notebook on a survey: first")
    release.head(7)
    return data, lv, release


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    `rent` was masked once per household: all members still have the same. But a weight such as 57.31 belongs to one
    family only. It works like a name:
    """)


@app.cell
def _(data, lv, release):
    lv.risk(data, release, ["nearest_record", "household_linkage", "uniqueness"]).plot()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Weights that many share

    Similar weights are replaced by the mean of at least 40 of them, and then adjusted so that the totals by sex and
    region are those of the original.
    """)


@app.cell
def _(data, lv):
    better = lv.mask(data, "additive_noise(variance=0.5)", "weight_grouping(k=40, scope='file')",
                     "weight_calibration(margins=['sex'])", name="shared weights", secret=b"notebook on a survey: second")
    better.plot("weight")
    return (better,)


@app.cell
def _(better, mo):
    mo.md("\n".join(f"* {note}" for note in better.notes if "weight" in str(note)))


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Both on one map
    """)


@app.cell
def _(better, data, lv, release):
    comparison = lv.compare(data, [release, better], ["nearest_record", "household_linkage"],
                            ["moments", "correlation", "marginal"])
    comparison.plot()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    Estimates that use the weight hardly change:
    """)


@app.cell
def _(better, pd, people, release):
    def estimates(name, frame):
        w = frame["weight"]
        return {"file": name, "population": round(w.sum()), "mean wage": round((w * frame["wage"]).sum() / w.sum(), 1),
                "share of sex 2": round(w[frame["sex"].astype(int) == 2].sum() / w.sum(), 4)}

    pd.DataFrame([estimates("original", people), *(estimates(r.name, r.frame()) for r in (release, better))])


if __name__ == "__main__":
    app.run()
