"""Take the pictures of the desk in docs/guides/desk/ again: the walk of the guide on the built-in data. `make pictures`."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image

from desk.desk_browser import LONG, Visitor, open_browser
from desk.running_desk import running_desk

FOLDER = Path(__file__).parent / "guides" / "desk"
COLOURS = 256
TALL = 1240  # pixels


def take(visitor: Visitor, name: str, whole: bool = False) -> None:
    """One picture, with few colours, so that it is small; rare colours such as those of the points stay as they are."""
    visitor.page.wait_for_timeout(400)
    raw = visitor.page.screenshot(full_page=whole)
    drawn = Image.open(io.BytesIO(raw)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    drawn.save(FOLDER / f"{name}.png", optimize=True)
    print(f"picture: docs/guides/desk/{name}.png")


def data_folder(place: str) -> Path:
    """An empty folder whose name readers may see."""
    folder = Path(place, "data")
    folder.mkdir()
    return folder


def main() -> None:
    with tempfile.TemporaryDirectory() as place, running_desk(data_folder(place)) as desk, open_browser() as browser:
        visitor = Visitor(browser, desk, viewport={"width": 1280, "height": 800})
        visitor.enter()
        take(visitor, "home")
        visitor.press("Try it with the built-in data")
        visitor.page.get_by_role("heading", name="Types and meanings").wait_for(timeout=LONG)
        take(visitor, "open")
        visitor.press("Next: Roles →")
        for column in ("gender", "marital"):
            visitor.choose(f"Role of {column}", "sub-group")
        take(visitor, "roles")
        visitor.press("Next: Keys →")
        visitor.see("Records found by their keys alone", timeout=LONG)
        take(visitor, "keys")
        visitor.press("Next: Masks →")
        visitor.page.get_by_role("button", name="Use all suggestions").wait_for(timeout=LONG)
        visitor.press("Use all suggestions")
        visitor.see("All suggestions are in the list below")
        take(visitor, "masks")
        visitor.press("Next: Run →")
        visitor.press("Start")
        visitor.page.locator(".pieces li").first.wait_for(timeout=LONG)
        visitor.page.wait_for_timeout(8000)
        take(visitor, "run")
        visitor.press("Compare the releases", timeout=8 * LONG)
        visitor.page.locator("figure.map .point").first.wait_for()
        visitor.page.set_viewport_size({"width": 1280, "height": TALL})  # the limits are below the map
        take(visitor, "compare")
        visitor.page.set_viewport_size({"width": 1280, "height": 800})
        visitor.press("Next: Decide →")
        visitor.write("Why this one?", "The course needs the correlations, and no attack beats its baseline.")
        visitor.write("Your name", "A. Keeper")
        take(visitor, "decide")
        visitor.context.close()


if __name__ == "__main__":
    main()
