"""The model of growth finds its own coefficients again, and is judged at a size that it has not seen."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from script_loading import load

growth = load("benchmarks/growth.py")

ROWS = [10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8]
TRUE = {growth.COST: [2.0, 3.0, 0.25], growth.MOVED: [400.0, 20.0], growth.PEAK: [-4.0, 0.6]}


def of_model(figure, rows):
    values = growth.terms(figure, rows) @ TRUE[figure]
    return 10**values if figure == growth.PEAK else values


@pytest.mark.parametrize("figure", TRUE)
def test_a_job_that_grows_as_the_model_says_is_predicted_exactly(figure):
    values = of_model(figure, ROWS)
    assert growth.fitted(figure, ROWS, values) == pytest.approx(TRUE[figure], rel=1e-9)
    assert growth.held_out_error(figure, ROWS, values) == pytest.approx(0.0, abs=1e-9)
    assert growth.predicted(figure, ROWS, values, 1e10) == pytest.approx(of_model(figure, [1e10])[0], rel=1e-9)


def test_the_held_out_error_is_that_of_the_largest_size():
    values = growth.terms(growth.COST, ROWS) @ TRUE[growth.COST]
    doubled = np.where(np.array(ROWS) == max(ROWS), 2 * values, values)
    order = np.random.default_rng(1).permutation(len(ROWS))
    assert growth.held_out_error(growth.COST, np.array(ROWS)[order], doubled[order]) == pytest.approx(-0.5)


def job(engine: str, rows: int, cost: float, peak: float) -> dict[str, object]:
    figures = {growth.COST: cost, growth.PEAK: peak, growth.MOVED: 100.0}
    return {"engine": engine, "rows": rows, **figures, "disk_gb": 1.0, "load": 2.0}


def test_an_engine_above_the_limit_of_memory_is_not_chosen():
    jobs = [job("memory", 10**6, 3.0, 1.0), job("duckdb", 10**6, 4.0, 0.2), job("memory", 10**7, 3.0, 9.0),
            job("duckdb", 10**7, 4.0, 0.9), {"engine": "sail", "rows": 10**7}]
    lines = growth.choice_table({"two": {"jobs": jobs}})[2:]
    assert [line.split(" | ")[:2] for line in lines] == [["| 1 million", "memory"], ["| 10 million", "DuckDB"]]
    assert "memory 3.0 µs and 9.00 GB" in lines[1]


def test_the_step_that_does_less_in_large_files_is_added_as_at_the_largest_size():
    """Six microseconds more in small files change no prediction."""
    rows, steady = [10**6, 10**7, 10**8], 5.0
    jobs = [{**job("duckdb", n, steady + more, 1.0), "processor_steps": {growth.CHANGES: more * n / 1e6}}
            for n, more in zip(rows, (6.0, 6.0, 1.0), strict=True)]
    assert [growth.without_steps(growth.COST, j, growth.left_out(jobs)) for j in jobs] == pytest.approx([steady] * 3)
    line = growth.cluster_table({"two": {"jobs": jobs}})[2]
    assert f"{6.0 * 1e9 / 1e6 / 3600:.1f} core-hours" in line


def test_a_step_left_out_at_the_largest_size_is_left_out_of_the_fit_and_added_again():
    """The job without it is neither chosen nor compared with whole ones."""
    rows, linkage = [10**6, 3 * 10**6, 10**7, 10**8], 4.0
    jobs = [{**job("sail", n, 5.0 + linkage, 2.0), "processor_steps": {"nearest_record": linkage * n / 1e6},
             "peaks_gb": {"nearest_record": 2.0, "write": 0.5 * n / 1e6}} for n in rows]
    jobs[-1] |= {growth.COST: 5.0, "without": ["nearest_record"], "processor_steps": {}, "peaks_gb": {"write": 50.0}}
    content = {"two": {"jobs": jobs}}
    cost, _, memory = growth.growth_table(content)[2:]
    assert "100 million: 5 | +0 % | 5 | 5 |" in cost
    assert "without `nearest_record` | 100 million: 50 |" in memory
    assert f"{9.0 * 1e9 / 1e6 / 3600:.1f} core-hours" in growth.cluster_table(content)[2]
    assert [line.split(" | ")[0] for line in growth.choice_table(content)[2:]] == [
        "| 1 million", "| 3 million", "| 10 million"]


def test_a_process_above_the_limit_is_not_chosen_though_it_added_less():
    jobs = [{**job("memory", 10**6, 3.0, 3.5), "process_gb": 4.2}, {**job("duckdb", 10**6, 4.0, 0.2), "process_gb": 0.9}]
    assert "| DuckDB | 4.0 µs | 0.90 GB | memory 3.0 µs and 4.20 GB |" in growth.choice_table({"two": {"jobs": jobs}})[2]


def test_the_cost_of_a_row_is_compared_with_and_without_the_step_that_does_less():
    jobs = [{**job("duckdb", n, cost, 1.0), "processor_steps": {growth.CHANGES: n / 1e6 * less}}
            for n, cost, less in ((10**8, 9.0, 1.0), (10**6, 10.0, 6.0))]
    assert growth.ratio_table({"two": {"jobs": jobs}})[2:] == ["| DuckDB, 100 million rows | 1 million rows | 0.90 | 2.00 |"]


def test_only_jobs_that_exchange_rows_stand_among_them():
    held = {"engine": "sail", "rows": 10**7, growth.COST: 9.0, "seconds": 60.0, "sub_groups": 6}
    jobs = [{**held, "task_rows": None}, {**held, "task_rows": 5_000_000}, {**held, "task_rows": 1_048_576}]
    lines = growth.exchange_table({"sail": {"jobs": jobs}})[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| Sail, in the process, 10 million, 1.05 million"]


def test_the_tables_of_the_page_are_those_of_the_kept_results(tmp_path, monkeypatch, capsys):
    """The page says what the results say: writing its tables again changes nothing."""
    page, before = tmp_path / "scale.md", growth.PAGE.read_text(encoding="utf-8")
    page.write_text(before, encoding="utf-8")
    monkeypatch.setattr(growth, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["growth.py", "--page"])
    assert growth.main() == 0
    assert page.read_text(encoding="utf-8") == before
    assert capsys.readouterr().out.count("| --- |") >= 4
