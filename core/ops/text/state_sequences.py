"""The best state sequences under permitted transitions: ConstrainedSequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.framework.dtypes import INDEX, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_OP = "ConstrainedSequence"
_ERROR = -1
_LOWEST = np.finfo(np.float32).min


class _Rules(NamedTuple):
    """The permitted transitions between states, and their weights.

    Attributes:
        allowed: whether each transition is, [from, to]; None if all are.
        weights: likewise; None for none.
        in_logs: whether weights are added, and not multiplied.
        has_ends: whether the last row and column are of the state before and after a sequence.
    """

    allowed: Array | None
    weights: Array | None
    in_logs: bool
    has_ends: bool

    def weighed(self, scores: Array, weights: Array | None) -> Array:
        """Scores times weights, in float32."""
        if weights is None:
            return scores
        found = scores + weights if self.in_logs else scores * weights
        return found.astype(np.float32)

    def scaled(self, scores: Array) -> Array:
        """Scores of all states; probabilities are scaled to a maximum of 1."""
        most = scores.max(initial=_LOWEST)
        return scores if self.in_logs or not most > 0 else scores / most


def _last_best(scores: Array, possible: Array) -> tuple[Array, Array]:
    """Along the first axis, the last of the highest permitted scores, and its index."""
    usable = possible & (scores >= _LOWEST)
    shown = np.where(usable, scores, -np.inf)
    places = len(shown) - 1 - shown[::-1].argmax(0)
    is_any = usable.any(0)
    found = np.take_along_axis(shown, places[None], 0)[0]
    return np.where(is_any, places, _ERROR), np.where(is_any, found, _LOWEST).astype(np.float32)


def _viterbi(scores: Array, rules: _Rules) -> Array:
    """The states of the best sequence; all -1 if none is permitted."""
    steps, states = scores.shape
    inner = slice(None, states)
    came = np.full((steps, states), _ERROR)
    now = scores[0]
    possible = np.ones(states, np.bool_)
    if rules.has_ends:
        possible = possible if rules.allowed is None else rules.allowed[states, inner]
        now = rules.weighed(now, None if rules.weights is None else rules.weights[states, inner])
    came[0, possible] = states
    best = rules.scaled(np.where(possible, now.astype(np.float64), np.float64(_LOWEST)))
    for step in range(1, steps):
        both = scores[step] + best[:, None] if rules.in_logs else scores[step] * best[:, None]
        both = both.astype(np.float32)
        both = rules.weighed(both, None if rules.weights is None else rules.weights[inner, inner])
        possible = np.broadcast_to(came[step - 1, :, None] != _ERROR, both.shape)
        if rules.allowed is not None:
            possible = possible & rules.allowed[inner, inner]
        came[step], found = _last_best(both, possible)
        best = rules.scaled(found.astype(np.float64))
    possible = came[-1] != _ERROR
    last = best.astype(np.float32)
    if rules.has_ends:
        last = rules.weighed(last, None if rules.weights is None else rules.weights[inner, states])
        possible = possible if rules.allowed is None else possible & rules.allowed[inner, states]
    place, _ = _last_best(last[:, None], possible[:, None])
    state = int(place[0])
    found = np.full(steps, _ERROR, np.int32)
    for step in range(steps - 1, -1, -1):
        if state == _ERROR:
            break
        found[step] = state
        state = int(came[step, state])
    return found


def _greedy(scores: Array, rules: _Rules) -> Array:
    """The best state after each previous one; -1 from where none is permitted."""
    steps, states = scores.shape
    inner = slice(None, states)
    found = np.full(steps, _ERROR, np.int32)
    before = states
    for step in range(steps):
        now, possible = scores[step], np.ones(states, np.bool_)
        if rules.has_ends or step:
            ends = rules.has_ends and step == steps - 1
            if rules.allowed is not None:
                possible = rules.allowed[before, inner]
                possible = possible & rules.allowed[inner, states] if ends else possible
            if rules.weights is not None:
                now = rules.weighed(now, rules.weights[before, inner])
                now = rules.weighed(now, rules.weights[inner, states]) if ends else now
        place, _ = _last_best(now[:, None], possible[:, None])
        before = int(place[0])
        if before == _ERROR:
            break
        found[step] = before
    return found


def _table(name: str, table: Array, states: int, *, has_ends: bool) -> Array | None:
    if not table.size:
        return None
    size = states + has_ends
    if table.shape != (size, size):
        raise InvalidArgumentError(
            f"{_OP}: {name} must be [{size}, {size}] for {states} states"
            f"{' and one for the ends' if has_ends else ''}, got {list(table.shape)}"
        )
    return table


def _kernel(
    scores: Array,
    sequence_lengths: Array,
    allowed_transitions: Array,
    transition_weights: Array,
    *,
    use_viterbi: bool,
    use_log_space: bool,
    use_start_and_end_states: bool,
    Tsplits: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array]:
    if scores.ndim not in {2, 3}:
        raise InvalidArgumentError(f"{_OP}: scores must have 2 or 3 axes, got {scores.ndim}")
    batch = scores[None] if scores.ndim == 2 else scores
    lengths = sequence_lengths.reshape(-1).tolist()
    if len(lengths) != len(batch) or not all(0 <= n <= batch.shape[1] for n in lengths):
        raise InvalidArgumentError(
            f"{_OP}: for {len(batch)} sequences of at most {batch.shape[1]} steps there must be "
            f"one length each, got {lengths[:20]}"
        )
    has_ends, states = use_start_and_end_states, batch.shape[2]
    weights = _table("transition_weights", transition_weights, states, has_ends=has_ends)
    if weights is not None and not use_log_space and not (weights >= 0).all():
        raise InvalidArgumentError(f"{_OP}: transition_weights must not be negative")
    allowed = _table("allowed_transitions", allowed_transitions, states, has_ends=has_ends)
    rules = _Rules(allowed, weights, use_log_space, has_ends)
    search = _viterbi if use_viterbi else _greedy
    rows = [
        search(row[:length], rules)
        for row, length in zip(batch, lengths, strict=True)
        if length and states
    ]
    empty = np.full(0 if states else sum(lengths), _ERROR, np.int32)
    splits = np.cumsum([0, *lengths]).astype(Tsplits.numpy)
    return np.concatenate([*rows, empty]).astype(np.int32), splits


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    count = call.spec(1).shape.num_elements()
    return Shape([None]), Shape([None if count is None else count + 1])


CONSTRAINED_SEQUENCE = define(
    name=_OP,
    signature=(
        "scores: float32, sequence_lengths: Tin, allowed_transitions: bool, "
        "transition_weights: float32 -> states: int32, states_splits: Tsplits"
    ),
    types={"Tin": INDEX, "Tsplits": typed(INDEX, default=int64)},
    attrs={
        "use_viterbi": attr("bool"),
        "use_log_space": attr("bool"),
        "use_start_and_end_states": attr("bool"),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
