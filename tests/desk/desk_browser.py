"""A real browser at the desk: Debian's Chromium, driven by Playwright, and what a person does in it, counted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from desk.running_desk import RunningDesk

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
LONG = 180_000  # milliseconds


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person at the desk: uses visible labels only, and counts what is done. Errors of the page are kept."""

    def __init__(self, browser: Any, desk: RunningDesk, **how: Any) -> None:
        self.desk, self.actions, self.errors = desk, 0, []
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, "locale": "en-GB", **how})
        self.page = self.new_tab()

    def new_tab(self) -> Any:
        page = self.context.new_page()
        page.set_default_timeout(40_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: (self.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        return page

    def enter(self) -> None:
        """Open the local page, as the command does."""
        path, _ = self.desk.server.new_page()
        self.page.goto(path.as_uri())
        self.page.wait_for_url(f"{self.desk.origin}/")

    def press(self, name: str, **how: Any) -> None:
        """Press a button or follow a link with this label."""
        self.actions += 1
        button = self.page.get_by_role("button", name=name, exact=how.get("exact", True))
        link = self.page.get_by_role("link", name=name, exact=how.get("exact", True))
        button.or_(link).first.click(timeout=how.get("timeout", 40_000))

    def choose(self, label: str, option: str) -> None:
        self.actions += 1
        self.page.get_by_label(label, exact=True).focus()
        with self.page.expect_response(lambda answer: answer.request.method == "POST"):
            self.page.get_by_label(label, exact=True).select_option(label=option)
        self.page.locator("body:not(.busy)").wait_for()  # the page was replaced

    def write(self, label: str, text: str) -> None:
        self.actions += 1
        self.page.get_by_label(label, exact=True).fill(text)

    def confirm_if_asked(self, label: str) -> None:
        """Tick a box that is only shown if the page asks for it."""
        box = self.page.get_by_label(label)
        if box.is_visible():
            self.actions += 1
            box.check()

    def see(self, text: str, **how: Any) -> None:
        """Wait until a text is visible; looking is no action."""
        self.page.get_by_text(text).first.wait_for(timeout=how.get("timeout", 40_000))

    def read_heading(self) -> str:
        return str(self.page.get_by_role("heading", level=1).inner_text())


def axe_findings(page: Any) -> list[str]:
    """What axe finds wrong on a page."""
    import axe_core_python

    page.evaluate((Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map("
                          "v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', '))")
    return list(found)
