"""Loops over elements and steps under the names of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.functions.control import mapping
from pinnace.functions.control.looping import while_loop
from pinnace.functions.graph_gradients import gradients as graph_gradients
from pinnace.ops.array import (
    casting,
    constants,
    joining,
    permutations,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.array.permutations import reverse
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["foldl", "foldr", "gradients", "map_fn", "rnn"]


def gradients(loss: Any, variables: Any) -> list[Any]:
    """The derivatives of the sum of `loss`, inside a function being traced.

    Args:
        loss: a tensor, or a list.
        variables: the tensors or variables to differentiate by.
    """
    return graph_gradients(loss, variables)


def map_fn(fn: Callable[[Any], Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """The results of a function of each row, stacked.

    Args:
        fn: takes a row.
        elems: the rows, a tensor or a structure of them.
        name: name of the nodes while tracing.
        dtype: dtype of the results, if not that of the rows.
    """
    return mapping.map_fn(fn, elems, dtype=dtype, name=name)


def foldl(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Reduce the rows from the first to the last by a function.

    Args:
        fn: takes the value so far and a row, gives the value.
        elems: the rows.
        initializer: the value at first; the first row if None.
        name: name of the nodes while tracing.
    """
    return mapping.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Reduce the rows from the last to the first by a function.

    Args:
        fn: takes the value so far and a row, gives the value.
        elems: the rows.
        initializer: the value at first; the last row if None.
        name: name of the nodes while tracing.
    """
    return mapping.foldr(fn, elems, initializer=initializer, name=name)


def _turned(x: Any) -> Tensor:
    """x with batch and time axes exchanged."""
    x = convert_to_tensor(x)
    return permutations.transpose(x, [1, 0, *range(2, len(x.shape))])


def _chosen(mask: Any, new: Any, old: Any) -> Any:
    """`new` for samples that are not masked, `old` for others, in each part."""

    def part(a: Any, b: Any) -> Tensor:
        condition = mask
        while len(condition.shape) < len(a.shape):
            condition = reshaping.expand_dims(condition, -1)
        return selecting.where(condition, a, b)

    return structure.map_structure(part, new, old)


class _Steps:
    """The steps of `rnn`: their inputs and masks."""

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Any,
        constants_: Any,
        mask: Any,
        lengths: Any,
        zeroed: bool,
    ) -> None:
        self._function = function
        self._inputs = inputs
        self._constants = tuple(constants_ or ())
        self._mask = mask
        self._lengths = lengths
        self._zeroed = zeroed

    def call(self, step: Any, states: Any) -> tuple[Any, Any]:
        """Output and states of one step, without a mask."""
        given = structure.map_structure(lambda x: x[step], self._inputs)
        return self._function(given, (*states, *self._constants))  # type: ignore[no-any-return]

    def run(self, step: Any, states: Any, before: Any, zeros: Any) -> tuple[Any, Any]:
        """Output and states of one step; masked samples keep their previous ones."""
        output, found = self.call(step, states)
        if self._mask is None and self._lengths is None:
            return output, structure.pack_sequence_as(states, structure.flatten(found))
        counts = self._mask[step] if self._mask is not None else self._lengths(step)
        found = structure.pack_sequence_as(states, structure.flatten(found))
        rest = zeros if self._zeroed else before
        return _chosen(counts, output, rest), _chosen(counts, found, states)


def rnn(
    step_function: Callable[..., Any],
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """A function applied to each step, with states passed from step to step.

    Args:
        step_function: takes the inputs of a step and (*states, *constants), gives the output of
            the step and a list of new states.
        inputs: [b, time, ...], a tensor or a structure of them.
        initial_states: a list of tensors, or of structures of them.
        go_backwards: whether the last step is the first.
        mask: [b, time] or [b, time, 1], which samples count at which step; others keep their states
            and their last output.
        constants: a list of values passed to every step.
        unroll: whether every step becomes nodes of its own; their number must be known.
        input_length: how many steps there are; a tensor [b] for a number of each sample.
        time_major: whether `inputs`, `mask` and the outputs are [time, b, ...].
        zero_output_for_mask: whether the output of a sample that does not count is 0.
        return_all_outputs: False keeps the last output alone.

    Returns:
        The last output [b, ...]; all outputs [b, time, ...]; the states after the last step.

    Raises:
        ValueError: steps to be unrolled whose number is not known.
    """
    if not time_major:
        inputs = structure.map_structure(_turned, inputs)
    inputs = structure.map_structure(convert_to_tensor, inputs)
    mask = _mask_of(mask, time_major)
    flat = structure.flatten(inputs)
    known = flat[0].shape[0]
    if unroll and not known:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    count: Any = known if known is not None else shapes.shape(flat[0])[0]
    if go_backwards:
        inputs = structure.map_structure(lambda x: reverse(x, [0]), inputs)
        mask = None if mask is None else reverse(mask, [0])
    last: Any = count
    lengths = None
    if input_length is not None and not unroll:
        last = reduction.reduce_max(convert_to_tensor(input_length))
        if isinstance(input_length, Tensor) and mask is None:
            lengths = _counting(input_length, last, go_backwards)
    steps = _Steps(step_function, inputs, constants, mask, lengths, zero_output_for_mask)
    states = tuple(initial_states)
    if unroll:
        outputs, states = _unrolled(steps, count, states, return_all_outputs)
    else:
        outputs, states = _looped(steps, count, last, states, return_all_outputs)
    final = structure.map_structure(lambda x: x[-1], outputs)
    if not time_major:
        outputs = structure.map_structure(_turned, outputs)
    return final, outputs, states


def _mask_of(mask: Any, time_major: bool) -> Any:
    if mask is None:
        return None
    mask = casting.cast(convert_to_tensor(mask), dtypes.bool_)
    if len(mask.shape) == 2:
        mask = reshaping.expand_dims(mask, -1)
    return mask if time_major else _turned(mask)


def _counting(lengths: Tensor, last: Tensor, go_backwards: bool) -> Callable[[Any], Tensor]:
    if go_backwards:
        return lambda step: last - 1 - lengths < step
    return lambda step: lengths > step


def _zeros(steps: _Steps, states: Any) -> Any:
    return structure.map_structure(constants.zeros_like, steps.call(0, states)[0])


def _unrolled(steps: _Steps, count: int, states: Any, every: bool) -> tuple[Any, Any]:
    zeros = output = _zeros(steps, states)
    found = []
    for step in range(count):
        output, states = steps.run(step, states, output, zeros)
        found.append(output)
    kept = found if every else found[-1:]
    return structure.map_structure(lambda *parts: joining.stack(parts), *kept), states


def _looped(steps: _Steps, count: Any, last: Any, states: Any, every: bool) -> tuple[Any, Any]:
    zeros = _zeros(steps, states)
    size = count if every else 1
    arrays = [TensorArray(x.dtype, size, element_shape=x.shape) for x in structure.flatten(zeros)]

    def body(step: Any, arrays: Any, before: Any, states: Any) -> Any:
        output, states = steps.run(step, states, before, zeros)
        place = step if every else 0
        parts = zip(arrays, structure.flatten(output), strict=True)
        return step + 1, [array.write(place, part) for array, part in parts], output, states

    start = convert_to_tensor(0)
    _, arrays, _, states = while_loop(
        lambda step, *_: step < count,
        body,
        (start, arrays, zeros, states),
        maximum_iterations=last,
    )
    outputs = [array.stack() for array in arrays]
    return structure.pack_sequence_as(zeros, outputs), states
