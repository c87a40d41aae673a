"""x[key] as arguments of StridedSlice; no op runs here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from pinnace.framework.tensor import Operands

_BOUND = frozenset({int, type(None)})


@dataclass(slots=True)
class SliceArguments:
    """The arguments of StridedSlice: an entry per item of the key, and a mask bit per item.

    An entry is an integer or an integer scalar tensor.
    """

    begin: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    strides: list[Any] = field(default_factory=list)
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    @property
    def masks(self) -> dict[str, int]:
        """The masks as attributes."""
        return {
            "begin_mask": self.begin_mask,
            "end_mask": self.end_mask,
            "ellipsis_mask": self.ellipsis_mask,
            "new_axis_mask": self.new_axis_mask,
            "shrink_axis_mask": self.shrink_axis_mask,
        }

    @property
    def is_constant(self) -> bool:
        """Whether every entry is an integer."""
        return all(type(n) is int for part in (self.begin, self.end, self.strides) for n in part)


def parse_key(key: object) -> SliceArguments:
    """The arguments of StridedSlice for x[key].

    Args:
        key: an item or a tuple of items: integers, integer scalar tensors, slices of these, `...`,
            None.

    Raises:
        TypeError: an item is something else, or a second `...`.
    """
    # TensorFlow: a list is read as a tuple.
    items = key if isinstance(key, (list, tuple)) else (key,)
    found = SliceArguments()
    for place, item in enumerate(items):
        _add(found, 1 << place, item)
    return found


def _add(found: SliceArguments, bit: int, item: object) -> None:
    begin: Any = 0
    end: Any = 0
    stride: Any = 1
    if isinstance(item, slice):
        begin, end, stride = item.start, item.stop, item.step
        if begin is None:
            begin = 0
            found.begin_mask |= bit
        if end is None:
            end = 0
            found.end_mask |= bit
        stride = 1 if stride is None else stride
        begin, end, stride = _number(begin), _number(end), _number(stride)
    elif item is Ellipsis:
        if found.ellipsis_mask:
            raise TypeError("an index may hold only one ellipsis (`...`)")
        found.ellipsis_mask |= bit
    elif item is None:
        found.new_axis_mask |= bit
    else:
        begin = _number(item)
        # StridedSlice only reads `begin` of a dropped axis: no tensor needs to be added to.
        end = begin + 1 if type(begin) is int else begin
        found.shrink_axis_mask |= bit
    found.begin.append(begin)
    found.end.append(end)
    found.strides.append(stride)


def _number(item: Any) -> Any:
    if isinstance(item, Operands):
        dtype = item.dtype
        rank = item.shape.rank
        if not dtype.is_integer or rank not in {None, 0}:
            _refuse(f"a tensor of {dtype.name}{item.shape}")
        return item
    if isinstance(item, (bool, np.bool_)):
        _refuse(repr(item))
    try:
        return int(item.__index__())
    except (AttributeError, TypeError):
        _refuse(repr(item))


def _refuse(got: str) -> NoReturn:
    raise TypeError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer scalar "
        "tensors are valid "
        f"indices, got {got}\n  Try: gather(x, indices) for several rows, boolean_mask(x, mask) "
        "for a mask"
    )


def is_plain(key: object) -> bool:
    """Whether NumPy indexes by `key` like StridedSlice: no tensors, arrays, lists or bools."""
    if type(key) is tuple:
        return all(_is_plain_item(item) for item in key)
    return _is_plain_item(key)


def _is_plain_item(item: object) -> bool:
    if type(item) is int or item is None or item is Ellipsis:
        return True
    if type(item) is slice:
        return (
            type(item.start) in _BOUND and type(item.stop) in _BOUND and type(item.step) in _BOUND
        )
    return False


def is_mask(key: object) -> bool:
    """Whether `key` is a boolean mask."""
    if isinstance(key, Operands):
        return bool(key.dtype.is_bool)
    return isinstance(key, np.ndarray) and key.dtype.kind == "b"
