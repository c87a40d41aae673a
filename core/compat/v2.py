"""`tf.compat.v2`: the names of `pinnace` itself."""

from __future__ import annotations

import importlib
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("pinnace.framework.versions").VERSION
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "enable_v2_behavior":  # a function of version 1, too
        return importlib.import_module("pinnace.compat.v1").enable_v2_behavior
    return getattr(importlib.import_module("pinnace"), name)


def __dir__() -> list[str]:
    return dir(importlib.import_module("pinnace"))
