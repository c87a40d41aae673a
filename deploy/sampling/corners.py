"""Inputs that are never drawn at random: zeros, ones, padded rows, long axes.

A loop over the valid steps always runs to the end of a drawn row, and a limit of twenty is never
reached by a row of five: these inputs exercise the other paths.
"""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from pinnace.deploy.program.sources import Program
from pinnace.deploy.sampling.numbers import limits_of, searches
from pinnace.deploy.sampling.samples import Patience, Run, draw, streams_from
from pinnace.framework.tensor import Array

# Seconds for all of them in pinnace, including compilations; elements of a long input.
_MOST_S = 5.0
_MOST_AXES = 64  # axes of a tensor
_ELEMENTS = 1 << 17
_LONG = 3  # the largest number of long inputs
# Kinds of empty inputs, for which runtimes have bugs of their own; see `checking.compare`.
EMPTY = frozenset({"no rows", "no elements"})


def corners_of(program: Program, runs: Sequence[Run]) -> Iterator[Run]:
    """Yield further runs, as many as the time allows.

    Args:
        program: the model.
        runs: runs on drawn inputs, which the model takes.
    """
    patience = Patience(min(_MOST_S, program.limit_s))
    began = time.perf_counter()
    for kind, arrays in _inputs(program, runs[-1].inputs):
        if time.perf_counter() - began > _MOST_S:
            return
        expected = patience.outcome(program, arrays)
        if expected is not None:
            yield Run(arrays, expected, kind=kind)


def _inputs(program: Program, drawn: list[Array]) -> Iterator[tuple[str, list[Array]]]:
    yield from _empty(program, drawn)
    if not searches(program.concrete.graph):
        yield from _long(program)
    is_real = [x.dtype.kind == "f" for x in drawn]
    for kind, number in (("zeros", 0), ("ones", 1)):
        if any(is_real):
            yield (
                kind,
                [np.full_like(x, number) if x.dtype.kind == "f" else x for x in drawn],
            )
        if any(x.dtype.kind in "iu" for x in drawn):
            yield (
                f"{kind} of integers",
                [np.full_like(x, number) if x.dtype.kind in "iu" else x for x in drawn],
            )
    if any(_is_sequence(x) for x in drawn):
        yield "padded", [_padded(x) if _is_sequence(x) else x for x in drawn]


def _empty(program: Program, drawn: list[Array]) -> Iterator[tuple[str, list[Array]]]:
    """Unknown first axes of size 0, then other unknown axes of size 0."""
    for kind, axes in (("no rows", range(1)), ("no elements", range(1, _MOST_AXES))):
        cut = [
            tuple(
                slice(0) if size is None and axis in axes else slice(None)
                for axis, size in enumerate(spec.shape)
            )
            for spec in program.inputs.values()
        ]
        if any(one.stop == 0 for slices in cut for one in slices):
            yield kind, [x[slices] for x, slices in zip(drawn, cut, strict=True)]


def _is_sequence(x: Array) -> bool:
    return x.dtype.kind in "fiu" and x.ndim > 1 and x.shape[1] > 1


def _padded(x: Array) -> Array:
    """Each row padded with zeros, from a different index on."""
    found = x.copy()
    for row in range(len(found)):
        found[row, (row + 1) % x.shape[1] :] = 0
    return found


def _long(program: Program) -> Iterator[tuple[str, list[Array]]]:
    """Unknown axes longer than the numbers in the graph, at first longer than all of them."""
    specs = list(program.inputs.values())
    if not any(None in spec.shape for spec in specs):
        return
    limits = limits_of(program.concrete.graph)
    sizes = [number + 1 for number in (limits[-1:] + limits[:1] + limits[len(limits) // 2 :][:1])]
    streams = streams_from(2)
    for size in list(dict.fromkeys(sizes))[:_LONG]:
        for batch, inner in ((size, size), (2, size), (size, 3)):
            counts = [
                int(np.prod([(inner if a else batch) if n is None else n for a, n in enumerate(s)]))
                for s in (list(spec.shape) for spec in specs)
            ]
            if max(counts, default=0) <= _ELEMENTS:
                yield "long", [draw(next(streams), spec, batch, inner) for spec in specs]
                break
