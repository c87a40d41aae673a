"""Arrays without other references, which a kernel may overwrite.

A loop that writes one row of a large array in each iteration, as generators of text write the keys
and values of a word, would copy the array each time. The loop hands the array over in a list of one
element: if there is no other reference to it, nobody can see that it changes. Inputs of the loop,
variables, constants, views, results that a tape or a profiler keeps: each is a reference.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pinnace.framework.storage import FEWEST
from pinnace.ops.kernels import recycling

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array


def is_sole(own: list[Array]) -> bool:
    """Whether the array in a list is held by the list alone, and its memory by the array alone.

    Args:
        own: one element, to which the caller has no other name: some Python versions do not count
            a frame's references.
    """
    return sys.getrefcount(own[0]) <= FEWEST and recycling.is_alone(own[0])
