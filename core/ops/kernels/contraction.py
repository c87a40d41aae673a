"""Einstein sums of one or two arrays, as matrix products.

Labels are single letters; "..." represents broadcast axes, counted from the last. A label that
occurs twice in an input takes its diagonal, twice in the output fills one; a label that is not in
the output is summed.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.kernels import blas, tiles, weights
from pinnace.ops.kernels.precision import Array, computed_in

if TYPE_CHECKING:
    from collections.abc import Sequence

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Equation:
    """The parsed form of an equation such as `ab,bc->ac`.

    Args:
        inputs: the labels of each input, one string per axis; "..." is one of them.
        output: the labels of the output.
    """

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def parse_equation(text: str) -> Equation:
    """The labels of an equation with an arrow.

    Raises:
        ValueError: the text is no equation.
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
    """The Einstein sum `text` of one or two arrays, in new memory.

    Args:
        text: an equation with an arrow.
        arrays: one or two.
        out: filled and returned if given.
    """
    dtype = arrays[0].dtype
    wide = computed_in(dtype)
    pair = _pair_of(text) if len(arrays) == 2 and wide == dtype else None
    if pair is not None and pair.fits(arrays[0], arrays[1]):
        return _of_pair(pair, arrays[0], arrays[1], out)
    equation = parse_equation(text)
    # Axes of an ellipsis get numbers as labels, 0 for the last.
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
        # Written in place if there is nothing else to do.
        room = out if out is not None and out.dtype == wide else None
        product, found = _multiplied(*simple[0], *simple[1], output, room)
        result = _arranged(product, found, output).astype(dtype, copy=False)
        if room is not None and np.may_share_memory(result, room):
            return room
    if out is None:
        return result
    out[...] = result
    return out


class _Pair(NamedTuple):
    """An equation of two inputs that is one product of matrices, or a batch of them.

    Attributes:
        ranks: ranks of the inputs.
        orders: their axes as [batch, left, shared] and [batch, shared, right].
        counts: how many labels are of the batch, and shared.
        lefts: how many are of the first input alone.
        matched: axes of the first and the second input that must have one size.
        labels: for each axis of the output, its place in [batch, left, right].
        places: for each axis of [batch, left, right], its place in the output.
    """

    ranks: tuple[int, int]
    orders: tuple[tuple[int, ...], tuple[int, ...]]
    counts: tuple[int, int]
    lefts: int
    matched: tuple[tuple[int, int], ...]
    labels: tuple[int, ...]
    places: tuple[int, ...]

    def fits(self, x: Array, y: Array) -> bool:
        """Whether the shapes match the equation."""
        return (x.ndim, y.ndim) == self.ranks and all(
            x.shape[m] == y.shape[n] for m, n in self.matched
        )


@functools.lru_cache(maxsize=1024)
def _pair_of(text: str) -> _Pair | None:
    """The equation as a single matrix product; None if it is more than that."""
    equation = parse_equation(text)
    if len(equation.inputs) != 2:
        return None
    (xs, ys), output = equation.inputs, equation.output
    for labels in (xs, ys, output):
        if ELLIPSIS in labels or len(set(labels)) < len(labels):
            return None
    if set(xs) ^ set(ys) != set(output) - (set(xs) & set(ys)):
        return None  # an axis is summed that one input has alone, or one is missing
    batch = [label for label in xs if label in ys and label in output]
    shared = [label for label in xs if label in ys and label not in output]
    left = [label for label in xs if label not in ys]
    right = [label for label in ys if label not in xs]
    made = [*batch, *left, *right]
    return _Pair(
        (len(xs), len(ys)),
        (
            tuple(xs.index(label) for label in (*batch, *left, *shared)),
            tuple(ys.index(label) for label in (*batch, *shared, *right)),
        ),
        (len(batch), len(shared)),
        len(left),
        tuple((xs.index(label), ys.index(label)) for label in (*batch, *shared)),
        tuple(made.index(label) for label in output),
        tuple(output.index(label) for label in made),
    )


def _of_pair(pair: _Pair, x: Array, y: Array, out: Array | None) -> Array:
    """The result of an equation that is a single product; see `contract`."""
    ahead, shared = pair.counts
    a, b = x.transpose(pair.orders[0]), y.transpose(pair.orders[1])
    batch, lefts, inner = a.shape[:ahead], a.shape[ahead : ahead + pair.lefts], b.shape[ahead:]
    inner, rights = inner[:shared], inner[shared:]
    sums = math.prod(inner)
    a = a.reshape(*batch, math.prod(lefts), sums)
    b = b.reshape(*batch, sums, math.prod(rights))
    sizes = (*batch, *lefts, *rights)
    # Written in place, if the output's strides allow a matrix product.
    room = out if out is not None and out.dtype == a.dtype else None
    if not ahead and weights.are_steady(y) and _is_same(b, y):
        made = tiles.product(a, b, None, y)
    else:
        if room is None:
            room = np.empty([sizes[place] for place in pair.labels], a.dtype)
        target = room.transpose(pair.places).reshape(*batch, a.shape[-2], b.shape[-1])
        lies_there = np.may_share_memory(target, room)
        made = blas.matmul(a, b, target if lies_there else None)
        if lies_there and (out is None or room is out):
            return room
    result = made.reshape(sizes).transpose(pair.labels)
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
    """The operand with diagonals extracted, and axes summed that no other operand has."""
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
    """The output's view as a matrix product, or a batch of them.

    Args:
        a: [batch, rows, inner].
        b: [batch, inner, columns].
        parts: the labels of the batch, the rows and the columns.
        sizes: sizes of the rows' and columns' labels.
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
    """Whether a view contains all elements of the array in order."""
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
    """The array with axes in that order; missing batch axes get size 1."""
    array = array.transpose([labels.index(label) for label in order if label in labels])
    missing = [axis for axis, label in enumerate(batch) if label not in labels]
    return np.expand_dims(array, tuple(missing)) if missing else array


def _arranged(array: Array, labels: tuple[str, ...], output: tuple[str, ...]) -> Array:
    """The axes in the output's order, with others summed and repeated labels on a diagonal."""
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
