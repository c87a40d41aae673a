"""Einstein sums of one or two arrays, as matrix products.

Labels are single letters; "..." stands for axes that broadcast, counted from the last. A label that
occurs twice in an input takes its diagonal, twice in the output fills one; a label that is not in
the output is summed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import blas, tiles, weights
from pinnace.ops.kernels.precision import Array, computed_in

if TYPE_CHECKING:
    from collections.abc import Sequence

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Equation:
    """`ab,bc->ac`, taken apart.

    Args:
        inputs: the labels of each input, one string per axis; "..." is one of them.
        output: the labels of the output.
    """

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def parse_equation(text: str) -> Equation:
    """The labels of an equation with an arrow.

    Raises:
        ValueError: it is not one.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    if not arrow:
        raise ValueError(f"an equation must have the form 'ab,bc->ac', got {text!r}")
    return Equation(tuple(_labels(part, text) for part in left.split(",")), _labels(right, text))


def _labels(part: str, text: str) -> tuple[str, ...]:
    before, dots, after = part.partition(ELLIPSIS)
    labels = (*before, *([ELLIPSIS] if dots else []), *after)
    for label in labels:
        if label != ELLIPSIS and not (label.isascii() and label.isalpha()):
            raise ValueError(f"labels must be letters, got {label!r} in {text!r}")
    return labels


def contract(text: str, arrays: Sequence[Array], out: Array | None = None) -> Array:
    """The Einstein sum `text` of one or two arrays, in memory of its own.

    Args:
        text: an equation with an arrow.
        arrays: one or two.
        out: filled and returned if given.
    """
    equation = parse_equation(text)
    dtype = arrays[0].dtype
    wide = computed_in(dtype)
    # Axes under an ellipsis get numbers as labels, 0 for the last.
    operands = [
        (array.astype(wide, copy=False), _spelled(labels, array.ndim, text))
        for array, labels in zip(arrays, equation.inputs, strict=True)
    ]
    broad = [label for _, labels in operands for label in labels if label.isdigit()]
    hidden = sorted(set(broad), key=int, reverse=True)
    output = _replaced(equation.output, hidden)
    simple = []
    for index, (array, labels) in enumerate(operands):
        others = {label for at, (_, found) in enumerate(operands) if at != index for label in found}
        simple.append(_simplified(array, labels, others | set(output)))
    if len(simple) == 1:
        result = _arranged(*simple[0], output).astype(dtype, copy=False)
        if out is None and np.may_share_memory(result, arrays[0]):
            return result.copy()  # the array may be memory that is used again
    else:
        # Written where it belongs at once, if that is all there is to do.
        room = out if out is not None and out.dtype == wide else None
        product, found = _multiplied(*simple[0], *simple[1], output, room)
        result = _arranged(product, found, output).astype(dtype, copy=False)
        if room is not None and np.may_share_memory(result, room):
            return room
    if out is None:
        return result
    out[...] = result
    return out


def _spelled(labels: tuple[str, ...], rank: int, text: str) -> tuple[str, ...]:
    hidden = rank - sum(label != ELLIPSIS for label in labels)
    if hidden < 0 or (hidden and ELLIPSIS not in labels):
        raise ValueError(f"an input of rank {rank} does not fit {''.join(labels)!r} in {text!r}")
    return _replaced(labels, [str(n) for n in reversed(range(hidden))])


def _replaced(labels: tuple[str, ...], hidden: list[str]) -> tuple[str, ...]:
    return tuple(name for label in labels for name in (hidden if label == ELLIPSIS else [label]))


def _simplified(
    array: Array, labels: tuple[str, ...], wanted: set[str]
) -> tuple[Array, tuple[str, ...]]:
    """Diagonals taken, and axes summed that no other operand has."""
    unique = tuple(dict.fromkeys(labels))
    if len(unique) != len(labels):
        array = _diagonal(array, labels, unique)
    alone = tuple(axis for axis, label in enumerate(unique) if label not in wanted)
    if alone:
        array = np.add.reduce(array, axis=alone, dtype=array.dtype)
    return array, tuple(label for label in unique if label in wanted)


def _diagonal(array: Array, labels: tuple[str, ...], unique: tuple[str, ...]) -> Array:
    sizes, strides = [], []
    for name in unique:
        axes = [axis for axis, label in enumerate(labels) if label == name]
        if len({array.shape[axis] for axis in axes}) != 1:
            raise ValueError(
                f"axes with the label {name!r} must have one size, "
                f"got {[array.shape[a] for a in axes]}"
            )
        sizes.append(array.shape[axes[0]])
        strides.append(sum(array.strides[axis] for axis in axes))
    return np.lib.stride_tricks.as_strided(array, sizes, strides, writeable=False)


def _multiplied(
    x: Array,
    xs: tuple[str, ...],
    y: Array,
    ys: tuple[str, ...],
    output: tuple[str, ...],
    room: Array | None,
) -> tuple[Array, tuple[str, ...]]:
    """One batched matrix product: [batch, left, shared] with [batch, shared, right].

    The result may be a view of `room`, whose axes are those of the output.
    """
    wanted = set(output)
    batch = [label for label in dict.fromkeys((*xs, *ys)) if _is_batch(label, xs, ys, wanted)]
    shared = [label for label in xs if label in ys and label not in batch]
    left = [label for label in xs if label not in batch and label not in shared]
    right = [label for label in ys if label not in batch and label not in shared]
    _check_sizes(x, xs, y, ys, shared + [label for label in batch if not label.isdigit()])
    a = _permuted(x, xs, [*batch, *left, *shared], batch)
    b = _permuted(y, ys, [*batch, *shared, *right], batch)
    lefts, rights = a.shape[len(batch) : a.ndim - len(shared)], b.shape[len(batch) + len(shared) :]
    inner = math.prod(b.shape[len(batch) : len(batch) + len(shared)])
    a = a.reshape(*a.shape[: len(batch)], math.prod(lefts), inner)
    b = b.reshape(*b.shape[: len(batch)], inner, math.prod(rights))
    if b.ndim == 2 and weights.are_steady(y) and _is_same(b, y):
        rows = a.reshape(-1, inner)
        product = tiles.product(rows, b, None, y).reshape(*a.shape[:-1], b.shape[-1])
    else:
        target = _target(a, b, (batch, left, right), (*lefts, *rights), output, room)
        product = blas.matmul(a, b, target)
    return product.reshape((*product.shape[: len(batch)], *lefts, *rights)), (*batch, *left, *right)


def _target(
    a: Array,
    b: Array,
    parts: tuple[list[str], list[str], list[str]],
    sizes: tuple[int, ...],
    output: tuple[str, ...],
    room: Array | None,
) -> Array | None:
    """Where a product of two matrices, or a batch of them, lies in the output's axes.

    Args:
        a: [batch, rows, inner].
        b: [batch, inner, columns].
        parts: the labels of the batch, the rows and the columns.
        sizes: of the rows' and columns' labels.
        output: the labels of the output.
        room: an array of the output's axes; a new one if None.

    Returns:
        [batch, rows, columns], in the memory of `room`; None if it cannot lie there.
    """
    labels = [label for part in parts for label in part]
    if sorted(labels) != sorted(output):
        return None
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if room is None:
        own = dict(zip(labels, (*batch, *sizes), strict=True))
        room = np.empty([own[label] for label in output], a.dtype)
    found = room.transpose([output.index(label) for label in labels])
    if found.shape != (*batch, *sizes):
        return None
    folded = found.reshape(*batch, a.shape[-2], b.shape[-1])
    return folded if np.may_share_memory(folded, room) else None


def _is_same(view: Array, array: Array) -> bool:
    """Whether a view has all numbers of the array, in its order."""
    return bool(
        view.size == array.size
        and view.flags.c_contiguous
        and array.flags.c_contiguous
        and np.may_share_memory(view, array)
    )


def _is_batch(label: str, xs: tuple[str, ...], ys: tuple[str, ...], wanted: set[str]) -> bool:
    if label.isdigit():
        return True  # axes that broadcast; those the output lacks are summed at the end
    return label in xs and label in ys and label in wanted


def _check_sizes(
    x: Array, xs: tuple[str, ...], y: Array, ys: tuple[str, ...], labels: Sequence[str]
) -> None:
    for label in labels:
        m, n = x.shape[xs.index(label)], y.shape[ys.index(label)]
        if m != n:
            raise ValueError(f"axes with the label {label!r} must have one size, got {m} and {n}")


def _permuted(
    array: Array, labels: tuple[str, ...], order: Sequence[str], batch: Sequence[str]
) -> Array:
    """The axes in that order; batch axes that it lacks have size 1."""
    array = array.transpose([labels.index(label) for label in order if label in labels])
    missing = [axis for axis, label in enumerate(batch) if label not in labels]
    return np.expand_dims(array, tuple(missing)) if missing else array


def _arranged(array: Array, labels: tuple[str, ...], output: tuple[str, ...]) -> Array:
    """The axes as the output has them: the rest summed, repeated ones on a diagonal."""
    rest = tuple(axis for axis, label in enumerate(labels) if label not in output)
    if rest:
        array = np.add.reduce(array, axis=rest, dtype=array.dtype)
        labels = tuple(label for label in labels if label in output)
    unique = tuple(dict.fromkeys(output))
    missing = [label for label in unique if label not in labels]
    if missing:
        raise ValueError(f"the output has the label {missing[0]!r}, which no input has")
    array = array.transpose([labels.index(label) for label in unique])
    if len(unique) == len(output):
        return array
    sizes = dict(zip(unique, array.shape, strict=True))
    filled = np.zeros([sizes[label] for label in output], array.dtype)
    strides = [
        sum(stride for stride, label in zip(filled.strides, output, strict=True) if label == name)
        for name in unique
    ]
    np.lib.stride_tricks.as_strided(filled, array.shape, strides)[...] = array
    return filled
