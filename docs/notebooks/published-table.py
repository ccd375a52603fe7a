"""Reproduce a published table, as a notebook: `marimo edit published-table.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: reproducing a published table

    Muralidhar, Sarathy and Domingo-Ferrer (2014) show reverse mapping on 25 records: after masking, the original values
    are put back in the order of the masked ones. Their tables print every record, so they can be checked to the last
    digit.
    """)
    return (mo,)


@app.cell
def _():
    import larvatus as lv

    data = lv.read(lv.datasets.reverse_mapping_example(), confidential="X", non_confidential="S", record_id="ID")
    data.head()
    return data, lv


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## One mechanism by hand

    Microaggregation in groups of five, by size, has no random part. *Y* is the masked column and *Z* the one after
    reverse mapping.
    """)


@app.cell
def _(data, lv):
    masked = lv.mask(data, "microaggregation(k=5, grouping='fixed')", name="Y")
    mapped = lv.mask(data, "microaggregation(k=5, grouping='fixed')", "reverse_map", name="Z", secret=b"only breaks ties")
    masked.plot("X")
    return mapped, masked


@app.cell
def _(mapped):
    mapped.plot("X")


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    The paper prints *Y* of every record in Table 2. Ours minus theirs:
    """)


@app.cell
def _(masked):
    from larvatus.papers.framework.published_figures import column

    printed = column("001", "2", "MIC Y")
    ours = masked.frame()["X"].to_pylist()
    {"records": len(ours), "largest difference": max(abs(a - b) for a, b in zip(ours, printed, strict=True))}


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Whole tables with a verdict

    Every table of five papers is in the package, with the experiment that makes it again. Here are three of them: rank
    correlations with X, rank correlations with S, and changes in rank.
    """)


@app.cell
def _():
    from larvatus.data.score import Rows as Table
    from larvatus.papers.framework.reproduction import reproduce_tables, where_of

    found = reproduce_tables(["001/3", "001/4", "001/5"], seeds=1, where=where_of(None, quick=True), jobs=1)
    Table.of(
        {"table": f"001/{t.table.number}", "figures": len(t.rows), "exact": sum(r.verdict == "exact" for r in t.rows)}
        for t in found.tables
    )
    return Table, found


@app.cell
def _(Table, found):
    Table.of(
        {"mechanism": row.published.row, "printed": row.published.value, "measured": row.measured.mean, "verdict": row.verdict}
        for row in found.tables[0].rows
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    On the command line, `larvatus reproduce 001 -o tables.html` writes the same with figures. The page *Published tables*
    has all 2,134 figures, and says which ones cannot be reproduced and why.
    """)


if __name__ == "__main__":
    app.run()
