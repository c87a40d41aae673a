"""Checks of every op's results for NaN and infinity: `debugging.enable_check_numerics`."""

from __future__ import annotations

import linecache
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array.identities import CHECK_NUMERICS_V2, non_finite
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from pinnace.ops.opdef import OpDef

# Ops that only move values, as TensorFlow lists them: the op that computed a NaN is the one to
# report.
_MOVING = frozenset(
    {
        *("Concat", "ConcatV2", "ExpandDims", "Fill", "Gather", "Maximum", "Minimum", "Reshape"),
        *("Slice", "Squeeze", "Stack", "StridedSlice", "StridedSliceGrad", "Transpose", "Unpack"),
        *("TensorListConcatV2", "TensorListGather", "TensorListGetItem", "TensorListPopBack"),
        "TensorListStack",
    }
)
# Ops without a check of their own: the ops in their bodies are checked, or they are checks.
_ELSEWHERE = frozenset(
    {
        *("CheckNumerics", "CheckNumericsV2", "Identity", "If", "StatelessIf", "While"),
        *("StatelessWhile", "Case", "StatelessCase", "PartitionedCall"),
        *("StatefulPartitionedCall", "RemoteCall", "Enter", "Exit", "LoopCond", "Merge"),
        *("NextIteration", "Switch", "DestroyResourceOp"),
    }
)
_UNCHECKED = _MOVING | _ELSEWHERE
# The statistics of an empty batch are NaN, and unused.
_STATISTICS = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
_PACKAGE = __name__.partition(".")[0]


class NumericsChecker:
    """Observes each op like a tape, and raises for results that are not finite.

    Args:
        stack_height_limit: how many frames the error shows of where a graph's op was made.
        path_length_limit: how many characters of a file's path; None for all.
    """

    def __init__(self, stack_height_limit: int | None, path_length_limit: int | None) -> None:
        self._frames = stack_height_limit
        self._characters = path_length_limit

    def record(
        self, op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: tuple[Tensor, ...]
    ) -> None:
        """Check the results of an op; in a graph, add an op that checks when the graph runs.

        Raises:
            InvalidArgumentError: a value is NaN or infinite.
        """
        del attrs
        if op.name in _UNCHECKED:
            return
        for slot, output in enumerate(outputs):
            if output.dtype not in dtypes.FLOATS or (slot and op.name in _STATISTICS):
                continue
            if isinstance(output, SymbolicTensor):
                self._add_check(op, inputs, outputs, slot)
            elif not np.isfinite(output._array).all():
                array = np.asarray(output._array)
                told = [*_facts(op, inputs, outputs, slot, "eagerly-executing", array), "", ""]
                raise InvalidArgumentError("\n".join(told) + f" : {non_finite(array)}")

    def record_call(self, *_: Any) -> None:
        """Does nothing: the ops of such a call were recorded."""

    record_customised = record_call
    watch_variable = record_call

    def watches(self, tensor: object) -> bool:
        """False: nothing is recorded for gradients."""
        del tensor
        return False

    def _add_check(
        self, op: OpDef, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...], slot: int
    ) -> None:
        told = _facts(op, inputs, outputs, slot, "graph", None)
        name = getattr(getattr(state.tracer, "graph", None), "name", "")
        told += [f'  Graph name: "{name}"'] if name else []
        told += ["", '  Stack trace of op\'s creation ("->": inferred user code):']
        told += [*self._stack(), "", ""]
        saved, state.tapes = state.tapes, ()
        try:
            execute(CHECK_NUMERICS_V2, outputs[slot], message="\n".join(told))
        finally:
            state.tapes = saved

    def _stack(self) -> Iterator[str]:
        frames = list(_callers())[::-1]
        if self._frames is not None and len(frames) > self._frames:
            yield f"    + ... (Omitted {len(frames) - self._frames} frames)"
            frames = frames[len(frames) - self._frames :]
        for path, line, function in frames:
            yield f"    + {_end_of(path, self._characters)} (L{line}) {function}"
            yield f" -> |   {linecache.getline(path, line).strip()}"


def _end_of(path: str, limit: int | None) -> str:
    return path if limit is None or len(path) <= limit else f"...{path[len(path) - limit :]}"


def _callers() -> Iterator[tuple[str, int, str]]:
    """The frames outside of this library, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            yield code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back


def _facts(
    op: OpDef,
    inputs: tuple[Any, ...],
    outputs: tuple[Tensor, ...],
    slot: int,
    how: str,
    array: Any,
) -> list[str]:
    output = outputs[slot]
    which = f'output {slot} of {how} op "{op.name}" (# of outputs: {len(outputs)})'
    told = [
        *("", ""),
        f"!!! Detected Infinity or NaN in {which} !!!",
        f"  dtype: <dtype: '{output.dtype.name}'>",
        f"  shape: {output.shape}",
    ]
    if array is not None:
        counts = {"-Inf": np.isneginf(array), "+Inf": np.isposinf(array), "+NaN": np.isnan(array)}
        told += [f"  # of {kind} elements: {n.sum()}" for kind, n in counts.items() if n.any()]
    given = [part for x in inputs for part in (x if isinstance(x, tuple) else (x,))]
    if len(given) == 1:
        told += ["", f"  Input tensor: {given[0]!r}"]
    elif given:
        told += ["", f"  Input tensors ({len(given)}):"]
        told += [f"         {place}: {x!r}" for place, x in enumerate(given)]
    return told


def enable_check_numerics(
    stack_height_limit: int | None = 30, path_length_limit: int | None = 50
) -> None:
    """Make each op of this thread check that its results are finite, until it is disabled.

    Functions traced from here on check theirs whenever they run; ops that only move values (a
    reshape, a slice) are not checked. A second call has no effect.

    Args:
        stack_height_limit: how many frames an error shows of where a graph's op was made; None
            for all.
        path_length_limit: how many characters of a file's path it shows; None for all.

    Raises:
        InvalidArgumentError: later, by the op whose result has NaN or infinity.
    """
    if not any(isinstance(one, NumericsChecker) for one in state.observers):
        checker = NumericsChecker(stack_height_limit, path_length_limit)
        state.observers = (*state.observers, checker)
        state.tapes = (checker, *state.tapes)


def disable_check_numerics() -> None:
    """Stop checking results in this thread; functions that were traced keep their checks."""
    state.observers = tuple(x for x in state.observers if not isinstance(x, NumericsChecker))
    state.tapes = tuple(x for x in state.tapes if not isinstance(x, NumericsChecker))
