"""The common part of block operators: arguments as one tensor, or one per block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators import batches
from pinnace.linear_operators.operator import LinearOperator
from pinnace.ops.array import constants, joining, reshaping, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class OfBlocks(LinearOperator):
    """The base class; `_diagonal()` are the diagonal's blocks, which determine all sizes.

    Where a tensor is taken, a list of tensors is too, one per block of columns (of rows, to solve);
    then the result is one per block. A subclass applies itself to such lists: `_times_blocks` and
    `_solved_blocks`.
    """

    def _diagonal(self) -> list[LinearOperator]:
        raise NotImplementedError

    def _times_blocks(self, xs: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        raise NotImplementedError

    def _solved_blocks(self, xs: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        raise NotImplementedError

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A x; see `LinearOperator.matmul`.

        Args:
            x: [..., n, r], or a list of [..., nᵢ, r], one per block; or a linear operator.
            adjoint: whether A is replaced by its conjugate transpose.
            adjoint_arg: whether x is replaced by its adjoint.
            name: name of the node while tracing.

        Returns:
            [..., m, r], or a list of [..., mᵢ, r].
        """
        axis = -1 if adjoint_arg else -2
        if not self._is_blockwise(x, axis, of_rows=adjoint):
            return super().matmul(x, adjoint, adjoint_arg, name)
        with self._named(name):
            blocks = self._checked("matmul", "x", x, axis, of_rows=adjoint)
            return self._times_blocks(blocks, adjoint, adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A x for vectors; see `LinearOperator.matvec`.

        Args:
            x: [..., n], or a list of [..., nᵢ], one per block.
            adjoint: whether A is replaced by its conjugate transpose.
            name: name of the node while tracing.

        Returns:
            [..., m], or a list of [..., mᵢ].
        """
        if not self._is_blockwise(x, -1, of_rows=adjoint):
            return super().matvec(x, adjoint, name)
        with self._named(name):
            found = self.matmul(_columns(x), adjoint=adjoint)
            return [reshaping.squeeze(block, -1) for block in found]

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The x with A x = rhs; see `LinearOperator.solve`.

        Args:
            rhs: [..., m, r], or a list of [..., mᵢ, r], one per block; or a linear operator.
            adjoint: whether A is replaced by its conjugate transpose.
            adjoint_arg: whether rhs is replaced by its adjoint.
            name: name of the node while tracing.

        Returns:
            [..., n, r], or a list of [..., nᵢ, r].
        """
        axis = -1 if adjoint_arg else -2
        if not self._is_blockwise(rhs, axis, of_rows=not adjoint):
            return super().solve(rhs, adjoint, adjoint_arg, name)
        self._check_solvable()
        with self._named(name):
            blocks = self._checked("solve", "rhs", rhs, axis, of_rows=not adjoint)
            return self._solved_blocks(blocks, adjoint, adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The x with A x = rhs for vectors; see `LinearOperator.solvevec`.

        Args:
            rhs: [..., m], or a list of [..., mᵢ], one per block.
            adjoint: whether A is replaced by its conjugate transpose.
            name: name of the node while tracing.

        Returns:
            [..., n], or a list of [..., nᵢ].
        """
        if not self._is_blockwise(rhs, -1, of_rows=not adjoint):
            return super().solvevec(rhs, adjoint, name)
        with self._named(name):
            found = self.solve(_columns(rhs), adjoint=adjoint)
            return [reshaping.squeeze(block, -1) for block in found]

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._split(x, -1 if adjoint_arg else -2, of_rows=adjoint)
        return _stacked(self._times_blocks(parts, adjoint, adjoint_arg))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._split(rhs, -1 if adjoint_arg else -2, of_rows=not adjoint)
        return _stacked(self._solved_blocks(parts, adjoint, adjoint_arg))

    def _known_sizes(self, *, of_rows: bool) -> list[int | None]:
        return [
            block.range_dimension if of_rows else block.domain_dimension
            for block in self._diagonal()
        ]

    def _split(self, x: Tensor, axis: int, *, of_rows: bool) -> list[Tensor]:
        sizes: list[Any] = [*self._known_sizes(of_rows=of_rows)]
        if len(sizes) == 1:
            return [x]
        if None in sizes:
            sizes = [
                block.range_dimension_tensor() if of_rows else block.domain_dimension_tensor()
                for block in self._diagonal()
            ]
        return list(joining.split(x, sizes, axis))

    def _is_blockwise(self, x: Any, axis: int, *, of_rows: bool) -> bool:
        """Whether an argument is a list of one tensor per block, and no tensor written as a list.

        Raises:
            ValueError: the argument can be read both ways.
        """
        sizes = self._known_sizes(of_rows=of_rows)
        if not isinstance(x, (list, tuple)) or len(x) != len(sizes):
            return False
        if not any(structure.is_nested(part) for part in x):
            return True
        parts = [convert_to_tensor(part) for part in x]
        if any(part.shape.rank is not None and part.shape.rank < -axis for part in parts):
            return False
        given = [part.shape[axis] for part in parts]
        if all(size in {None, found} for size, found in zip(sizes, given, strict=True)):
            if len(set(given)) > 1 or None not in sizes:
                return True
            if len(given) > 1:
                raise ValueError(
                    f"{self.name}: the argument may be a tensor or one tensor per block\n"
                    "  Try: convert_to_tensor(x), or a list of tensors"
                )
            return False
        if len(set(given)) == 1:
            return False
        raise ValueError(
            f"{self.name}: Input dimension does not match operator dimension: blocks of {given} "
            f"for {sizes}"
        )

    def _checked(
        self, method: str, argument: str, xs: Sequence[Any], axis: int, *, of_rows: bool
    ) -> list[Any]:
        """The blocks of an argument as tensors of the right size; operators unchanged."""
        sizes = self._known_sizes(of_rows=of_rows)
        return [
            x
            if isinstance(x, LinearOperator)
            else self._argument(method, f"{argument}[{i}]", x, axis, size)
            for i, (x, size) in enumerate(zip(xs, sizes, strict=True))
        ]


def _columns(xs: Sequence[Any]) -> list[Tensor]:
    return [reshaping.expand_dims(x, -1) for x in xs]


def _stacked(blocks: list[Tensor]) -> Tensor:
    """Blocks of rows stacked to one matrix, broadcast to one batch."""
    return joining.concat(batches.broadcast(blocks), -2)


def joined_vectors(parts: Sequence[Tensor]) -> Tensor:
    """[..., nᵢ] concatenated, broadcast to one batch."""
    return joining.concat(batches.broadcast(list(parts), trailing=1), -1)


def zeros_beside(block: Tensor, other: Tensor) -> Tensor:
    """Zeros with the rows of one block and the columns of another."""
    rows = batches.sizes_of(block.shape[:-1], lambda: shapes.shape(block)[:-1])
    columns = batches.sizes_of(other.shape[-1:], lambda: shapes.shape(other)[-1:])
    return constants.zeros(batches.joined(rows, columns), block.dtype)
