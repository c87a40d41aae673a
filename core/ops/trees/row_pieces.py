"""Distribution of rows over threads for the evaluation of forests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable

# Fewer rows than this descend one by one: testing all conditions for a block takes as long as
# seven.
FEW = 8
# The number of rows of a piece is a multiple of this, and of the rows that compiled code processes
# at once.
BLOCK = 64
# The most pieces per thread, so that a thread that starts late takes fewer.
_MOST_PIECES = 4


def share_rows(rows: int, work: Callable[[int, int], None], *, are_many: bool) -> None:
    """Have `work(first, stop)` done for all rows.

    Args:
        rows: the number of rows.
        work: in machine code.
        are_many: whether it takes longer than waking a thread.
    """
    pieces = min(-(-rows // BLOCK), _MOST_PIECES * team.size()) if are_many else 1
    if pieces <= 1:
        work(0, rows)
        return
    share = -(-rows // (pieces * BLOCK)) * BLOCK
    team.share(
        -(-rows // share),
        lambda piece: work(piece * share, min((piece + 1) * share, rows)),
        team.size(),
    )
