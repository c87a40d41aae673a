"""Programs and packages that `import tensorflow` or `import keras`, unchanged, with pinnace.

    from pinnace.compat import as_tensorflow
    as_tensorflow.install()
    import mtcnn  # its `import tensorflow` gives pinnace

or, for a whole program: `python -m pinnace.compat.as_tensorflow train.py --epochs 3`. ADR 37.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pinnace.compat import private_names
from pinnace.framework import missing_names

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["install", "uninstall"]

_ROOTS = {"tensorflow": "pinnace", "keras": "pinnace.keras", "tf_keras": "pinnace.keras"}
_SPOKEN = {"tensorflow": "tf", "keras": "tf.keras", "tf_keras": "tf.keras"}  # in reasons
# Versions whose names these are, which programs compare; Keras 3's is `pinnace.keras`'s own.
_VERSIONS = {"tensorflow": "2.21.0", "tf_keras": "2.21.0"}
_OF_KERAS = "keras.src."  # its private modules
_KERAS_PRIVATE = "pinnace.compat.keras_private"
_NOTHING = object()


class _Alias(ModuleType):
    """A module under another name: what is asked of it, and put into it, is the module's own.

    Args:
        name: the other name.
        target: the module.
        behind: modules that are asked for what it has not, in this order.
        ahead: a module that is asked before it.
    """

    def __init__(
        self,
        name: str,
        target: ModuleType,
        behind: Sequence[ModuleType] = (),
        ahead: ModuleType | None = None,
    ) -> None:
        super().__init__(name, target.__doc__)
        self.__dict__["_target"] = target
        self.__dict__["_asked"] = [*([] if ahead is None else [ahead]), target, *behind]
        version = _VERSIONS.get(name)
        if version is not None:
            self.__dict__["__version__"] = version

    def __getattr__(self, name: str) -> Any:
        inside = f"{self.__name__}.{name}"
        if inside in private_names.MODULES:
            return importlib.import_module(inside)
        if name == "__all__":  # for `from keras import *`
            return [public for public in dir(self) if not public.startswith("_")]
        for module in self.__dict__["_asked"]:
            found = getattr(module, name, _NOTHING)
            if found is not _NOTHING:
                private = inside.startswith(_OF_KERAS) and isinstance(found, ModuleType)
                return importlib.import_module(inside) if private else found
        return getattr(self.__dict__["_target"], name)  # its own error

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif not isinstance(value, _Alias):  # importing puts each module into the one above it
            setattr(self.__dict__["_target"], name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_target"])


class _Missing(ModuleType):
    """A namespace of TensorFlow's that is not here: it can be imported, and its names say why.

    Args:
        name: of the namespace.
        reason: why it is not here, and what to use.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self.__doc__, name=name, obj=self)


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of TensorFlow and Keras among pinnace's."""

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
        ahead = private_names.AHEAD.get(spec.name)
        first = None if ahead is None else importlib.import_module(ahead)
        return _Alias(spec.name, spec.loader_state, _behind(spec.name), first)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module that it stands for was imported."""


_FINDER = _Finder()


def install() -> None:
    """From here on `import tensorflow`, `import keras` and `import tf_keras` give pinnace.

    All public modules are there (`tensorflow.keras.layers`), and those private ones that programs
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
    """From here on `import tensorflow` looks for TensorFlow. What was imported stays as it is."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in [name for name, module in sys.modules.items() if isinstance(module, _Alias)]:
        del sys.modules[name]


def _found(name: str) -> ModuleType:
    """The module of pinnace that a name of TensorFlow's or Keras's stands for.

    A private module of Keras's that is no public one stands for the public one that it is in.
    """
    public, known = name, ""
    for private in sorted(private_names.MODULES, key=len, reverse=True):
        if name == private or name.startswith(f"{private}."):
            public, known = private_names.MODULES[private] + name[len(private) :], private
            break
    root, *parts = public.split(".")
    found: Any = importlib.import_module(_ROOTS[root])
    for part in parts:
        try:
            inner = getattr(found, part)
        except AttributeError as error:
            # A folder of Keras's that shows nothing under its name, such as `keras.src.trainers`,
            # is told above; a first part that is told nowhere is no module.
            if name.startswith(_OF_KERAS) and (part is not parts[0] or known != "keras.src"):
                break
            reason = missing_names.explain(".".join([_SPOKEN[root], *parts]))
            if reason is not None:
                return _Missing(name, reason)
            raise ModuleNotFoundError(f"No module named {name!r}: {error}", name=name) from None
        if not isinstance(inner, ModuleType):
            raise ModuleNotFoundError(f"No module named {name!r}: it is no module", name=name)
        found = inner
    return found  # type: ignore[no-any-return]  # a module, as seen above


def _behind(name: str) -> list[ModuleType]:
    """The modules that are asked for what a private one's public one has not."""
    found = [importlib.import_module(more) for more in private_names.BEHIND.get(name, ())]
    if not f"{name}.".startswith(_OF_KERAS):
        return found
    # A private module has the names of many: `keras.src.backend.common.variables.Variable`.
    public = [".".join(name.split(".")[:end]) for end in range(name.count("."), 1, -1)]
    return [importlib.import_module(_KERAS_PRIVATE), *found, *map(_found, public)]


def _main(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0].startswith("-"):
        sys.stderr.write("python -m pinnace.compat.as_tensorflow PROGRAM [ARGUMENTS]\n")
        raise SystemExit(2)
    install()
    sys.argv[:] = arguments
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    _main(sys.argv[1:])
