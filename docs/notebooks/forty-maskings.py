"""Forty maskings of one file on one map, as a notebook: `marimo edit forty-maskings.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: comparing forty maskings

    Which mask, and how strong? Make many releases, put all of them on one map, and let limits decide that were stated
    before.
    """)
    return (mo,)


@app.cell
def _():
    import larvatus as lv

    heads = lv.datasets.household_heads(400)
    data = lv.read(heads, confidential=["property_tax", "income"])
    data
    return data, lv


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Forty releases in six lines

    `grid` makes one release for each value. `reverse_mapped = "both"` makes each release twice: as it is, and with the
    original values put back in the order of the masked ones.
    """)


@app.cell
def _():
    def family(name, method, both=True, **grid):
        return {"name": name, "steps": [{"method": method, "grid": grid}], "reverse_mapped": "both" if both else False}

    planned = [
        family("noise", "additive_noise", variance=[0.05, 0.1, 0.25, 0.5, 1.0, 2.0]),
        family("noise with relations", "correlated_noise", variance=[0.05, 0.1, 0.25, 0.5, 1.0, 2.0]),
        family("rank swap", "rank_swap", both=False, window=[0.01, 0.02, 0.05, 0.1, 0.2, 0.3]),
        family("groups", "microaggregation", both=False, k=[3, 5, 10, 20]),
        family("rounding", "rounding", both=False, base=[100, 500, 1000, 5000]),
        {"name": "shuffled", "steps": ["data_shuffling"]},
        {"name": "linear model", "steps": [{"method": "linear_model"}]},
    ]
    return (planned,)


@app.cell
def _(data, lv, planned):
    comparison = lv.compare(data, planned, ["nearest_record", "value_disclosure"], ["moments", "correlation", "marginal"],
                            limits={"every_attack": {"above_baseline": 0.1}, "mean_loss": 0.25},
                            secret=b"notebook on forty maskings")
    comparison.plot()
    return (comparison,)


@app.cell(hide_code=True)
def _(comparison, mo):
    mo.md(f"""
    ## What is left

    The map has {len(comparison.candidates)} releases. Most of them are beaten: another one has both less risk and less
    loss. These are not:
    """)


@app.cell
def _(comparison):
    comparison.frontier()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    These meet the limits: every attack finds at most 10 percentage points more than its baseline, also at the upper end of
    its interval, and the mean relative loss is at most 0.25.
    """)


@app.cell
def _(comparison, mo):
    mo.md("\n".join(f"* {row['release']}" for row in comparison.meets() if row["meets"]))


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    The same comparison says in sentences what it found. The first five:
    """)


@app.cell
def _(comparison):
    comparison.explain()[:5]


if __name__ == "__main__":
    app.run()
