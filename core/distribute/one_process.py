"""Collective operations of a job with a single process, without MPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array


class OneProcess(Processes):
    """The single process of a job: it never waits, and sums are its own arrays."""

    def __init__(self, timeout_s: float | None = None) -> None:
        super().__init__(None, _Nobody(), timeout_s)

    def agreed(self, value: Any, what: str) -> Any:
        """The value itself."""
        del what
        return value

    def sum(self, arrays: Sequence[Array], what: str) -> list[Array]:
        """The arrays themselves."""
        del what
        return list(arrays)

    def gather(self, arrays: Sequence[Array], what: str) -> list[list[Array]]:
        """Lists with each array as the only item."""
        del what
        return [[array] for array in arrays]

    def broadcast(self, array: Array, what: str) -> Array:
        """The array itself."""
        del what
        return array

    def _vote(self, what: str, vote: int, *, or_gone: bool = False) -> int:
        del what, or_gone
        self.exchanges += 1
        return vote


class _Nobody:
    """The communicator of one process."""

    def Get_rank(self) -> int:  # noqa: N802 (MPI's name)
        return 0

    def Get_size(self) -> int:  # noqa: N802 (MPI's name)
        return 1
