"""Blocks in which eager ops need not have run when their call returns: here they always have."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def async_scope() -> Iterator[None]:
    """A block whose eager ops TensorFlow may run later; when it is left all have run.

    Here an op has run when its call returns, inside of the block too: an error is raised where it
    happens, which is as early as TensorFlow allows.
    """
    yield


def async_clear_error() -> None:
    """Forget errors of ops that ran later than their calls: there are none here."""
