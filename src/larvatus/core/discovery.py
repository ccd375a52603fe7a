"""Discover methods: one file of a folder, one public class, named after the file; and those that other packages bring.

Another package adds a method by an entry point in the group of the folder's name (`larvatus.masks`, `larvatus.attacks`,
`larvatus.measures`, `larvatus.engines`), such as `my_mask = "my_package.my_mask:MyMask"`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType, ModuleType
from typing import Any

from larvatus.core.errors import DiscoveryError, nearest_names

_ROOMS = ("larvatus.masks", "larvatus.attacks", "larvatus.measures")
_ENGINES = "larvatus.engines"
_CONTRACTS = dict(zip(_ROOMS, ("Mask", "Attack", "Measure"), strict=True))
_ENGINE_VERBS = ("names", "has_random_order", "read", "frame", "write")
_SCORED = ("larvatus.attacks", "larvatus.measures")
OF_SCORES = frozenset({  # public attributes of Scores
    "at_risk", "count", "index", "inputs", "not_run", "plot", "reasons_not_run", "summary",
})
_WAY_OUT = "Rename it there, or uninstall that package."


def class_name(file_name: str) -> str:
    """The class of a file: `additive_noise` defines `AdditiveNoise`."""
    return "".join(part.capitalize() for part in file_name.split("_"))


def file_name(name: str) -> str:
    """The file of a class: `AdditiveNoise` is defined in `additive_noise`."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


@cache
def own_names(package: str) -> tuple[str, ...]:
    """The method files of a folder, without importing them; shared code is in sub-packages."""
    found = importlib.import_module(package)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(found.__path__) if not m.ispkg and not m.name.startswith("_")))


def file_names(package: str) -> tuple[str, ...]:
    """The names of all methods of a folder, those of other packages among them, without importing any of them."""
    return tuple(sorted((*own_names(package), *added_methods(package))))


@cache
def added_methods(package: str) -> Mapping[str, EntryPoint]:
    """Methods that installed packages add to a folder, by name."""
    out: dict[str, EntryPoint] = {}
    rooms = _ROOMS if package in _ROOMS else (package,)
    taken = {name: room for room in rooms for name in own_names(room)}
    elsewhere = {p.name: p for room in rooms if room != package for p in entry_points(group=room)}
    for point in entry_points(group=package):
        name, origin = point.name, _origin(point)
        if not name.isidentifier() or file_name(class_name(name)) != name:
            raise DiscoveryError(f"{origin} adds {name!r} to {package}; a name is in lower case with underscores, such as "
                                 f"my_method. {_WAY_OUT}")
        if name in taken:
            raise DiscoveryError(f"{origin} adds {name!r} to {package}, but {taken[name]} has a method of that name. "
                                 f"{_WAY_OUT}")
        if package in _SCORED and name in OF_SCORES:
            raise DiscoveryError(f"{origin} adds {name!r} to {package}, but scores.{name} is an attribute of all scores. "
                                 f"{_WAY_OUT}")
        other = elsewhere.get(name) or out.get(name)
        if other is not None and other != point:
            raise DiscoveryError(f"{origin} adds {name!r} to {package}, but {_origin(other)} adds one of that name, too. "
                                 f"{_WAY_OUT}")
        out[name] = point
    return MappingProxyType(out)


def _origin(point: EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist is not None else f"the entry point {point.value}"


def _added_class(package: str, point: EntryPoint) -> type:
    """The class that an entry point names, or a message that says what to change."""
    where = f"{point.name} of {_origin(point)}"
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise DiscoveryError(f"{where} cannot be imported: {error}. Repair or uninstall that package.") from None
    if not isinstance(found, type) or found.__name__ != class_name(point.name):
        raise DiscoveryError(f"{where}: the entry point must name a class {class_name(point.name)}, got {point.value}.")
    contract = _CONTRACTS.get(package, "")
    if contract and not any((c.__module__, c.__name__) == ("larvatus.data.contracts", contract) for c in found.__mro__):
        raise DiscoveryError(f"{where}: {found.__name__} must be a sub-class of larvatus.{contract}.")
    lacking = _lacking(found) if package == _ENGINES else []
    if lacking:
        needed = ", ".join(("name", *_ENGINE_VERBS))
        raise DiscoveryError(f"{where}: {found.__name__} lacks {', '.join(lacking)}. An engine has {needed}.")
    return found


def _lacking(engine: type) -> list[str]:
    """What an engine must have and this class lacks: a name, a text or a property, and functions."""
    name = getattr(engine, "name", None)
    lacking = [verb for verb in _ENGINE_VERBS if not callable(getattr(engine, verb, None))]
    return lacking if (isinstance(name, str) and name) or isinstance(name, property) else ["name", *lacking]


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
    if name in added_methods(package):
        return _added_class(package, added_methods(package)[name])
    return public_class(importlib.import_module(f"{package}.{name}"))


@cache
def discover(package: str) -> Mapping[str, type]:
    """All methods of a folder by name, in alphabetical order."""
    return MappingProxyType({name: load(package, name) for name in file_names(package)})


def lazy_attributes(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a folder of methods: classes are imported on first use."""

    def found(name: str) -> Any:
        stem = file_name(name)
        if name.startswith("_") or stem not in file_names(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(names())}")
        return load(package, stem)

    def names() -> list[str]:
        return [class_name(stem) for stem in file_names(package)]

    return found, names
