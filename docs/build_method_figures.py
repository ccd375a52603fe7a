"""Make the pictures and figures on the pages of methods: docs/reference/pictures/ and docs/reference/figures.json.

    python docs/build_method_figures.py              every method (minutes)
    python docs/build_method_figures.py rank_swap    some of them
    python docs/build_method_figures.py --seconds    also the time that each method takes

The draws are keyed, so the same version of the package gives the same pictures and figures on every machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "methods"))

from attack_examples import attack_example, attack_seconds  # noqa: E402
from mask_examples import mask_example, mask_seconds  # noqa: E402
from measure_examples import measure_example, measure_seconds  # noqa: E402

from larvatus.core.discovery import load, own_names  # noqa: E402
from larvatus.reporting.notebook.plot import Plot  # noqa: E402

PICTURES, FIGURES = HERE / "reference" / "pictures", HERE / "reference" / "figures.json"
KINDS: dict[str, tuple[Callable[[Any], tuple[str, dict[str, Any]]], Callable[[Any], list[float]]]] = {
    "larvatus.masks": (mask_example, mask_seconds), "larvatus.attacks": (attack_example, attack_seconds),
    "larvatus.measures": (measure_example, measure_seconds),
}


def main(asked: list[str]) -> int:
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    names = [n for n in asked if not n.startswith("-")]
    PICTURES.mkdir(parents=True, exist_ok=True)
    for package, (example, seconds) in KINDS.items():
        for name in own_names(package):
            if names and name not in names:
                continue
            method = load(package, name)
            drawn, found = example(method)
            (PICTURES / f"{name}.svg").write_text(Plot(name, drawn).standalone() + "\n", encoding="utf-8")
            kept = {k: v for k, v in figures.get(name, {}).items() if k == "seconds"}
            figures[name] = found | (({"seconds": seconds(method)}) if "--seconds" in asked else kept)
            FIGURES.write_text(json.dumps(dict(sorted(figures.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
