"""A step function applied along a sequence: a Python loop, or a While node in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.functions.control import looping
from pinnace.ops.array import (
    casting,
    constants,
    joining,
    permutations,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.math import comparison

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


class Course(NamedTuple):
    """The order in which a loop passes through a sequence.

    Attributes:
        backwards: from the last step to the first; the outputs come in that order.
        unroll: whether a graph holds each step, rather than a loop.
        zero_masked: whether the output of a step that does not count is 0, not the one before.
        every_output: whether all outputs are wanted, not only the last.
    """

    backwards: bool = False
    unroll: bool = False
    zero_masked: bool = False
    every_output: bool = True


def over_time(
    step: Callable[[Any, Any], tuple[Any, Any]],
    sequences: Any,
    states: Any,
    course: Course,
    mask: Any = None,
    like: Any = None,
) -> tuple[Any, Any]:
    """The outputs of all steps [b, t, ...], or of the last [b, ...], and the states after it.

    Args:
        step: (inputs of a step, states) → (output, states); structures of tensors.
        sequences: [b, t, ...], or a structure of them.
        states: before the first step.
        course: the order of steps.
        mask: bool [b, t] or [b, t, 1]; where it is false, output and states stay what they were.
        like: tensors with the shapes of an output, if they are known without running a step.

    Raises:
        ValueError: no steps; `unroll` and their number is not known.
    """
    length = structure.flatten(sequences)[0].shape[1]
    if length == 0:
        raise ValueError("a recurrent layer needs at least one step, got a sequence of length 0")
    if mask is not None:
        mask = casting.cast(mask, dtypes.bool)
        if mask.shape.rank == 3:
            mask = reshaping.squeeze(mask, [2])
    if state.tracer is None or course.unroll:
        if length is None:
            raise ValueError(
                "a recurrent layer can be unrolled only if the number of steps is known, got "
                f"{structure.flatten(sequences)[0].shape.text}\n"
                "  Try: Input((steps, features)), or unroll=False"
            )
        return _in_python(step, sequences, states, course, mask)
    return _in_graph(step, sequences, states, course, mask, like)


def _in_python(
    step: Callable[[Any, Any], tuple[Any, Any]],
    sequences: Any,
    states: Any,
    course: Course,
    mask: Any,
) -> tuple[Any, Any]:
    rows = [joining.unstack(x, axis=1) for x in structure.flatten(sequences)]
    steps = list(zip(*rows, strict=True))
    counts: list[Any] = [None] * len(steps) if mask is None else joining.unstack(mask, axis=1)
    if course.backwards:
        steps.reverse()
        counts.reverse()
    outputs: list[Any] = []
    for flat, counted in zip(steps, counts, strict=True):
        inputs = structure.pack_sequence_as(sequences, flat)
        output, new = step(inputs, states)
        if counted is None:
            states = new
        else:
            if course.zero_masked or not outputs:
                before = structure.map_structure(constants.zeros_like, output)
            else:
                before = outputs[-1]
            output = _where(counted, output, before)
            states = _where(counted, new, states)
        if course.every_output:
            outputs.append(output)
        else:
            outputs = [output]
    if not course.every_output:
        return outputs[0], states
    return structure.map_structure(lambda *ys: joining.stack(ys, axis=1), *outputs), states


def _in_graph(
    step: Callable[[Any, Any], tuple[Any, Any]],
    sequences: Any,
    states: Any,
    course: Course,
    mask: Any,
    like: Any,
) -> tuple[Any, Any]:
    by_time = structure.map_structure(_swapped, sequences)
    first = structure.flatten(by_time)[0]
    length = first.shape[0]
    count = shapes.shape(first)[0] if length is None else constants.constant(length)
    size = count if length is None else length
    inputs = [_array(x, size, course) for x in structure.flatten(by_time)]
    counts = None if mask is None else _array(_swapped(mask), size, course)
    if like is None:
        # Only the shapes of a user's cell are needed: its values are unused.
        like, _ = step(structure.map_structure(lambda x: x[0], by_time), states)
    start = structure.map_structure(constants.zeros_like, like)
    arrays = [
        TensorArray(x.dtype, size=size, element_shape=x.shape)
        for x in (structure.flatten(like) if course.every_output else ())
    ]
    keeps = mask is not None and not course.zero_masked

    def body(time: Tensor, arrays: Any, before: Any, states: Any) -> Any:
        now = structure.pack_sequence_as(sequences, [x.read(time) for x in inputs])
        output, new = step(now, states)
        output = structure.pack_sequence_as(like, structure.flatten(output))
        new = structure.pack_sequence_as(states, structure.flatten(new))
        if counts is not None:
            counted = counts.read(time)
            output = _where(counted, output, before if keeps else start)
            new = _where(counted, new, states)
        flat = structure.flatten(output)
        written = [array.write(time, y) for array, y in zip(arrays, flat, strict=False)]
        held = output if keeps or not course.every_output else before
        return time + 1, written, held, new

    _, arrays, last, states = looping.while_loop(
        lambda time, *_: comparison.less(time, count),
        body,
        (constants.constant(0), arrays, start if keeps or not course.every_output else [], states),
        parallel_iterations=32,
    )
    if not course.every_output:
        return last, states
    outputs = [_swapped(array.stack()) for array in arrays]
    return structure.pack_sequence_as(like, outputs), states


def _array(x: Tensor, size: Any, course: Course) -> TensorArray:
    if course.backwards:
        x = permutations.reverse(x, [0])
    return TensorArray(x.dtype, size=size).unstack(x)


def _swapped(x: Tensor) -> Tensor:
    """x with batch and time axes exchanged."""
    rank = x.shape.rank or 2
    return permutations.transpose(x, [1, 0, *range(2, rank)])


def _where(counted: Tensor, new: Any, old: Any) -> Any:
    """`new` in the valid rows, else `old`."""

    def choose(x: Tensor, y: Tensor) -> Tensor:
        rank = x.shape.rank or 1
        rows = reshaping.reshape(counted, [-1, *[1] * (rank - 1)])
        return selecting.where(rows, x, y)

    return structure.map_structure(
        choose, new, structure.pack_sequence_as(new, structure.flatten(old))
    )
