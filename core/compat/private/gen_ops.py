"""Ops by the names that TensorFlow's generated modules have for them: `sparse_reorder`."""

from __future__ import annotations

import functools
import re
from typing import Any

from pinnace.ops import raw_ops, registry

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@functools.cache
def _by_small_letters() -> dict[str, str]:
    return {_WORD.sub("_", name).lower(): name for name in dir(raw_ops) if name[0].isupper()}


def __getattr__(name: str) -> Any:
    found = _by_small_letters().get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    op = getattr(raw_ops, found)
    names = [argument.name for argument in registry.lookup(found).inputs]

    @functools.wraps(op)
    def called(*inputs: Any, **named: Any) -> Any:
        return op(**dict(zip(names, inputs, strict=False)), **named)

    return called
