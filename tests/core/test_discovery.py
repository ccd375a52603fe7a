"""One file, one public class; anything else gets a message that says what to change."""

from __future__ import annotations

import sys
import textwrap

import pytest

from larvatus.core.discovery import class_name, discover, file_name, load, own_names
from larvatus.core.errors import DiscoveryError, LarvatusError, nearest_names


@pytest.fixture
def folder(tmp_path, monkeypatch):
    package = tmp_path / "some_methods"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package
    for name in [m for m in sys.modules if m.startswith("some_methods")]:
        del sys.modules[name]
    discover.cache_clear()
    load.cache_clear()
    own_names.cache_clear()


def test_finds_a_file_dropped_into_the_folder(folder):
    (folder / "new_idea.py").write_text("class NewIdea:\n    pass\n\nclass _Inner:\n    pass\n")
    (folder / "_private.py").write_text("class A: pass\nclass B: pass\n")
    assert list(discover("some_methods")) == ["new_idea"]
    assert load("some_methods", "new_idea").__name__ == "NewIdea"


@pytest.mark.parametrize(("text", "said"), [
    ("class One:\n    pass\nclass Two:\n    pass\n", "2 public classes"),
    ("x = 1\n", "0 public classes"),
    ("class Other:\n    pass\n", "rename the class to NewIdea"),
])
def test_says_what_is_wrong_with_a_file(folder, text, said):
    (folder / "new_idea.py").write_text(textwrap.dedent(text))
    with pytest.raises(DiscoveryError, match=said):
        discover("some_methods")


def test_unknown_names_get_the_nearest():
    with pytest.raises(DiscoveryError, match="did you mean 'additive_noise'"):
        load("larvatus.masks", "aditive_noise")


@pytest.mark.parametrize("name", ["additive_noise", "moments", "a_b_c"])
def test_names_of_files_and_classes_correspond(name):
    assert file_name(class_name(name)) == name


def test_nearest_names():
    assert nearest_names("Incme", ["income", "wealth"]) == "did you mean 'income'?"
    assert "there are: a, b" in nearest_names("zzz", ["a", "b"])
    assert "none" in nearest_names("x", [])
    names = ["suff similarity=0", "suff similarity=0, reverse-mapped", "noise variance=0.25, reverse-mapped"]
    assert nearest_names("noise", names) == "names that begin with it: 'noise variance=0.25, reverse-mapped'."
    assert nearest_names("zzz", names[:2]) == "there are: 'suff similarity=0', 'suff similarity=0, reverse-mapped'."
    assert "(20 in all)" in nearest_names("zzz", [f"c{i}" for i in range(20)])
    numbered = nearest_names("income", ["3", "0.31", "north"])
    assert numbered == "there are 3, some of them numbers: does the file have a header line?"


def test_every_error_has_the_one_root():
    from larvatus.core import errors

    kinds = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, Exception)]
    assert all(issubclass(k, LarvatusError) for k in kinds if not issubclass(k, Warning))
    assert len(kinds) >= 9
