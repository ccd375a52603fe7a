"""Figures 1 to 10 of 000, drawn from the same releases as its tables (seed 0)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from larvatus.core.number_format import share
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.papers.framework.shortcuts import measure_once
from larvatus.reporting.figures.distributions import DistributionPanel, DistributionRow, draw_distributions
from larvatus.reporting.figures.histograms import WHOLE, histograms_of
from larvatus.reporting.figures.scatter import ScatterPanel as Cloud
from larvatus.reporting.figures.scatter import ScatterRow as Clouds
from larvatus.reporting.figures.scatter import draw_scatter
from larvatus.reporting.figures.scatter_grids import grids_of, pair_losses
from larvatus.reporting.page.blocks import Figure, ReportBlock

BENDING = " Bins widen towards the tails."
PILED = " Negative values, which do not occur in the original, are all in the first bin."


def distribution(
    number_of: int, title: str, data: Microdata, releases: Mapping[str, Release], variable: str, place: str = WHOLE,
    positive: bool = True,
) -> Figure:
    """One column, original and every release, over the file or in a sub-group."""
    panels = []
    for name, release in releases.items():
        found = histograms_of(measure_once(data, release, {"method": "distributions", "shown": 100}))
        panels.append(DistributionPanel(name, found[place][variable]))
    moved = ", ".join(f"{share(p.histogram.share_moved)} ({p.name})" for p in panels)
    sentence = f"Share of records that would have to change bin for both histograms to agree: {moved}." + (
        BENDING if panels[0].histogram.axis.widens else "") + (PILED if positive else "")
    drawn = draw_distributions(title, sentence, [DistributionRow(variable, tuple(panels))])
    return Figure(f"Figure {number_of}. {title}", sentence, drawn)


def scatter_figure(
    number_of: str, title: str, data: Microdata, releases: Mapping[str, Release], pair: tuple[str, str]
) -> Figure:
    """Two columns on a grid, original and every release."""
    scores = [measure_once(data, release, {"method": "scatter", "shown": 50, "cells": 30}) for release in releases.values()]
    clouds, said = [], []
    for name, score, grids in zip(releases, scores, grids_of(scores), strict=True):
        moved = pair_losses(score)[pair]
        clouds.append(Cloud(name, f"{share(moved)} change cell", grids[pair]))
        said.append(f"{share(moved)} ({name})")
    sentence = f"Share of records that would have to change cell for both grids to agree: {', '.join(said)}."
    return Figure(f"{number_of}. {title}", sentence, draw_scatter(title, sentence, [Clouds(*pair, tuple(clouds))]))


def simulated_figures(data: Microdata, releases: Mapping[str, Release]) -> Iterator[ReportBlock]:
    linear = {k: v for k, v in releases.items() if k != "shuffled"}
    first = data.groups.name(0)
    yield distribution(1, "Marginal distribution of home value", data, linear, "home_value")
    yield distribution(2, "Marginal distribution of mortgage balance", data, linear, "mortgage_balance")
    yield distribution(3, "Marginal distribution of net asset value", data, linear, "net_assets", positive=False)
    yield distribution(4, "Home values in the first sub-group", data, linear, "home_value", first)
    yield scatter_figure("Figures 5 to 7", "Net asset value and mortgage balance: original (5), perturbed (6), shuffled (7)",
                         data,
                  {k: releases[k] for k in ("d = 0", "shuffled")}, ("mortgage_balance", "net_assets"))


def census_figures(data: Microdata, releases: Mapping[str, Release]) -> Iterator[ReportBlock]:
    linear = {k: v for k, v in releases.items() if k != "shuffled"}
    yield distribution(8, "Marginal distribution of FEDTAX", data, linear, "FEDTAX")
    yield distribution(9, "Marginal distribution of INTVAL in the first sub-group", data, linear, "INTVAL",
                       data.groups.name(0))
    yield scatter_figure("Figure 10", "WSALVAL and FICA: original, shuffled and perturbed", data, releases, ("FICA", "WSALVAL"))
