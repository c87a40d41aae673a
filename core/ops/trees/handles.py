"""Handles of models of trees: what one refers to is made where the handle is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.execute import eager_context
from pinnace.ops.shared_resources import shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext


def handle_kernel(kind: str, default: str, make: Callable[[str], Any]) -> Callable[..., Array]:
    """The kernel of an op that gives a handle.

    Args:
        kind: see `shared`.
        default: the name of a resource whose node has none.
        make: makes the resource of a name.
    """

    def kernel(*, container: str, shared_name: str, ctx: RunContext) -> Array:
        """A handle; handles with one shared name refer to the same object within a run."""
        handle = np.empty((), object)
        made = make(shared_name or default)
        if shared_name and ctx is not eager_context():
            made = shared(ctx, kind, container, shared_name, lambda: made)
        handle[()] = made
        return handle

    return kernel
