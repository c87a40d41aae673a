"""`import pinnace.math` and the like: public names of modules located elsewhere in the tree.

TensorFlow's programs also say `from tensorflow.keras.utils import to_categorical`. Python's path
finder finds modules by their location only; these two find them by their public name.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

_ROOT = "pinnace."


class _Shown:
    """Loads a module under another name: the existing module, not a second one."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, _: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importing has put the other name's here


class _Beneath:
    """Finds modules below renamed ones, `pinnace.math.special`; asked before the path."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        parent, last = _parent(name)
        if parent is None or name == f"{parent.__name__}.{last}":
            return None
        try:
            return _spec_of(name, importlib.import_module(f"{parent.__name__}.{last}"))
        except ModuleNotFoundError:
            return _spec_of(name, getattr(parent, last, None))


class _Named:
    """Finds renamed modules, such as `pinnace.math` in `pinnace.ops.math`, after the path."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        parent, last = _parent(name)
        return None if parent is None else _spec_of(name, getattr(parent, last, None))


def _parent(name: str) -> tuple[ModuleType | None, str]:
    if not name.startswith(_ROOT):
        return None, ""
    above, _, last = name.rpartition(".")
    return sys.modules.get(above), last


def _spec_of(name: str, module: object) -> ModuleSpec | None:
    if not isinstance(module, ModuleType) or not module.__name__.startswith(_ROOT):
        return None
    return ModuleSpec(name, _Shown(module))  # type: ignore[arg-type] # importlib.abc is heavy


def install() -> None:
    """Install the finders; called once, when pinnace is first imported."""
    sys.meta_path.insert(0, _Beneath())
    sys.meta_path.append(_Named())
