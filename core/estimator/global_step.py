"""The global step: the number of training steps so far."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.no_effect import ignored
from pinnace.framework.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

_current: ContextVar[Variable | None] = ContextVar("global_step", default=None)


def new_global_step() -> Variable:
    """A step at 0, int64, not trainable."""
    with init_scope():
        return Variable(0, trainable=False, dtype=dtypes.int64, name="global_step")


@contextlib.contextmanager
def global_step_is(step: Variable) -> Iterator[None]:
    """Makes `get_global_step` return `step` inside the block."""
    token = _current.set(step)
    try:
        yield
    finally:
        _current.reset(token)


def get_global_step(graph: object = None) -> Variable | None:
    """The step of the model that is being built; None if there is none.

    Args:
        graph: accepted for TensorFlow's sake.
    """
    ignored("get_global_step", "there is one", graph=graph)
    return _current.get()


def get_or_create_global_step(graph: object = None) -> Variable:
    """The step of the model that is being built, otherwise this thread's own.

    Args:
        graph: accepted for TensorFlow's sake.
    """
    ignored("get_or_create_global_step", "there is one", graph=graph)
    step = _current.get()
    if step is None:
        step = new_global_step()
        _current.set(step)
    return step
