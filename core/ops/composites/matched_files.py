"""`tf.io.match_filenames_once`: file names that a program looks up once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.variable import Variable
from pinnace.ops.io import files

if TYPE_CHECKING:
    from pinnace.framework.tensor import TensorLike

__all__ = ["match_filenames_once"]


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """A variable with the names of the files that match now, sorted.

    Args:
        pattern: [] or [n], string, with `*`, `?` and `[...]`.
        name: name of the variable.

    Returns:
        [?], string, not trainable.
    """
    return Variable(
        files.matching_files(pattern),
        trainable=False,
        name=name or "matching_filenames",
        shape=[None],
    )
