"""`tf.compat.v1.flags`: those of absl, if it is installed."""

from __future__ import annotations

import importlib
from typing import Any

from pinnace.framework.extras import install_command

try:
    _flags: Any = importlib.import_module("absl.flags")
except ImportError as _error:
    raise ModuleNotFoundError(
        "tf.compat.v1.flags needs the package absl-py\n"
        f"  Try: {install_command('flags')}, or argparse",
        name="absl",
    ) from _error


def __getattr__(name: str) -> Any:
    return getattr(_flags, name)


def __dir__() -> list[str]:
    return sorted(name for name in dir(_flags) if not name.startswith("_"))
