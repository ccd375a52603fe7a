"""A first release, as a notebook: `marimo edit first-release.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: a first release

    A file of 800 made-up households must go to students. Home value and net assets are confidential. We mask the file
    in three ways, attack each release, see what analysts lose, and write the best one.
    """)
    return (mo,)


@app.cell
def _():
    import larvatus as lv

    table = lv.datasets.households(800)
    data = lv.read(table, confidential=["home_value", "net_assets"], non_confidential=["age_group"], sub_groups=["gender"])
    data
    return data, lv


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Three ways to mask it

    Noise is the simplest. Shuffling moves values between records. The third mask draws new values that keep all means and
    covariances. The secret makes this page the same every time; for a real release leave it out.
    """)


@app.cell
def _(data, lv):
    noise = lv.mask(data, "additive_noise(variance=0.25)", name="noise", secret=b"first notebook: noise")
    shuffled = lv.mask(data, "data_shuffling", name="shuffled", secret=b"first notebook: shuffled")
    exact = lv.mask(data, "sufficiency_based", name="same moments", secret=b"first notebook: moments")
    noise.plot("net_assets")
    return exact, noise, shuffled


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What an intruder finds

    The intruder knows the true values of some households and looks for them in the release. Each bar is what an attack
    found; the mark is its baseline, what the intruder would find without the masked columns. First the release with
    noise, then the shuffled one:
    """)


@app.cell
def _(data, lv, noise):
    attacks = ["nearest_record", "value_disclosure", "rank_disclosure"]
    lv.risk(data, noise, attacks).plot()
    return (attacks,)


@app.cell
def _(attacks, data, lv, shuffled):
    lv.risk(data, shuffled, attacks).plot()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What analysts lose

    A loss of 0 means that nothing was lost. Shuffling keeps every column as it was:
    """)


@app.cell
def _(data, lv, shuffled):
    measures = ["moments", "correlation", "marginal", "ecdf_mean"]
    lv.utility(data, shuffled, measures).plot()
    return (measures,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Choose

    Releases further down are safer; releases further left are more useful. *Not shown to be safe* means that no attack was
    seen to succeed, and that so few records cannot rule it out.
    """)


@app.cell
def _(attacks, data, exact, lv, measures, noise, shuffled):
    comparison = lv.compare(data, [noise, shuffled, exact], attacks, measures)
    comparison
    return (comparison,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Write it

    We take the release that the rule chooses. The report is one page for the people who decide. The released file has its
    rows in random order. The pairing file undoes that order: keep it to yourself.
    """)


@app.cell
def _(comparison, exact):
    comparison.report("report.html")
    exact.write("released.parquet", pairing="pairing.parquet")
    exact.head()


if __name__ == "__main__":
    app.run()
