"""Reverse accumulation: from what happened and the gradients of its results to the gradients of its beginnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pinnace.framework.context import state
from pinnace.framework.tensor import Tensor
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import OpCall, OpDef


class Entry(NamedTuple):
    """One thing that happened: an op, or (op None) something that brings its own `backward`."""

    op: OpDef | None
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    outputs: tuple[Tensor, ...]
    backward: Callable[..., Sequence[Tensor | None]] | None


class Gradients:
    """The gradients found so far, by tensor; several for one tensor are added when it is asked for."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[int, Any] = {}

    def add(self, tensor: Tensor, gradient: Tensor) -> None:
        """One more contribution."""
        key = id(tensor)
        known = self._found.get(key)
        if known is None:
            self._found[key] = gradient
        elif type(known) is list:
            known.append(gradient)
        else:
            self._found[key] = [known, gradient]

    def total(self, tensor: Tensor) -> Tensor | None:
        """The sum of the contributions, None if there is none."""
        known = self._found.get(id(tensor))
        if type(known) is list:
            known = _sum(known)
            self._found[id(tensor)] = known
        return known

    def pop(self, tensor: Tensor) -> Tensor | None:
        """As `total`, and forget it."""
        known = self._found.pop(id(tensor), None)
        return _sum(known) if type(known) is list else known


def _sum(gradients: list[Tensor]) -> Tensor:
    if len(gradients) == 2:  # noqa: PLR2004 (a pair)
        return arithmetic.add(gradients[0], gradients[1])
    return arithmetic.add_n(gradients)


def accumulate(
    entries: Sequence[Entry],
    gradients: Gradients,
    kept: set[int],
    wanted: Callable[[Any], bool],
) -> None:
    """Walk `entries` backwards, turning gradients of outputs into gradients of inputs.

    Args:
        entries: what happened, in order.
        gradients: holds the gradients of the targets; holds those of the sources afterwards.
        kept: ids of the tensors whose gradients somebody will ask for.
        wanted: whether a gradient of that tensor can reach a source.
    """
    for op, inputs, attrs, outputs, backward in reversed(entries):
        if len(outputs) == 1:
            output = outputs[0]
            dy = gradients.total(output) if id(output) in kept else gradients.pop(output)
            if dy is None:
                continue
            dys: list[Tensor | None] = [dy]
        else:
            dys = [gradients.total(y) if id(y) in kept else gradients.pop(y) for y in outputs]
            if all(dy is None for dy in dys):
                continue
        if op is None:
            assert backward is not None  # noqa: S101 (an entry has one or the other)
            found: Sequence[Any] = backward(*dys)
        else:
            found = op.gradient(OpCall(op, inputs, attrs, outputs, wanted), *dys)  # type: ignore[operator]
        for x, dx in zip(inputs, found, strict=True):
            if dx is None:
                continue
            if type(x) is tuple:
                for one, part in zip(x, dx, strict=True):
                    if part is not None and wanted(one):
                        gradients.add(one, part)
            elif wanted(x):
                gradients.add(x, dx)


def hidden_from(tape: object) -> Any:
    """The other tapes see what runs, this one does not."""
    return _Hidden(tape)


class _Hidden:
    __slots__ = ("_saved", "_tape")

    def __init__(self, tape: object) -> None:
        self._tape = tape

    def __enter__(self) -> None:
        self._saved = state.tapes
        if self._saved:
            state.tapes = tuple(tape for tape in self._saved if tape is not self._tape)

    def __exit__(self, *exc: object) -> None:
        state.tapes = self._saved
