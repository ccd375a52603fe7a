"""Draw the badges of the README from pyproject.toml, so that they are true: docs/badges/*.svg."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from larvatus.reporting.figures.svg import element, text, text_width

ROOT = Path(__file__).resolve().parents[1]
BADGES = ROOT / "docs" / "badges"
HIGH, PAD, SMALL = 20.0, 8.0, 0.88
STYLE = "text { font: 11px 'DejaVu Sans', Verdana, sans-serif; fill: #ffffff }"


def facts() -> dict[str, str]:
    """What each badge says, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [m[1] for c in project["classifiers"] if (m := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c))]
    typed = "yes" if (ROOT / "src" / "larvatus" / "py.typed").exists() else "no"
    return {"version": project["version"], "python": f"{pythons[0]} to {pythons[-1]}", "licence": project["license"],
            "typed": typed}


def badge(name: str, said: str) -> str:
    """Two words on a dark and a blue ground."""
    left, right = (SMALL * text_width(word) + 2 * PAD for word in (name, said))
    body = [
        element("title", f"{name}: {said}"), element("style", STYLE),
        element("rect", width=left, height=HIGH, fill="#444444"),
        element("rect", x=left, width=right, height=HIGH, fill="#0b5fa5"),
        text(left / 2, 14, name, "name", "middle"), text(left + right / 2, 14, said, "said", "middle"),
    ]
    return element("svg", "".join(body), xmlns="http://www.w3.org/2000/svg", width=left + right, height=HIGH, role="img",
                   aria_label=f"{name}: {said}") + "\n"


if __name__ == "__main__":
    BADGES.mkdir(exist_ok=True)
    for name, said in facts().items():
        (BADGES / f"{name}.svg").write_text(badge(name, said), encoding="utf-8")
