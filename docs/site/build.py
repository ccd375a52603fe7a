"""Build the site in site/VERSION/ from docs/, without a network: `make site`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from api_pages import write_api_pages
from checks import problems_of
from doc_links import link_named_pages
from navigation import navigation
from run_pages import pages_to_run, pages_with_code, run_pages
from staging import ROOT, stage_pages

import larvatus

SITE, PAGES = ROOT / "site", ROOT / "site" / "pages"


def main(asked: list[str]) -> int:
    """Run the code of pages that changed (with `--fresh` of all, with `--without-code` of none), then build the site."""
    if "--without-code" not in asked:
        failed = run_pages(pages_with_code() if "--fresh" in asked else pages_to_run())
        if failed:
            print("\n\n".join(failed))
            return 1
    target = SITE / larvatus.__version__
    shutil.rmtree(target, ignore_errors=True)
    stage_pages(PAGES)
    listed = navigation(PAGES, write_api_pages(PAGES / "api"))
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("paths: [src]", f"paths: [{ROOT / 'src'}]")
    settings += f"docs_dir: pages\nsite_dir: {larvatus.__version__}\nnav: {json.dumps(listed)}\n"
    (SITE / "mkdocs.yml").write_text(settings, encoding="utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run([zensical, "build", "--strict", "--clean", "-f", SITE / "mkdocs.yml"], cwd=SITE)
    if done.returncode:
        return done.returncode
    link_named_pages(target, PAGES)
    (target / "404.html").unlink()  # its links only work at the root of a server
    write_versions()
    problems = problems_of(target)
    print("\n".join(problems) or f"site: {target.relative_to(ROOT)}/index.html (no broken links, no external files)")
    return 1 if problems else 0


def write_versions() -> None:
    """A list of the versions that stand in site/, and a first page that leads to the newest one."""
    versions = sorted((p.parent.name for p in SITE.glob("*/index.html") if p.parent.name != "pages"), reverse=True,
                      key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
    (SITE / "versions.js").write_text(f"window.larvatusVersions = {versions!r};\n".replace("'", '"'), encoding="utf-8")
    (SITE / "index.html").write_text(f'<!doctype html><meta charset="utf-8"><title>larvatus</title>'
                                     f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">'
                                     f'<a href="{versions[0]}/index.html">larvatus {versions[0]}</a>\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
