"""A cluster as a region that a plan can call."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import block_programs, kernels, totals
from pinnace.engine.codegen.cluster_programs import program_of
from pinnace.engine.steps import run_step
from pinnace.ops.kernels import lending, pieces, recycling, team
from pinnace.ops.kernels.addresses import address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.clusters import Cluster
    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Elements from which waking a thread pays off; alignment of a thread's columns.
_SHARED = 1 << 17
_LINE = 64
# Pieces per thread if pieces are dispatched without Python: a late thread finds them done.
_PIECES = 2
# Rows of a piece without totals.
_ALL = 1 << 62


class Fused:
    """A cluster and its program.

    Args:
        cluster: the cluster to compute.
        steps: the plan's steps.
        sizes: the shapes of the plan's values.
        checked: whether shapes may differ at a later call; it then runs the steps one by one.
    """

    def __init__(
        self,
        cluster: Cluster,
        steps: Sequence[Step],
        sizes: Mapping[Value, tuple[int, ...]],
        checked: bool,
    ) -> None:
        self.misses = 0
        self._expected = [sizes[value] for value in cluster.inputs] if checked else None
        self._nodes = [steps[place].node for place in cluster.members]
        self.cluster = cluster
        self._kernel = kernels.function(block_programs.NAME)
        # By threads and rows or columns per piece: the job of these pieces, and the indices of the
        # addresses that change with each call, of the operands and of the first thread's registers.
        self._jobs: dict[tuple[int, int], tuple[pieces.Job, int, int]] = {}
        kinds = [cluster.kind(value, sizes) for value in cluster.inputs]
        joined = cluster.rows_at_once(sizes)
        self._program = program_of(cluster, steps, sizes, joined)
        self._rows, self._width = cluster.rows // joined, cluster.width * joined
        # Conversions of the kernel's inputs.
        self._forms = [
            self._form(kind, value, sizes, joined)
            for kind, value in zip(kinds, cluster.inputs, strict=True)
        ]
        # Inputs that may have a row stride.
        self._apart = [n for n, kind in enumerate(kinds) if kind in {"full", "shared"}]
        self._shapes = [sizes[value] for value in cluster.outputs]
        # The number of arrays that are prefetched for a block, including outputs.
        self._arrays = len(cluster.inputs) + len(cluster.outputs)
        # Indices of the outputs that are totals over all rows, and the rows of a partial sum: these
        # do not depend on threads, so neither do totals.
        self._totals = [n for n, value in enumerate(cluster.outputs) if value in cluster.totals]
        self._each = totals.part_rows(self._rows) if self._totals else _ALL
        self._of_total = cluster.width
        is_large = math.prod(cluster.shape) >= _SHARED
        self._shares = is_large and cluster.rows > 1
        # A row of independent numbers can be split anywhere; the reduction of a row cannot.
        self._shares_columns = is_large and cluster.rows == 1 and cluster.split is None

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's outputs.

        Args:
            inputs: the inputs, in the cluster's order.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        if self._expected is not None and [value.shape for value in inputs] != self._expected:
            return self._one_by_one(inputs)
        results = self._results(outs)
        arrays = [form(value) for form, value in zip(self._forms, inputs, strict=True)]
        written = list(results)
        for n in self._totals:
            parts = -(-self._rows // self._each)
            written[n] = np.zeros((parts, self._width), np.float32)
        operands = self._program.operands.copy()
        for n in self._apart:
            operands[n, 1] = operands[n, 2] = arrays[n].strides[0]
        addresses = [address_of(array) for array in arrays]
        addresses += [address_of(array) for array in written]
        operands[: len(addresses), 0] = addresses
        threads = team.size() if self._shares or self._shares_columns else 1
        if threads == 1:
            self._run(operands, 0, self._rows, 0, self._width)
        else:
            self._share(operands, threads)
        for n in self._totals:
            np.add.reduce(
                written[n].reshape(-1, self._of_total), axis=0, out=results[n].reshape(-1)
            )
        return results

    def _run(self, operands: Array, start: int, stop: int, first: int, last: int) -> None:
        """Run on some rows, or some columns of them."""
        program = self._program
        memory = lending.lend("blocks", program.memory, np.float32)
        each, block, some = self._each, program.block, program.some
        tables = program.sections, program.lines, operands
        self._kernel(start, stop, first, last, each, block, some, self._arrays, *tables, memory)

    def _share(self, operands: Array, threads: int) -> None:
        """Run on all rows, or all columns of the only row, in pieces that threads share."""
        by_rows = self._shares
        can_offer = pieces.can_offer(self._kernel)
        whole = self._rows if by_rows else self._width
        least = _LINE if not by_rows else self._each if self._totals else 1
        step = -(-whole // (threads * (_PIECES if can_offer else 1)))
        step = -(-step // least) * least
        if can_offer:
            key = threads, step
            found = self._jobs.get(key)
            if found is None:
                found = self._jobs[key] = self._job(operands, step, threads)
            memory = lending.lend("blocks", self._program.memory * threads, np.float32)
            job, *places = found
            addresses = address_of(operands), address_of(memory)
            job.run(zip(places, addresses, strict=True), wakes=True)
            return

        def work(piece: int) -> None:
            part = piece * step, min(whole, (piece + 1) * step)
            if by_rows:
                self._run(operands, *part, 0, self._width)
            else:
                self._run(operands, 0, 1, *part)

        team.share(-(-whole // step), work, threads)

    def _job(self, operands: Array, step: int, threads: int) -> tuple[pieces.Job, int, int]:
        """The job of calls for pieces of this many rows or columns."""
        program = self._program
        memory = np.empty(program.memory, np.float32)
        sizes = self._each, program.block, program.some, self._arrays
        numbers = 0, self._rows, 0, self._width, *sizes
        tables = program.sections, program.lines, operands, memory
        call, at = pieces.call_of(self._kernel, (*numbers, *tables))
        begin = 0 if self._shares else 2
        whole = numbers[begin + 1]
        changes = [
            pieces.Change(False, at[begin], step=step),
            pieces.Change(False, at[begin + 1], step, step, most=whole),
            pieces.Change(False, at[-1], own=memory.nbytes),
        ]
        job = pieces.Job(call, -(-whole // step), changes, threads)
        return job, job.of_call(at[-2]), job.of_change(2)

    def _results(self, outs: Sequence[Array | None]) -> tuple[Array, ...]:
        return tuple(
            [
                recycling.empty(shape, np.float32) if out is None else out
                for shape, out in zip(self._shapes, outs, strict=True)
            ]
        )

    def _form(
        self, kind: str, value: Value, sizes: Mapping[Value, tuple[int, ...]], joined: int
    ) -> Callable[[Array], Array]:
        """The conversion of an input of this kind."""
        if kind == "full":
            return partial(_matrix, rows=self._rows, width=self._width)
        if kind == "row" and joined > 1:
            return partial(_repeated, rows=1, often=joined)
        if kind != "shared":
            return flat
        rows = math.prod(sizes[value]) // self.cluster.width
        if joined > 1 and self.cluster.repetition(value, sizes)[1] == 1:
            return partial(_repeated, rows=rows, often=joined)
        return partial(_matrix, rows=rows // joined, width=self._width)

    def _one_by_one(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.misses += 1
        values: dict[Value, Any] = dict(zip(self.cluster.inputs, inputs, strict=True))
        for node in self._nodes:
            run_step(node, values)
        return tuple([values[value] for value in self.cluster.outputs])


def _matrix(value: Array, *, rows: int, width: int) -> Array:
    """The value as a matrix with contiguous rows."""
    if value.ndim != 2 or len(value) != rows:
        value = value.reshape(rows, width)
    if value.strides[1] != value.itemsize or not value.flags.aligned:
        value = value.copy()
    return value


def _repeated(value: Array, *, rows: int, often: int) -> Array:
    """Rows that are each repeated, to fit joined rows."""
    return np.tile(value.reshape(rows, -1), (1, often))


def flat(value: Array) -> Array:
    """The value flattened, in the form that machine code reads; mapped weights may be unaligned."""
    found = np.asarray(value).ravel()
    return found if found.flags.aligned else found.copy()
