"""Slices of a variable: reading, assignment, and scatter updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace import late
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.tensor import SymbolicTensor, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import TensorLike
    from pinnace.framework.variable import Variable


class _Assignable:
    """`variable[key]`: the slice as a tensor, whose `assign` replaces it in the variable."""

    __slots__ = ()

    _origin: tuple[Variable, Any]

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable | None:
        """Assign to this slice of the variable; returns the whole variable.

        The tensor itself keeps its value.

        Args:
            value: broadcastable to the part, dtype of the variable.
            use_locking: not used: an assignment is one step anyway.
            name: name of the node while tracing.
            read_value: whether to give the variable back.

        Raises:
            InvalidArgumentError: the value does not fit.
        """
        del use_locking
        variable, key = self._origin
        variable.assign_part(value, key, name)
        return variable if read_value else None

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> Variable | None:
        """Add to this slice of the variable; returns the whole variable."""
        variable, key = self._origin
        return self.assign(variable[key] + delta, use_locking, name)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> Variable | None:
        """Subtract from this slice of the variable; returns the whole variable."""
        variable, key = self._origin
        return self.assign(variable[key] - delta, use_locking, name)


class VariableSlice(_Assignable, Tensor):
    """A slice of a variable, as read."""

    __slots__ = ("_origin",)


class SymbolicVariableSlice(_Assignable, SymbolicTensor):
    """A slice of a variable, to be read by a graph."""

    __slots__ = ("_origin",)


def _worked_rows(how: Any, effect: str) -> Callable[..., Any]:
    def method(
        self: Any, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        del use_locking  # a step is atomic anyway
        late.scatter(how, self, *_slices(f"scatter_{how}", sparse_delta), name)
        return self

    method.__name__ = f"scatter_{how}"
    method.__qualname__ = f"Variable.scatter_{how}"
    method.__doc__ = f"""{effect}; gives the variable back.

        Args:
            sparse_delta: `IndexedSlices`: `values`, the slices, and `indices`, their rows.
            use_locking: not used.
            name: name of the node while tracing.

        Raises:
            TypeError: `sparse_delta` is something else.
            InvalidArgumentError: an index is out of range, or the shapes do not fit.
        """
    return method


def _worked_places(how: Any, effect: str) -> Callable[..., Any]:
    def method(self: Any, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        late.scatter_nd(how, self, indices, updates, name)
        return self

    method.__name__ = f"scatter_nd_{how}"
    method.__qualname__ = f"Variable.scatter_nd_{how}"
    method.__doc__ = f"""{effect}; gives the variable back.

        Args:
            indices: [..., k], int32 or int64: each row is a place along the first k axes.
            updates: [*indices.shape[:-1], *shape[k:]], dtype of the variable.
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: an index is out of range, or the shapes do not fit.
        """
    return method


def _slices(who: str, given: Any) -> tuple[Tensor, Any]:
    if not isinstance(given, IndexedSlices):
        raise TypeError(
            f"{who}: sparse_delta must be IndexedSlices, got {type(given).__name__}: {given!r}\n"
            "  Try: IndexedSlices(values, indices)"
        )
    return given.indices, given._given


class VariableParts:
    """The methods of a variable that read and update slices of its value."""

    __slots__ = ()

    def __getitem__(self: Any, key: object) -> Any:
        return late.getitem_of(self, key)

    def assign_part(self: Any, value: TensorLike, key: Any, name: str | None = None) -> None:
        """Replace `variable[key]`; the value is broadcast to it."""
        late.assign_slice(self, key, value, name)

    def sparse_read(self: Any, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows that `indices` names."""
        return late.sparse_read(self, indices, name)

    def gather_nd(self: Any, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices at the indices in the rows of `indices`."""
        return late.gather_nd_of(self, indices, name)

    scatter_add = _worked_rows("add", "Add the slices to the rows that they name")
    scatter_sub = _worked_rows("sub", "Subtract the slices from the rows that they name")
    scatter_mul = _worked_rows("mul", "Multiply rows by their slices")
    scatter_div = _worked_rows("div", "Divide rows by their slices")
    scatter_max = _worked_rows("max", "Rows become the larger of themselves and of their slices")
    scatter_min = _worked_rows("min", "Rows become the smaller of themselves and of their slices")
    scatter_update = _worked_rows("update", "Put slices in the place of the rows that they name")

    scatter_nd_add = _worked_places("add", "Add `updates` at the places that `indices` names")
    scatter_nd_sub = _worked_places("sub", "Subtract `updates` at the places `indices` names")
    scatter_nd_max = _worked_places("max", "The larger of value and update at each place")
    scatter_nd_min = _worked_places("min", "The smaller of value and update at each place")
    scatter_nd_update = _worked_places("update", "Put `updates` at the places `indices` names")

    def batch_scatter_update(
        self: Any, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace rows by slices, separately in each batch element; returns the variable.

        Args:
            sparse_delta: `IndexedSlices`: `indices` [*batch, n], places along the axis after the
                batch axes, and `values` [*batch, n, ...].
            use_locking: not used.
            name: name of the node while tracing.

        Raises:
            TypeError: `sparse_delta` is something else.
            InvalidArgumentError: an index is out of range, or the shapes do not fit.
        """
        del use_locking
        indices, values = _slices("batch_scatter_update", sparse_delta)
        late.scatter_batches(self, indices, values, name)
        return self


__all__ = ["SymbolicVariableSlice", "VariableParts", "VariableSlice"]
