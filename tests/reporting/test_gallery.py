"""The finished reports in docs/gallery are small, whole, and hold nothing but what they should."""

from __future__ import annotations

from pathlib import Path

import pytest

import larvatus as lv

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "gallery"
FILES = ("internal.html", "public-noise.html", "public-copies.html")


@pytest.mark.parametrize("name", FILES)
def test_a_report_of_the_gallery_is_small_and_of_this_version(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert len(text) < 600_000
    assert text.rstrip().endswith("</html>")
    assert f"Made with larvatus {lv.__version__}" in text
    assert "made-up households have nothing to hide" not in text
    assert name in (FOLDER / "README.md").read_text(encoding="utf-8")
