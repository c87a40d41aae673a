"""The names in the namespaces of `tf.compat.v1`, resolved on first use.

`same_names.txt` lists the names that are the same in version 2 (`tools/version_1_names.py` writes
it), `earlier_signatures.txt` functions that take other arguments, `graph_mode.toml` the names of
graphs and sessions that are not here, with the reason and a replacement. Names that need code are
in the modules beside this one.
"""

from __future__ import annotations

import functools
import importlib
import sys
import tomllib
from fnmatch import fnmatchcase
from importlib import resources
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pinnace.compat.v1.earlier import earlier_functions
from pinnace.framework.missing_in_modules import NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = "pinnace.compat.v1"
_ALL = "*"


def giver(space: str, names: dict[str, Any]) -> Callable[[str], Any]:
    """The `__getattr__` of a namespace.

    Args:
        space: version 1's namespace, `tf.nn`.
        names: the module's own, where what was found is kept.
    """

    def give(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {names.get('__name__')!r} has no attribute {name!r}")
        found = _found(space, name)
        names[name] = found
        return found

    return give


def lister(space: str, names: dict[str, Any]) -> Callable[[], list[str]]:
    """The `__dir__` of a namespace; see `giver`."""

    def listed() -> list[str]:
        inner = [s.removeprefix(f"{space}.") for s in same_names() if s.startswith(f"{space}.")]
        below = {one for one in inner if "." not in one}
        shown = {one for one in names if not one.startswith("_")}
        # Names that are the same in TensorFlow 2 and available here.
        same = {one for one, new in same_names().get(space, {}).items() if _is_here(new)}
        return sorted({*shown, *below, *same, *earlier_functions(space)})

    return listed


def _found(space: str, name: str) -> Any:
    full = f"{space}.{name}"
    same = same_names().get(space, {})
    if name in earlier_functions(space):
        return earlier_functions(space)[name].made()
    if name in same or _ALL in same:
        return of_version_2(same.get(name, full.removeprefix("tf.")))
    if any(one == full or one.startswith(f"{full}.") for one in same_names()):
        return _space(full)
    raise AttributeError(_why_not(full))


def _space(full: str) -> ModuleType:
    """The namespace: version 2's if it is the same, else a module with the available names."""
    if _ALL in same_names().get(full, {}):
        found: Any = of_version_2(full.removeprefix("tf."))
        return found  # type: ignore[no-any-return]
    name = f"{_HERE}{full.removeprefix('tf')}"
    module = ModuleType(name, f"`tf.compat.v1{full.removeprefix('tf')}`.")
    module.__file__ = None  # as of a namespace that is no file's
    module.__dict__["__getattr__"] = giver(full, module.__dict__)
    module.__dict__["__dir__"] = lister(full, module.__dict__)
    sys.modules[name] = module
    return module


def of_version_2(name: str) -> Any:
    """The object with a name in version 2, such as `nn.relu`."""
    # Imported by name, since the root package is above this module in the layers.
    value: Any = importlib.import_module("pinnace")
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _is_here(name: str) -> bool:
    try:
        of_version_2(name)
    except (AttributeError, ImportError):
        return False
    return True


def _why_not(full: str) -> str:
    shown = f"tf.compat.v1{full.removeprefix('tf')}"
    told = of_graph_mode(full.removeprefix("tf."))
    return told or f"{shown} is not in pinnace\n  Try: the name that version 2 has for it"


def of_version_1(name: str) -> str | None:
    """The explanation for a name that only version 1 had; None if it had none.

    Args:
        name: name in version 1, without `tf.`: `placeholder`, `train.AdamOptimizer`.
    """
    advice = "`pinnace upgrade PROGRAM.py` rewrites programs of version 1"
    told = of_graph_mode(name, named=True)
    if told is not None:
        return f"{told.replace('tf.compat.v1.', 'tf.', 1)}; {advice}"
    *spaces, last = name.split(".")
    found: object = importlib.import_module("pinnace.compat.v1")
    for i, part in enumerate([*spaces, last]):
        # Version 1 takes this name from version 2, which lacks it and would ask this again.
        same = same_names().get(".".join(["tf", *spaces[:i]]), {})
        if _ALL in same or (i == len(spaces) and same.get(last) == name):
            return None
        found = getattr(found, part, None)
        if found is None:
            return None
    return f"tf.{name} is a name of TensorFlow 1\n  Try: tf.compat.v1.{name}; {advice}"


def of_graph_mode(name: str, *, named: bool = False) -> str | None:
    """The reason why a name that concerns only graphs and sessions will not be added.

    Args:
        name: name in version 1, `train.Saver`.
        named: whether it must be known for a name of version 1: that all of a namespace is not
            here does not say so where version 2 has a namespace of the same name.
    """
    for reason in _graph_mode():
        patterns = [p for p in reason["names"] if not (named and _is_all_of_a_namespace(p))]
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            said = f"tf.compat.v1.{name} is not in pinnace: {reason['why']}"
            return f"{said}\n  Try: {reason['instead']}"
    return None


def _is_all_of_a_namespace(pattern: str) -> bool:
    return pattern.endswith(_ALL) and f"tf.{pattern.rstrip('.*')}" in NAMESPACES.values()


@functools.cache
def same_names() -> dict[str, dict[str, str]]:
    """Namespace -> name -> its name in version 2, without `tf.`."""
    found: dict[str, dict[str, str]] = {}
    for line in _text("same_names.txt").splitlines():
        space, _, names = line.partition(": ")
        short = space.removeprefix("tf").removeprefix(".")
        found[space] = {}
        for one in names.split():
            name, _, other = one.partition("=")
            found[space][name] = other or (f"{short}.{name}" if short else name)
    return found


@functools.cache
def _graph_mode() -> list[dict[str, Any]]:
    reasons: list[dict[str, Any]] = tomllib.loads(_text("graph_mode.toml"))["reason"]
    return reasons


def _text(file: str) -> str:
    return resources.files(_HERE).joinpath(file).read_text("utf-8")
