"""NumPy's dtypes of sets of element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import NUMPY_SETS, DType

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    import numpy as np


def numpy_dtypes(kinds: Iterable[DType]) -> AbstractSet[np.dtype[Any]]:
    """The NumPy dtypes of `kinds`, for tests of whether an array has one of these types.

    Those of ml_dtypes join the set when that package is imported: no tensor has one before.
    """
    key = frozenset(kinds)
    known = NUMPY_SETS.get(key)
    if known is None:
        known = NUMPY_SETS[key] = {kind.numpy for kind in key if type(kind) is DType}
    return known
