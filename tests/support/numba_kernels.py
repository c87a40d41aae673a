"""Sources of kernels that are in no library, compiled by Numba in this process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.engine.codegen import general

if TYPE_CHECKING:
    from collections.abc import Callable


@functools.cache
def compiled(text: str) -> Callable[..., Any]:
    """The function `kernel` that a source defines.

    Args:
        text: the source without the header of its module.
    """
    from pinnace.engine.codegen import objects  # imports Numba

    objects.prepare()
    function: Callable[..., Any] = objects.dispatcher_of(general.module_of(text))
    return function
