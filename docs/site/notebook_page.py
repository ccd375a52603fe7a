"""Write one notebook as a page: its text, its code, and what each cell shows. `notebooks.py` runs this in a process of its own.

The code of a cell with `hide_code=True` is not shown. A drawing becomes a file beside the page.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HIDDEN = "hide_code"


def cells_of(source: str) -> Iterator[tuple[str, bool]]:
    """The code of each cell as a reader sees it, and whether the cell hides its code."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            marks = [k.arg for d in node.decorator_list if isinstance(d, ast.Call) for k in d.keywords]
            body = [n for n in node.body if not isinstance(n, ast.Return)]
            lines = source.splitlines()[body[0].lineno - 1:body[-1].end_lineno] if body else []
            yield textwrap.dedent("\n".join(lines)), HIDDEN in marks


def result_of(value: Any, place: Path, number: int) -> str:
    """What a cell shows, as Markdown; a drawing is written to a file."""
    if value is None:
        return ""
    if hasattr(value, "_repr_markdown_"):
        return str(value._repr_markdown_())
    if hasattr(value, "svg"):
        place.with_suffix("").mkdir(parents=True, exist_ok=True)
        drawing = place.with_suffix("") / f"{number}.svg"
        drawing.write_text(value._repr_svg_(), encoding="utf-8")
        return f"![{value.title}]({place.stem}/{drawing.name})"
    if type(value).__module__.startswith(("pyarrow", "polars")):
        value = value.to_pandas()
    if hasattr(value, "to_html"):
        return str(value.to_html(index=False, border=0)).replace(' class="dataframe"', "")  # the site's own look
    if hasattr(value, "_repr_html_"):
        return "\n".join(line.strip() for line in value._repr_html_().splitlines() if line.strip())
    return f"```text\n{value}\n```"


def page_of(notebook: Path, place: Path) -> str:
    """Run the notebook and return its page."""
    spec = importlib.util.spec_from_file_location("notebook", notebook)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shown, _ = module.app.run()
    cells = list(cells_of(notebook.read_text(encoding="utf-8")))
    if len(shown) != len(cells):
        raise ValueError(f"{notebook.name}: {len(cells)} cells, and {len(shown)} results")
    parts = []
    for number, ((code, hidden), value) in enumerate(zip(cells, shown, strict=True), 1):
        if code and not hidden:
            parts.append(f"```python\n{code}\n```")
        parts.append(result_of(value, place, number))
    parts.append(f"*To change it and run it yourself: save [the notebook]({notebook.name}), then `pip install marimo` and "
                 f"`marimo edit {notebook.name}`.*")
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[2], f"{Path(sys.argv[1]).stem}.md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page_of(Path(sys.argv[1]), target), encoding="utf-8")
