"""Make the three reports in docs/gallery/ again, from built-in data: `make gallery`."""

from __future__ import annotations

from pathlib import Path

import larvatus as lv

FOLDER = Path(__file__).parent / "gallery"
NOT_A_SECRET = b"made-up households have nothing to hide"
NAMES = ["home_value", "mortgage_balance", "net_assets"]
ATTACKS = ["nearest_record", "rank_disclosure", "value_disclosure"]
MEASURES = ["moments", "correlation", "rank_correlation", "marginal", "distributions(bins=20, shown=1)", "scatter(cells=10)",
            "propensity(model='logit')"]
PURPOSE = "Teaching survey methods with made-up households."


def main() -> None:
    data = lv.read(lv.datasets.households(2000, 7), confidential=NAMES, sub_groups=["gender", "marital"])
    made = {
        "noise": lv.masks.AdditiveNoise(variance=0.25), "sufficiency-based, d = 0.5": lv.masks.SufficiencyBased(similarity=0.5),
        "shuffled": lv.masks.DataShuffling(), "imputed in three copies": lv.masks.MultipleImputation(copies=3),
    }
    releases = [lv.mask(data, step, secret=NOT_A_SECRET, name=name) for name, step in made.items()]
    analyses = ["net_assets ~ home_value + mortgage_balance"]
    compared = lv.compare(data, releases, ATTACKS, MEASURES, scoring=lv.Scoring(analyses=analyses)).for_purpose(PURPOSE)
    reason = "Every column keeps its values, and no attack does better than without the release."
    compared.report(FOLDER / "internal.html", overwrite=True, chosen="shuffled", reason=reason)
    compared.report(FOLDER / "public-noise.html", "public", True, "noise")
    compared.report(FOLDER / "public-copies.html", "public", True, "imputed in three copies")


if __name__ == "__main__":
    main()
