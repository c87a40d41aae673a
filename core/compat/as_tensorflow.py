"""Runs programs that `import tensorflow` or `import keras`, unchanged, with pinnace.

    from pinnace.compat import as_tensorflow
    as_tensorflow.install()
    import mtcnn  # its `import tensorflow` gives pinnace

or, for a whole program: `python -m pinnace.compat.as_tensorflow train.py --epochs 3`. ADR 37.
"""

from __future__ import annotations

import functools
import importlib
import re
import runpy
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pinnace.compat.private import MODULES as _PRIVATE
from pinnace.compat.v1.names import of_graph_mode
from pinnace.framework import errors, missing_names

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["install", "uninstall"]

_ROOTS = {"tensorflow": "pinnace", "keras": "pinnace.keras", "tf_keras": "pinnace.keras"}
_PYTHON = {"__future__", "collections.abc", "functools", "typing"}
_OF_KERAS = "keras.src."  # its private modules
_NOTHING = object()
_CLASS = re.compile(r"[A-Z]\w*[a-z]\w*")
_SPOKEN = {"tensorflow": "tf", "keras": "tf.keras", "tf_keras": "tf.keras"}  # in reasons
# The versions that programs compare; the one of Keras 3 is defined in `pinnace.keras`.
_VERSIONS = dict.fromkeys(
    ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2", "tf_keras"), "2.21.0"
)


class _Alias(ModuleType):
    """A module under another name, whose attributes are those of the original module.

    Args:
        name: the other name.
        targets: the module, then others that are asked for names that it lacks.
    """

    def __init__(self, name: str, targets: tuple[ModuleType, ...]) -> None:
        super().__init__(name, targets[0].__doc__)
        self.__dict__["_target"] = targets[0]
        self.__dict__["_others"] = targets[1:]
        version = _VERSIONS.get(name)
        if version is not None:
            self.__dict__["__version__"] = version
        if name == "tensorflow.version":
            self.__dict__["VERSION"] = _VERSIONS["tensorflow"]

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return _exported(self.__dict__["_target"])
        inside = f"{self.__name__}.{name}"
        if inside in _PRIVATE:
            return importlib.import_module(inside)
        for module in (self.__dict__["_target"], *self.__dict__["_others"]):
            found = getattr(module, name, _NOTHING)
            if found is not _NOTHING:
                own = isinstance(found, ModuleType) and found.__name__.startswith("pinnace.")
                return importlib.import_module(inside) if own else found
        if _public(inside) in _PRIVATE:
            return importlib.import_module(_public(inside))
        refused = None if isinstance(self.__dict__["_target"], _Missing) else _refused(inside)
        return getattr(self.__dict__["_target"], name) if refused is None else refused

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif isinstance(value, _Alias):  # importing puts each module into the one above it
            self.__dict__[name] = value
        else:
            setattr(self.__dict__["_target"], name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_target"])


def _exported(module: ModuleType) -> list[str]:
    """The names that `from module import *` binds: public ones without the module's imports."""
    names = set(getattr(module, "__all__", ()))
    for name in set(dir(module)) - {"TYPE_CHECKING"}:
        value = getattr(module, name, None)
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        foreign = isinstance(value, ModuleType) or home in _PYTHON
        if not name.startswith("_") and not (foreign and not str(home).startswith("pinnace.")):
            names.add(name)
    return sorted(names)


class _Missing(ModuleType):
    """A TensorFlow namespace that is missing here: it can be imported, and its names explain why.

    Args:
        name: name of the namespace.
        reason: why it is not here, and what to use.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self.__doc__, name=name, obj=self)


class _Finder(MetaPathFinder, Loader):
    """Finds modules of TensorFlow and Keras among those of pinnace."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of an alias; None for a module of others.

        Raises:
            ModuleNotFoundError: neither a module of pinnace nor one of TensorFlow's that is told.
        """
        del path, target
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        return ModuleSpec(fullname, self, loader_state=_found(fullname), is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The alias."""
        return _Alias(spec.name, spec.loader_state)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module that the alias stands for is already imported."""


_FINDER = _Finder()


def install() -> None:
    """From now on `import tensorflow`, `import keras` and `import tf_keras` give pinnace.

    All public modules are provided (`tensorflow.keras.layers`), and the private ones that programs
    import most. Packages must be installed without TensorFlow: `pip install --no-deps`.

    Raises:
        RuntimeError: TensorFlow or Keras has been imported.
    """
    for name in _ROOTS:
        if name in sys.modules and not isinstance(sys.modules[name], _Alias):
            raise RuntimeError(
                f"as_tensorflow.install: {name} has been imported already, from "
                f"{getattr(sys.modules[name], '__file__', 'a file that is not known')}\n"
                "  Try: call it before what imports TensorFlow is imported"
            )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Let `import tensorflow` find TensorFlow again; modules that were imported stay."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in [name for name, module in sys.modules.items() if isinstance(module, _Alias)]:
        del sys.modules[name]


@functools.cache
def _public(name: str) -> str:
    """pinnace's public name for a module name of TensorFlow or Keras."""
    for private in sorted(_PRIVATE, key=len, reverse=True):
        if name == private or name.startswith(f"{private}."):
            return _PRIVATE[private][0] + name[len(private) :]
    return name


@functools.cache
def _refused(name: str) -> Any:
    """A stand-in for a class or function that will not be added; None for any other name.

    Programs derive from such classes, use them in isinstance, and pass such functions on, without
    creating or calling any.
    """
    root, *parts = _public(name).split(".")
    said = _why_not(root, parts)
    if said is None:
        return None

    def refuse(*arguments: object, **named: object) -> None:
        del arguments, named
        raise errors.UnimplementedError(None, None, said)

    if _CLASS.fullmatch(parts[-1]) and parts[:-1] != ["raw_ops"]:
        return type(parts[-1], (), {"__doc__": said, "__init__": refuse})
    refuse.__name__ = refuse.__qualname__ = parts[-1]
    refuse.__doc__ = said
    return refuse


def _why_not(root: str, parts: list[str]) -> str | None:
    """The reason why a class, an op or a graph-mode name is missing; None for other names."""
    if parts[:2] == ["compat", "v1"]:
        return of_graph_mode(".".join(parts[2:]))
    spoken = ".".join([_SPOKEN.get(root, root), *parts])
    if parts[:-1] == ["raw_ops"]:
        return missing_names.explain(spoken)
    known = _CLASS.fullmatch(parts[-1]) and missing_names.reason_of(spoken)
    return missing_names.explain(spoken) if known else None


def _found(name: str) -> tuple[ModuleType, ...]:
    """The modules of pinnace that stand for a module of TensorFlow or Keras."""
    if not f"{name}.".startswith(_OF_KERAS):
        return tuple(map(_module, _PRIVATE.get(name, (_public(name),))))
    # A private module of Keras has the names of several of ours (those of
    # `keras.src.backend.common.variables` are in `keras`): a module without a counterpart maps to
    # the public module that contains it.
    told = any(f"{name}.".startswith(f"{one}.") for one in _PRIVATE if one.startswith(_OF_KERAS))
    above = [".".join(name.split(".")[:end]) for end in range(name.count("."), 1, -1)]
    own, *more = _PRIVATE.get(name, (_public(name),))
    modules = [_module(own, inexact=2 if told else 1), *map(_module, more)]
    modules.append(importlib.import_module("pinnace.compat.private.keras_names"))
    return (*modules, *(module for one in above for module in _found(one)))


def _module(name: str, inexact: int = 0) -> ModuleType:
    """The module of a public name of TensorFlow's or Keras's, or of a name of pinnace's own.

    Args:
        name: the name.
        inexact: whether the module that it is in will do: 1 from its second part on, 2 always.
    """
    root, *parts = name.split(".")
    if root not in _ROOTS:
        return importlib.import_module(name)
    found: Any = importlib.import_module(_ROOTS[root])
    for part in parts:
        try:
            inner = getattr(found, part)
        except AttributeError as error:
            if inexact == 2 or (inexact and part is not parts[0]):
                break
            reason = missing_names.explain(".".join([_SPOKEN[root], *parts]))
            if reason is not None:
                return _Missing(name, reason)
            raise ModuleNotFoundError(f"No module named {name!r}: {error}", name=name) from None
        if not isinstance(inner, ModuleType):
            raise ModuleNotFoundError(f"No module named {name!r}: it is no module", name=name)
        found = inner
    return found  # type: ignore[no-any-return]  # a module, as seen above


class _Reminder(MetaPathFinder):
    """A finder used if nothing is installed: explains that importing this module is not enough."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """None for other modules, and for a program that only looks whether there is one.

        Raises:
            ModuleNotFoundError: an import of TensorFlow or Keras.
        """
        del path, target
        if fullname in _ROOTS and not _only_looks():
            raise ModuleNotFoundError(
                f"No module named {fullname!r}\n"
                "  Try: pinnace.compat.as_tensorflow.install(), before the import: importing "
                "pinnace.compat.as_tensorflow alone changes nothing",
                name=fullname,
            )


def _only_looks() -> bool:
    """Whether the caller is `importlib.util.find_spec` and not an import."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib.util":
            return True
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    return False


# The last of the finders: a TensorFlow that is installed is found before it.
sys.meta_path.append(_Reminder())


def _main(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0].startswith("-"):
        sys.stderr.write("python -m pinnace.compat.as_tensorflow PROGRAM [ARGUMENTS]\n")
        raise SystemExit(2)
    install()
    sys.argv[:] = arguments
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    _main(sys.argv[1:])
