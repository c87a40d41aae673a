"""A cluster as something a plan can call."""

from __future__ import annotations

import math
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import compiler, kernel_text, totals
from pinnace.graph.graph import constant_of
from pinnace.ops.kernels import pieces, recycling, team
from pinnace.ops.kernels.addresses import address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.clusters import Cluster
    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Elements a thread is worth waking for, and what the columns of a thread are a multiple of.
_SHARED = 1 << 17
_LINE = 64
# Elements of a row up to which several rows are taken as one: to enter a row takes as long as some
# dozens of its numbers.
_WIDE = 512
# Pieces for each thread where pieces cost no Python: one that comes late finds others done.
_PIECES = 2
_WHOLE: Mapping[int, Array] = MappingProxyType({})


class Fused:
    """A cluster and its kernel, which may not be made yet.

    Args:
        cluster: what it computes.
        steps: of the plan it is part of.
        sizes: of the plan's values.
        checked: whether shapes may be others at another call; it then runs the steps one by one.
    """

    needs_blas = False

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
        self.kernel = compiler.request(kernel_text.text(cluster, steps, sizes))
        # Calls without Python between them, by what they depend on.
        self._jobs: dict[Any, tuple[pieces.Job, list[int]] | None] = {}
        self._rows, self._width = cluster.rows, cluster.width
        kinds = [cluster.kind(value, sizes) for value in cluster.inputs]
        self._forms = [
            self._form(kind, sizes[value])
            for kind, value in zip(kinds, cluster.inputs, strict=True)
        ]
        self._by_row = [kind in {"full", "column"} for kind in kinds]
        self._shapes = [sizes[value] for value in cluster.outputs]
        # Places of the outputs that are totals over all rows.
        self._totals = [n for n, value in enumerate(cluster.outputs) if value in cluster.totals]
        is_large = math.prod(cluster.shape) >= _SHARED
        self._shares = is_large and self._rows > 1
        # One row of independent numbers is cut anywhere; the total of a row is not.
        self._shares_columns = is_large and self._rows == 1 and cluster.split is None
        self._joined = self._rows_at_once(cluster, kinds, sizes)
        # What gives the kernel its inputs where several rows are taken as one.
        self._joined_forms = [
            self._joined_form(kind, form) for kind, form in zip(kinds, self._forms, strict=True)
        ]

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's outputs.

        Args:
            inputs: in the cluster's order.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        if self._expected is not None and [value.shape for value in inputs] != self._expected:
            return self._one_by_one(inputs)
        results = self._results(outs)
        arrays = [form(value) for form, value in zip(self._joined_forms, inputs, strict=True)]
        arrays += [result.reshape(-1) for result in results]
        kernel, joined = self.kernel.function, self._joined
        rows, width = self._rows // joined, self._width * joined
        assert kernel is not None  # noqa: S101 - a plan names only what is made
        threads = team.size() if self._shares or self._shares_columns else 1
        if self._totals:
            self._add_up(arrays, rows, width, threads)
        elif threads == 1:
            kernel(0, rows, width, *arrays)
        elif self._shares:
            self._share_rows(arrays, rows, width, threads)
        else:
            self._share_columns(arrays, threads)
        return results

    def _share_rows(self, arrays: list[Any], rows: int, width: int, threads: int) -> None:
        """Run the kernel, some rows in each thread."""
        kernel = self.kernel.function
        assert kernel is not None  # noqa: S101 - as above
        if self._offer(arrays, rows, width, -(-rows // (threads * _PIECES)), threads):
            return
        step = -(-rows // threads)

        def work(piece: int) -> None:
            kernel(piece * step, min(rows, (piece + 1) * step), width, *arrays)

        team.share(-(-rows // step), work, threads)

    def _offer(
        self,
        arrays: list[Any],
        rows: int,
        width: int,
        step: int,
        threads: int,
        parts: Mapping[int, Array] = _WHOLE,
    ) -> bool:
        """Run the kernel without Python between pieces of so many rows; False if it cannot be.

        Args:
            arrays: what the kernel takes.
            rows: of all.
            width: of a row.
            step: rows of a piece.
            threads: at most so many.
            parts: for places among the arrays, what each piece has instead, [pieces, width].
        """
        kernel = self.kernel.function
        assert kernel is not None  # noqa: S101 - as above
        if threads < 2 or not pieces.can_offer(kernel):
            return False
        given = [parts[n][0] if n in parts else one for n, one in enumerate(arrays)]
        whole = [one for one in given if isinstance(one, np.ndarray)]
        key = (threads, step, tuple([one.strides for one in whole]))
        found = self._jobs.get(key)
        if found is None:
            found = self._jobs[key] = self._job(given, rows, width, step, threads, parts)
        if found is None:
            return False
        job, indices = found
        addresses = [address_of(one) for one in whole]
        floats = [float(one) for one in given if not isinstance(one, np.ndarray)]
        job.run(zip(indices, addresses, strict=True), floats, wakes=True)
        return True

    def _job(
        self,
        given: list[Any],
        rows: int,
        width: int,
        step: int,
        threads: int,
        parts: Mapping[int, Array],
    ) -> tuple[pieces.Job, list[int]] | None:
        """The calls of `_offer`, and the indices in them of arrays' addresses."""
        kernel = self.kernel.function
        assert kernel is not None  # noqa: S101 - as above
        call, at = pieces.call_of(kernel, (0, rows, width, *given))
        if not call.fits():
            return None
        changes = [
            pieces.Change(False, at[0], step=step),
            pieces.Change(False, at[1], step, step, most=rows),
            *(
                pieces.Change(False, at[3 + place], step=part.strides[0])
                for place, part in parts.items()
            ),
        ]
        job = pieces.Job(call, -(-rows // step), changes, threads)
        changed = {place: job.of_change(2 + n) for n, place in enumerate(parts)}
        indices = [
            changed.get(n, job.of_call(at[3 + n]))
            for n, one in enumerate(given)
            if isinstance(one, np.ndarray)
        ]
        return job, indices

    def _rows_at_once(
        self, cluster: Cluster, kinds: Sequence[str], sizes: Mapping[Value, tuple[int, ...]]
    ) -> int:
        """How many rows the kernel takes as one: where none has a number of its own."""
        whole = all(
            value in cluster.totals or sizes[value] == cluster.shape for value in cluster.outputs
        )
        if cluster.reduces or not whole or not set(kinds) <= {"full", "row", "scalar"}:
            return 1
        joined = 1
        while self._width * joined * 2 <= _WIDE and self._rows % (2 * joined) == 0:
            joined *= 2
        return joined

    def _joined_form(self, kind: str, form: Callable[[Array], Any]) -> Callable[[Array], Any]:
        """What gives the kernel an input of this kind where several rows are taken as one."""
        joined = self._joined
        if joined > 1 and kind == "full":
            return partial(_matrix, rows=self._rows // joined, width=self._width * joined)
        return partial(_repeated, often=joined) if joined > 1 and kind == "row" else form

    def _add_up(self, arrays: list[Any], rows: int, width: int, threads: int) -> None:
        """Run the kernel part by part, each with totals of its own, and add these.

        Parts do not depend on threads, so neither do the totals.
        """
        step = totals.part_rows(rows)
        count = -(-rows // step)
        places = [len(self._forms) + n for n in self._totals]
        parts = [np.zeros((count, width), np.float32) for _ in places]
        added = dict(zip(places, parts, strict=True))
        if threads == 1 and count == 1:
            given = arrays.copy()
            for place, part in added.items():
                given[place] = part[0]
            kernel = self.kernel.function
            assert kernel is not None  # noqa: S101 - as above
            kernel(0, rows, width, *given)
        elif not self._offer(arrays, rows, width, step, threads, added):
            self._share_parts(arrays, rows, width, step, added, threads)
        for place, part in added.items():
            np.add.reduce(part.reshape(-1, self._width), axis=0, out=arrays[place])

    def _share_parts(
        self,
        arrays: list[Any],
        rows: int,
        width: int,
        step: int,
        parts: Mapping[int, Array],
        threads: int,
    ) -> None:
        kernel = self.kernel.function
        assert kernel is not None  # noqa: S101 - as above

        def work(piece: int) -> None:
            given = arrays.copy()
            for place, part in parts.items():
                given[place] = part[piece]
            kernel(piece * step, min(rows, (piece + 1) * step), width, *given)

        team.share(-(-rows // step), work, threads)

    def _share_columns(self, arrays: Sequence[Any], threads: int) -> None:
        """Run the kernel on the only row, some of its columns in each thread."""
        kernel, width, by_row = self.kernel.function, self._width, self._by_row
        assert kernel is not None  # noqa: S101 - as above
        step = -(-width // (threads * _LINE)) * _LINE

        def work(piece: int) -> None:
            part = slice(piece * step, min(width, (piece + 1) * step))
            given = [
                array[:, part] if is_full else array
                for array, is_full in zip(arrays, by_row, strict=False)
            ]
            outputs = [array[part] for array in arrays[len(by_row) :]]
            kernel(0, 1, part.stop - part.start, *given, *outputs)

        team.share(-(-width // step), work, threads)

    def bound(
        self, inputs: Sequence[Array | None], outs: Sequence[Array | None]
    ) -> tuple[tuple[Array, ...], Callable[[int, int, Mapping[int, Array]], None]]:
        """The outputs, and a function that fills their rows from `low` to `high`.

        Args:
            inputs: in the cluster's order; None for one that comes in blocks.
            outs: as for a call.

        Returns:
            The function's third argument holds the blocks of rows, by their place in the inputs.
        """
        results = self._results(outs)
        arrays = [
            None if value is None else form(value)
            for form, value in zip(self._forms, inputs, strict=True)
        ]
        flat = [result.reshape(-1) for result in results]
        kernel, width = self.kernel.function, self._width
        assert kernel is not None  # noqa: S101 - a plan names only what is made

        def run(low: int, high: int, blocks: Mapping[int, Array]) -> None:
            given = [
                blocks[place] if array is None else array[low:high] if by_row else array
                for place, (array, by_row) in enumerate(zip(arrays, self._by_row, strict=True))
            ]
            parts = [one[low * width : high * width] for one in flat]
            kernel(0, high - low, width, *given, *parts)

        return results, run

    @property
    def rows(self) -> int:
        """Rows of its values."""
        return self._rows

    @property
    def width(self) -> int:
        """Columns of its values."""
        return self._width

    @property
    def products(self) -> int:
        """Multiplications: none that counts."""
        return 0

    def prepared(
        self, inputs: Sequence[Array], outs: Sequence[Array | None]
    ) -> tuple[tuple[Array, ...], Callable[[int, int], None]]:
        """The outputs, and a function that fills their rows from one to another.

        Args:
            inputs: in the cluster's order; rows may be filled after this.
            outs: as for a call.
        """
        results, run = self.bound(inputs, outs)
        return results, lambda low, high: run(low, high, {})

    def _results(self, outs: Sequence[Array | None]) -> tuple[Array, ...]:
        return tuple(
            [
                recycling.empty(shape, np.float32) if out is None else out
                for shape, out in zip(self._shapes, outs, strict=True)
            ]
        )

    def _form(self, kind: str, size: tuple[int, ...]) -> Callable[[Array], Any]:
        """What gives the kernel an input of this kind and size."""
        if kind == "scalar":
            return _scalar
        if kind in {"full", "shared"}:
            rows = self._rows if kind == "full" else math.prod(size) // self._width
            return partial(_matrix, rows=rows, width=self._width)
        return _flat

    def _one_by_one(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.misses += 1
        values: dict[Value, Any] = dict(zip(self.cluster.inputs, inputs, strict=True))
        for node in self._nodes:
            # All are there but the axes of reductions, which are constants.
            arrays = [
                values[value] if value in values else constant_of(value) for value in node.inputs
            ]
            options = {name: node.attrs[name] for name in node.op.kernel_attrs}
            values[node.outputs[0]] = node.op.kernel(*arrays, **options)  # type: ignore[misc] # plans check it
        return tuple([np.asarray(values[value]) for value in self.cluster.outputs])


def _matrix(value: Array, *, rows: int, width: int) -> Array:
    """As rows that are contiguous each."""
    if value.ndim != 2 or len(value) != rows:
        value = value.reshape(rows, width)
    if value.strides[1] != value.itemsize or not value.flags.aligned:
        value = value.copy()
    return value


def _repeated(value: Array, *, often: int) -> Array:
    """A row, as often as rows are taken as one."""
    return np.concatenate([value.ravel()] * often)


def _scalar(value: Array) -> Any:
    return value.reshape(-1)[0]


def _flat(value: Array) -> Array:
    """In one row, as machine code reads it; weights in a mapped file may lie at any address."""
    flat = value.ravel()
    return flat if flat.flags.aligned else flat.copy()
