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

    Similar weights are replaced by their mean, for at least 40 households each:
    """)


@app.cell
def _(data, lv):
    shared = lv.mask(data, "additive_noise(variance=0.5)", "weight_grouping(k=40, scope='file')", name="shared weights",
                     secret=b"notebook on a survey: second")
    shared.plot("weight")
    return (shared,)


@app.cell
def _(mo, shared):
    mo.md("\n".join(f"* {note}" for note in shared.notes if "weight" in str(note)))


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    The weight alone singles out nobody now. Weight, region, sex and age together still do, and the members of a household add
    up. The mark at the right is what the unmasked columns give away without any masked one:
    """)


@app.cell
def _(data, lv, shared):
    lv.risk(data, shared, ["nearest_record", "household_linkage", "uniqueness"]).plot()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Fewer columns

    No mask of rent and wage can help if other columns find the record. So release fewer of them: no age, no sex, and no weight,
    which masks still use.
    """)


@app.cell
def _(lv, people):
    fewer = lv.read(people, confidential=["rent", "wage"], sub_groups=["region"], household="family", weight="weight",
                    release_weight=False)
    safer = lv.mask(fewer, "data_shuffling", name="fewer columns", secret=b"notebook on a survey: third")
    lv.risk(fewer, safer, ["nearest_record", "household_linkage", "uniqueness"]).plot()
    return (safer,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What analysts get

    With shared weights, weighted estimates hardly change. Without weights, analysts only have means of the sample:
    """)


@app.cell
def _(pd, people, release, safer, shared):
    def estimates(name, frame):
        w = frame["weight"] if "weight" in frame else pd.Series(1, index=frame.index)
        return {"file": name, "sum of weights": round(w.sum()), "mean wage": round((w * frame["wage"]).sum() / w.sum(), 1),
                "mean rent": round((w * frame["rent"]).sum() / w.sum(), 1)}

    pd.DataFrame([estimates("original", people), *(estimates(r.name, r.frame()) for r in (release, shared, safer))])


if __name__ == "__main__":
    app.run()
