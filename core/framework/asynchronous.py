"""TensorFlow's blocks of asynchronous execution; here, ops are done when their call returns."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def async_scope() -> Iterator[None]:
    """A block whose eager ops TensorFlow may run later; when it is left all have run.

    Here an op has run when its call returns, also inside of the block: an error is raised by the
    call itself, which is as early as TensorFlow allows.
    """
    yield


def async_clear_error() -> None:
    """Does nothing: errors are raised by the call of an op."""
