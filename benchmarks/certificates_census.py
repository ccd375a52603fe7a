"""Certificates on the Census file beside the strongest attacks of the product and two intruders written for this script.

    LARVATUS_DATA=FOLDER python benchmarks/certificates_census.py --secrets 20 --slow-secrets 3 --save
    LARVATUS_DATA=FOLDER python benchmarks/certificates_census.py --more   slow attacks with the secrets that they lack
    python benchmarks/certificates_census.py --bounds   certifies again, and keeps the stored shares of the attacks
    python benchmarks/certificates_census.py --page     prints the table of docs/science/certificates-census.md

The intruders of this script use nothing of `attacks/`. They rerun the mask on the original with secrets of their own, estimate
the mean of each record's released values and one covariance, and link by Mahalanobis distance: each target alone, or all of
them one to one (SciPy's assignment). Released rows are put in random order first, so that ties are broken at random.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from larvatus.core.discovery import discover
from larvatus.data.certificate import FALSE_ALARM

COLUMNS = ("AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL")
MASKS = (
    "additive_noise(variance=0.25)", "additive_noise(variance=1.0, noise='laplace')",
    "additive_noise(variance=4.0, noise='uniform')", "correlated_noise(variance=1.0)",
    "variance_preserving_noise(variance=2.0, correlated=false)", "bias_and_noise", "linear_model(similarity=0.5)",
    "linear_model", "data_shuffling", "microaggregation(k=5)", "rounding(base=10000)", "sufficiency_based(similarity=0.5)",
)
QUICK, SLOW = ("nearest_record", "posterior_match"), ("optimal_assignment", "simulated_release")
RERUNS = 25
KEPT = Path(__file__).with_suffix(".json")


def values(release: lv.Release) -> np.ndarray:
    frame = release.to_pandas()
    return frame[list(COLUMNS)].to_numpy(dtype=float)


def red_team(data: lv.Microdata, mask: str, y: np.ndarray, known: tuple[np.ndarray, np.ndarray], seed: int) -> dict[str, float]:
    """Shares linked by the two intruders of this script."""
    mean, turn = known
    order = np.random.default_rng(seed).permutation(len(y))
    a, b = mean @ turn, (y @ turn)[order]
    distance = (a**2).sum(axis=1)[:, None] - 2 * a @ b.T + (b**2).sum(axis=1)
    alone = order[distance.argmin(axis=1)] == np.arange(len(y))
    rows, columns = linear_sum_assignment(distance)
    return {"single target": float(alone.mean()), "whole file": float((order[columns] == rows).mean())}


def learnt(data: lv.Microdata, mask: str) -> tuple[np.ndarray, np.ndarray]:
    """The mean released values of each record, and a matrix that whitens the noise, from reruns of the mask."""
    runs = np.array([values(lv.mask(data, mask, secret=b"a secret of the intruder" + bytes([k]))) for k in range(RERUNS)])
    mean = runs.mean(axis=0)
    away = (runs - mean).reshape(-1, runs.shape[2])
    scale = runs.std(axis=(0, 1)) + 1e-12
    covariance = np.cov((away / scale).T) + 1e-9 * np.eye(len(scale))
    size, vectors = np.linalg.eigh(covariance)
    return mean, (vectors / np.sqrt(np.maximum(size, 1e-9))) / scale[:, None]


def measure(data: lv.Microdata, mask: str, secrets: int, slow: int) -> dict:
    """The certificates of a mask, and the success of every intruder with each secret."""
    found = {"mask": mask, "certificates": bounds(data, mask), "attacks": {}}
    known = learnt(data, mask)
    for k in range(secrets):
        release = lv.mask(data, mask, secret=b"a secret of the keeper" + bytes([k]))
        for name in (*QUICK, *(SLOW if k < slow else ())):
            try:
                value = lv.risk(data, release, [name])[0].value
            except lv.LarvatusError:
                continue
            found["attacks"].setdefault(name, []).append(value)
        for kind, value in red_team(data, mask, values(release), known, k).items():
            found["attacks"].setdefault(f"red team, {kind}", []).append(value)
    return found


def bounds(data: lv.Microdata, mask: str) -> dict:
    """The certificates of the release with the first secret."""
    return lv.certify(data, lv.mask(data, mask, secret=b"a secret of the keeper" + bytes([0]))).plain()


def add_slow_shares(data: lv.Microdata, kept: dict, secrets: int) -> None:
    """Run the slow attacks that apply to a mask with the secrets for which no share is stored; store each one at once."""
    for k in range(secrets):
        for row in kept["rows"]:
            for name in SLOW:
                shares = row["attacks"].get(name, [])
                if len(shares) == k > 0:
                    release = lv.mask(data, row["mask"], secret=b"a secret of the keeper" + bytes([k]))
                    shares.append(lv.risk(data, release, [name])[0].value)
                    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    kept["slow_secrets"] = min(len(row["attacks"][n]) for row in kept["rows"] for n in SLOW if n in row["attacks"])
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def class_of(name: str) -> str:
    return name.partition(", ")[2] if name.startswith("red team") else discover("larvatus.attacks")[name].intruder_class


def lines(kept: dict) -> list[str]:
    """The table in Markdown, the proofs that its last column numbers, and what it shows."""
    out = ["| mask | intruder | bound, expected | bound, one release | strongest: mean | strongest: largest | who | proof |",
           "|---|---|--:|--:|--:|--:|---|--:|"]
    broken, tight = [], []
    proofs = list(dict.fromkeys(one["proof"] for row in kept["rows"] for one in row["certificates"]["certificates"]))
    for row in kept["rows"]:
        for one in row["certificates"]["certificates"]:
            kinds = {"single target", one["intruder"]}
            mine = {n: v for n, v in row["attacks"].items() if class_of(n) in kinds}
            who, shares = max(mine.items(), key=lambda item: float(np.mean(item[1])))
            largest = max(max(v) for v in mine.values())
            error = float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else 0.0
            broken += [f"{row['mask']}: {one['intruder']}"] if largest > one["upper"] + 1e-9 else []
            if one["exact"]:
                away = abs(float(np.mean(shares)) - one["expected"])
                tight.append(f"| `{row['mask']}` | {one['intruder']} | {away:.4f} | "
                             f"{'yes' if away <= max(0.01, 3 * error) else 'NO'} |")
            out.append(f"| `{row['mask']}` | {one['intruder']} | {one['expected']:.4f} | {one['upper']:.4f} | "
                       f"{np.mean(shares):.4f} ± {error:.4f} | {largest:.4f} | {who} ({len(shares)}) | "
                       f"{proofs.index(one['proof']) + 1} |")
    said = f"Limits for one release that an attack exceeded: {', '.join(broken) or 'none'} (false alarm {FALSE_ALARM:g} each)."
    numbered = [f"{i}. {proof}" for i, proof in enumerate(proofs, 1)]
    head = ["| exact certificate | intruder | distance of the strongest mean | within max(0.01, 3 SE) |", "|---|---|--:|---|"]
    return [*out, "", "Proofs:", "", *numbered, "", said, "", *head, *tight]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--secrets", type=int, default=20)
    asked.add_argument("--slow-secrets", type=int, default=3, help="secrets with which the slow attacks are run too")
    asked.add_argument("--save", action="store_true")
    asked.add_argument("--bounds", action="store_true", help="certify again, and keep the stored shares of the attacks")
    asked.add_argument("--more", action="store_true", help="run the slow attacks with the secrets that they lack")
    asked.add_argument("--page", action="store_true", help="print the stored table")
    how = asked.parse_args()
    if how.page:
        print("\n".join(lines(json.loads(KEPT.read_text()))))
        return
    warnings.simplefilter("ignore")
    data = lv.read(Path(os.environ["LARVATUS_DATA"]) / "census.csv", confidential=list(COLUMNS))
    if how.bounds:
        kept = json.loads(KEPT.read_text())
        for row in kept["rows"]:
            row["certificates"] = bounds(data, row["mask"])
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        print("\n".join(lines(kept)))
        return
    if how.more:
        kept = json.loads(KEPT.read_text())
        add_slow_shares(data, kept, how.secrets)
        print("\n".join(lines(kept)))
        return
    kept = {"secrets": how.secrets, "slow_secrets": how.slow_secrets, "rows": []}
    for mask in MASKS:
        kept["rows"].append(measure(data, mask, how.secrets, how.slow_secrets))
        print(mask, {n: round(float(np.mean(v)), 4) for n, v in kept["rows"][-1]["attacks"].items()}, flush=True)
        if how.save:
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    print("\n".join(lines(kept)))


if __name__ == "__main__":
    main()
