"""Connectionist temporal classification: CTCLoss, CTCGreedyDecoder, CTCBeamSearchDecoder.

Graves and others, "Connectionist temporal classification", 2006. Labels are sparse matrices in
three tensors here; the public functions, which take sparse tensors, are in `composites/ctc.py`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import reshaping
from pinnace.ops.kernels import label_search
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor

_FLOATS = typed({float32, float64}, float32)
# A label that is the blank itself, which `tf.nn.ctc_loss` accepts among dense labels and the op
# does not: no other label has this number.
BLANK_AS_LABEL = -(2**31)


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))  # type: ignore[no-any-return]


def _steps_of(op: str, x: Array, sequence_length: Array) -> Array:
    if ((sequence_length < 0) | (sequence_length > x.shape[0])).any():
        raise InvalidArgumentError(
            f"{op}: sequence_length must be from 0 to the number of steps, {x.shape[0]}, "
            f"got {sequence_length.tolist()}"
        )
    return sequence_length


def _checked(call: InferCall, length: int) -> Shape:
    shape = call.spec(0).shape.with_rank(3)
    lengths = call.spec(length).shape.with_rank(1)
    if shape[1] is not None and lengths[0] is not None and shape[1] != lengths[0]:
        call.fail("inputs [time, batch, classes] and sequence_length [batch] must agree")
    return Shape([shape[0], shape[1] if shape[1] is not None else lengths[0], shape[2]])


def _labels_of(
    indices: Array, values: Array, batch: int, classes: int, *, collapse: bool
) -> list[list[int]]:
    """The labels of each sequence, in order."""
    real = values[values != BLANK_AS_LABEL]
    if real.size and (real.min() < 0 or real.max() >= classes - 1):
        raise InvalidArgumentError(
            f"CTCLoss: labels must be from 0 to {classes - 2} (the last class is the blank), "
            f"got {real.min()} to {real.max()}"
        )
    found: list[list[int]] = [[] for _ in range(batch)]
    places = [tuple(place) for place in indices.tolist()]
    for before, place in itertools.pairwise(places):
        if place <= before:
            how = "repeated" if place == before else "out of order"
            raise InvalidArgumentError(f"CTCLoss: the place {place} of labels is {how}")
    for (row, column), value in zip(places, values.tolist(), strict=True):
        if not (0 <= row < batch and column >= 0):
            raise InvalidArgumentError(
                f"CTCLoss: labels have a place ({row}, {column}): rows must be from 0 to "
                f"{batch - 1}, columns at least 0"
            )
        if not (collapse and found[row] and found[row][-1] == value):
            found[row].append(value)
    return found


def _loss_kernel(
    inputs: Array,
    labels_indices: Array,
    labels_values: Array,
    sequence_length: Array,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Array, Array]:
    _, batch, classes = inputs.shape
    steps = _steps_of("CTCLoss", inputs, sequence_length).tolist()
    labels = _labels_of(
        labels_indices, labels_values, batch, classes, collapse=preprocess_collapse_repeated
    )
    loss = np.zeros(batch, inputs.dtype)
    gradient = np.zeros_like(inputs)
    for row in range(batch):
        if len(labels[row]) > steps[row]:
            if ignore_longer_outputs_than_inputs:
                continue
            raise InvalidArgumentError(
                f"CTCLoss: sequence {row} has {steps[row]} steps for {len(labels[row])} labels\n"
                "  Try: ignore_longer_outputs_than_inputs=True"
            )
        if steps[row]:
            logits = inputs[: steps[row], row].astype(np.float64)
            loss[row], gradient[: steps[row], row] = _sequence_loss(
                _log_softmax(logits), labels[row], merge=ctc_merge_repeated
            )
    return loss, gradient


def _sequence_loss(logs: Array, labels: Sequence[int], *, merge: bool) -> tuple[float, Array]:
    """-log p(labels) and its derivative by the logits, from log probabilities [steps, classes]."""
    steps, classes = logs.shape
    blank = classes - 1
    # Blanks between and around the labels, which are at the odd positions.
    states = np.full(2 * len(labels) + 1, blank)
    said = states[1::2]
    said[:] = labels
    is_blank = states == BLANK_AS_LABEL
    states[is_blank] = blank
    stays = np.zeros(len(states))
    stays[1::2] = 0.0 if merge else -np.inf
    # From the state before the previous one: not to a blank, nor to the same label.
    skips = np.full(len(states), -np.inf)
    skips[3::2] = np.where((said[1:] != said[:-1]) | (not merge), 0.0, -np.inf)
    emitted = logs[:, states]
    forward = np.full(emitted.shape, -np.inf)
    forward[0, :2] = emitted[0, :2]
    for t in range(1, steps):
        forward[t] = _moved(forward[t - 1], stays, skips) + emitted[t]
    backward = np.full(emitted.shape, -np.inf)
    backward[-1, -2:] = 0.0
    # Transitions of `skips` in reverse order, for the backward pass.
    mirrored = np.full(len(states), -np.inf)
    mirrored[2:] = skips[2:][::-1]
    for t in range(steps - 2, -1, -1):
        later = (backward[t + 1] + emitted[t + 1])[::-1]
        backward[t] = _moved(later, stays[::-1], mirrored)[::-1]
    total = np.logaddexp.reduce(forward[-1, -2:])
    shares = np.exp(logs)
    if total == -np.inf:
        return np.inf, shares
    through = np.exp(forward + backward - total)
    through[:, is_blank] = 0.0  # TensorFlow's derivative leaves these out
    spent = np.zeros_like(logs)
    for state, label in enumerate(states):
        spent[:, label] += through[:, state]
    return -total, shares - spent


def _moved(before: Array, stays: Array, skips: Array) -> Array:
    """Log probabilities of states after one step, before the emission."""
    found = before + stays
    found[1:] = np.logaddexp(found[1:], before[:-1])
    found[2:] = np.logaddexp(found[2:], before[:-2] + skips[2:])
    return found


def _infer_loss(call: InferCall) -> tuple[Shape, Shape]:
    shape = _checked(call, 3)
    return Shape([shape[1]]), shape


def _loss_gradient(call: OpCall, dy: Tensor | None, _: Tensor | None) -> tuple[Any, ...]:
    if dy is None:
        return None, None, None, None
    scale = reshaping.reshape(dy, [1, -1, 1])
    return arithmetic.multiply(call.outputs[1], scale), None, None, None


CTC_LOSS: OpDef = define(
    name="CTCLoss",
    signature="inputs: T, labels_indices: int64, labels_values: int32, "
    "sequence_length: int32 -> loss: T, gradient: T",
    types={"T": _FLOATS},
    attrs={
        "preprocess_collapse_repeated": attr("bool", default=False),
        "ctc_merge_repeated": attr("bool", default=True),
        "ignore_longer_outputs_than_inputs": attr("bool", default=False),
    },
    infer=_infer_loss,
    kernel=_loss_kernel,
    gradient=_loss_gradient,
)


def _sparse(rows: Sequence[Sequence[int]]) -> tuple[Array, Array, Array]:
    """Indices, values and shape of the sparse matrix with these rows."""
    indices = [(row, place) for row, values in enumerate(rows) for place in range(len(values))]
    flat = [value for values in rows for value in values]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(flat, np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


def _greedy_kernel(
    inputs: Array, sequence_length: Array, *, merge_repeated: bool, blank_index: int
) -> tuple[Array, Array, Array, Array]:
    _, batch, classes = inputs.shape
    if not -classes <= blank_index < classes:
        raise InvalidArgumentError(
            f"CTCGreedyDecoder: blank_index must be a class of {classes}, got {blank_index}"
        )
    blank = blank_index % classes
    steps = _steps_of("CTCGreedyDecoder", inputs, sequence_length)
    best = inputs.argmax(-1)
    within = np.arange(len(inputs))[:, None] < steps
    scores = -np.where(within, inputs.max(-1, initial=-np.inf), 0).sum(0, keepdims=True).T
    rows = []
    for row in range(batch):
        path = best[: steps[row], row]
        keep = path != blank
        if merge_repeated and len(path):
            keep[1:] &= path[1:] != path[:-1]
        rows.append(path[keep].tolist())
    return (*_sparse(rows), scores.astype(inputs.dtype))


def _infer_greedy(call: InferCall) -> tuple[Shape, ...]:
    shape = _checked(call, 1)
    return Shape([None, 2]), Shape([None]), Shape([2]), Shape([shape[1], 1])


CTC_GREEDY_DECODER: OpDef = define(
    name="CTCGreedyDecoder",
    signature="inputs: T, sequence_length: int32 -> decoded_indices: int64, "
    "decoded_values: int64, decoded_shape: int64, log_probability: T",
    types={"T": _FLOATS},
    attrs={"merge_repeated": attr("bool", default=False), "blank_index": attr("int", default=-1)},
    infer=_infer_greedy,
    kernel=_greedy_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _beam_kernel(
    inputs: Array, sequence_length: Array, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> tuple[Array, ...]:
    _, batch, _ = inputs.shape
    if top_paths > beam_width:
        message = f"CTCBeamSearchDecoder: top_paths must be at most beam_width, {beam_width}"
        raise InvalidArgumentError(f"{message}, got {top_paths}")
    steps = _steps_of("CTCBeamSearchDecoder", inputs, sequence_length).tolist()
    scores = np.empty((batch, top_paths), inputs.dtype)
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    for row in range(batch):
        logs = _log_softmax(inputs[: steps[row], row].astype(np.float64))
        found = label_search.best_labels(logs, beam_width, top_paths)
        for place, (score, labels) in enumerate(found):
            scores[row, place] = score
            if merge_repeated:
                labels = [
                    label for n, label in enumerate(labels) if n == 0 or labels[n - 1] != label
                ]
            paths[place].append(labels)
    parts = [_sparse(rows) for rows in paths]
    return (*(part[n] for n in range(3) for part in parts), scores)


def _infer_beam(call: InferCall) -> tuple[Shape, ...]:
    shape, count = _checked(call, 1), call.attrs["top_paths"]
    return (
        *[Shape([None, 2])] * count,
        *[Shape([None])] * count,
        *[Shape([2])] * count,
        Shape([shape[1], count]),
    )


CTC_BEAM_SEARCH_DECODER: OpDef = define(
    name="CTCBeamSearchDecoder",
    signature="inputs: T, sequence_length: int32 -> decoded_indices: top_paths*int64, "
    "decoded_values: top_paths*int64, decoded_shape: top_paths*int64, log_probability: T",
    types={"T": _FLOATS},
    attrs={
        "beam_width": attr("int"),
        "top_paths": attr("int"),
        "merge_repeated": attr("bool", default=True),
    },
    infer=_infer_beam,
    kernel=_beam_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
