"""Discover methods in a folder: one file, one public class, named after the file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from larvatus.core.errors import DiscoveryError, nearest_names


def class_name(file_name: str) -> str:
    """The class of a file: `additive_noise` defines `AdditiveNoise`."""
    return "".join(part.capitalize() for part in file_name.split("_"))


def file_name(name: str) -> str:
    """The file of a class: `AdditiveNoise` is defined in `additive_noise`."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def file_names(package: str) -> tuple[str, ...]:
    """The method files of a folder, without importing them; shared code is in sub-packages."""
    found = importlib.import_module(package)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(found.__path__) if not m.ispkg and not m.name.startswith("_")))


def public_class(module: ModuleType) -> type:
    """The one public class of a method's file; otherwise an error that says what to change."""
    stem = module.__name__.rpartition(".")[2]
    own = [
        value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    if len(own) != 1:
        listed = ", ".join(c.__name__ for c in own) or "none"
        raise DiscoveryError(
            f"{stem}.py defines {len(own)} public classes ({listed}); a method's file must define exactly one, "
            f"named {class_name(stem)}. Give the others a leading underscore or a file of their own."
        )
    if own[0].__name__ != class_name(stem):
        raise DiscoveryError(
            f"{stem}.py defines {own[0].__name__}; rename the class to {class_name(stem)} "
            f"or the file to {file_name(own[0].__name__)}.py."
        )
    return own[0]


@cache
def load(package: str, name: str) -> type:
    """The class of one method; only its file is imported."""
    names = file_names(package)
    if name not in names:
        kind = package.rpartition(".")[2]
        raise DiscoveryError(f"no method {name!r} among {kind}; {nearest_names(name, names)}")
    return public_class(importlib.import_module(f"{package}.{name}"))


@cache
def discover(package: str) -> Mapping[str, type]:
    """All methods of a folder by name, in alphabetical order."""
    return MappingProxyType({name: load(package, name) for name in file_names(package)})


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a folder of methods: classes are imported on first use."""

    def found(name: str) -> Any:
        stem = file_name(name)
        if name.startswith("_") or stem not in file_names(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(names())}")
        return load(package, stem)

    def names() -> list[str]:
        return [class_name(stem) for stem in file_names(package)]

    return found, names
