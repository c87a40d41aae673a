"""Rows that a forest is evaluated for, shared by threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable

# Fewer rows descend one after another: a block that is asked all conditions takes as long as seven.
FEW = 8
# Rows of a piece are a multiple of this, and of the rows that machine code takes at once.
BLOCK = 64
# Pieces of each thread, so that one that starts late takes fewer.
_MOST_PIECES = 4


def share_rows(rows: int, work: Callable[[int, int], None], *, are_many: bool) -> None:
    """Have `work(first, stop)` done for all rows.

    Args:
        rows: how many.
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
