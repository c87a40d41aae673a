"""CTC beam search: the most likely label sequences."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

_NONE = -np.inf


class _Beginning:
    """A prefix of labels, with log probabilities after the steps so far."""

    __slots__ = ("blank", "children", "label", "label_log", "old_blank", "old_total", "parent")

    def __init__(self, parent: _Beginning | None, label: int) -> None:
        self.parent = parent
        self.label = label
        self.children: dict[int, _Beginning] = {}
        # Log probabilities that the last step emitted a blank, or the last label; then those one
        # step earlier.
        self.blank = self.label_log = _NONE
        self.old_blank = self.old_total = _NONE

    @property
    def total(self) -> float:
        return float(np.logaddexp(self.blank, self.label_log))

    @property
    def kept(self) -> bool:
        return self.blank != _NONE or self.label_log != _NONE

    def labels(self) -> list[int]:
        """All labels, first to last."""
        found = []
        at: _Beginning | None = self
        while at is not None and at.parent is not None:
            found.append(at.label)
            at = at.parent
        return found[::-1]


def best_labels(logs: Array, width: int, count: int) -> list[tuple[float, list[int]]]:
    """The `count` most likely label sequences, and their log probabilities.

    Args:
        logs: [steps, classes], log probabilities; the last class is the blank.
        width: beginnings that are kept from step to step.
        count: at most `width`.
    """
    root = _Beginning(None, -1)
    root.blank = 0.0
    kept = [root]
    for now in logs:
        kept = _step(kept, now, width)
    found = [(one.total, one.labels()) for one in sorted(kept, key=lambda one: -one.total)[:count]]
    # Fewer beams than requested: empty ones, with probability 0.
    return found + [(_NONE, [])] * (count - len(found))


def _grown(one: _Beginning) -> float:
    """The log probability of extending a beam by its last label, without this step's factor."""
    parent = one.parent
    if parent is None:
        return _NONE
    if not parent.kept:
        return one.label_log
    # A repeated label counts as a new one only after a blank.
    before = parent.old_blank if parent.label == one.label else parent.old_total
    return float(np.logaddexp(one.label_log, before))


def _step(  # noqa: C901 (one loop, whose order is the point)
    kept: list[_Beginning], now: Array, width: int
) -> list[_Beginning]:
    """The best prefixes after one more step, in TensorFlow's order of processing."""
    emitted = now.tolist()
    blank = emitted.pop()
    for one in kept:
        one.old_blank, one.old_total = one.blank, one.total
    for one in kept:
        one.label_log = _grown(one) + (emitted[one.label] if one.parent is not None else 0.0)
        one.blank = one.old_total + blank
    leaves = [(one.total, -n, one) for n, one in enumerate(kept)]
    heapq.heapify(leaves)
    serial = len(kept)

    def wins(score: float) -> bool:
        return score > _NONE and (len(leaves) < width or score > leaves[0][0])

    for one in kept:
        if not wins(one.old_total):
            continue
        for label, chance in enumerate(emitted):
            child = one.children.get(label)
            if child is not None and child.kept:
                continue
            score = (one.old_blank if label == one.label else one.old_total) + chance
            if not wins(score):
                if child is not None:
                    child.old_blank = child.old_total = _NONE
                continue
            if child is None:
                child = one.children[label] = _Beginning(one, label)
            child.blank, child.label_log = _NONE, score
            serial += 1
            if len(leaves) < width:
                heapq.heappush(leaves, (score, -serial, child))
            else:
                weakest = heapq.heapreplace(leaves, (score, -serial, child))[2]
                weakest.blank = weakest.label_log = _NONE
    return [one for _, _, one in sorted(leaves, key=lambda leaf: (-leaf[0], -leaf[1]))]
