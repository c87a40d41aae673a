"""A network as a region that a plan can call."""

from __future__ import annotations

import itertools
import threading
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen import kernels
from pinnace.engine.networks import fields
from pinnace.engine.networks.blocks import BlockSizes, blocks_of, whole_of
from pinnace.engine.networks.folding import folding_of
from pinnace.engine.networks.layers import image_of
from pinnace.engine.networks.memory import Bordered, Memory
from pinnace.engine.networks.steady import Evaluation
from pinnace.engine.networks.table import Table, products_of
from pinnace.engine.networks.weighing import Packed, pack
from pinnace.engine.networks.winograd_row import is_tiled
from pinnace.engine.source import locate
from pinnace.engine.steps import run_node
from pinnace.engine.versions import Versions
from pinnace.framework import config
from pinnace.framework.process_effects import collector_paused
from pinnace.ops.kernels import lending, mailbox, team, weights
from pinnace.ops.kernels.addresses import address_of
from pinnace.ops.kernels.poison import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.networks.layers import Image, Layer
    from pinnace.engine.networks.reading import Reader
    from pinnace.engine.steps import PlainPart
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Workspaces kept for concurrent calls; most bytes of those beyond the first.
_SPARE, _MOST_SPARE_BYTES = 4, 1 << 28
# Number of timed runs of each row.
_PASSES = 5
# A helper's initial state, before it is offered a table.
_NO_ROWS = np.zeros((0, 1), np.int64)


class _Form(NamedTuple):
    """A network for one version of its variables.

    Attributes:
        versions: the versions of the variables.
        table: its table.
        packed: the weights that its addresses point to.
        threads: number of threads that run the table together.
        wakes: whether it has enough work to wake helpers.
        doubtful: outputs that folding may have given NaNs; see `folding`.
        follow: the loop of an awake helper; see `team.Offer`.
    """

    versions: Versions
    table: Table
    packed: Sequence[Packed | None]
    threads: int
    wakes: bool
    doubtful: Sequence[int]
    follow: Callable[[Array, int], int]


class _Workspace:
    """The memory of one call: the arena, and the table with its addresses.

    Args:
        form: the form that is run.
        size: the arena's size in numbers.
        tensors: number of inputs that are tensors.
        kernel: the function that runs the table.
    """

    def __init__(self, form: _Form, size: int, tensors: int, kernel: Callable[..., int]) -> None:
        self.form = form
        self.arena = weights.empty((size,))
        self.rows = form.table.rows.copy()
        self.tensors = form.table.tensors.copy()
        lines = 1 + len(self.rows) * (form.threads + 1)
        self.counters = np.zeros(lines * fields.LINE, np.int64)
        lead = partial(_lead, kernel, form, self.rows, self.tensors, self.counters)
        self.offer = team.Offer(lead, form.follow)
        # For each address of an input or output: table, row, column; its index; offset in it.
        self._outside: list[tuple[Array, int, int, int, int]] = []
        begin = self.arena.ctypes.data
        for table, row, column, storage, offset in form.table.patches:
            target = self.tensors if table else self.rows
            if storage.where == "arena":
                target[row, column] = begin + 4 * (storage.number + offset)
            else:
                number = storage.number + (0 if storage.where == "input" else tensors)
                self._outside.append((target, row, column, number, 4 * offset))

    def point(self, begins: Sequence[int]) -> None:
        """Set the addresses of inputs and outputs."""
        for target, row, column, number, offset in self._outside:
            target[row, column] = begins[number] + offset


class Network:
    """Many steps of a plan as one call.

    Args:
        reader: the layers, read to their end.
        part: the steps; its inputs are tensors, followed by the variables of its weights.
        tensors: number of inputs that are tensors; the others are variables.
        sizes: the shapes of values.
        products: multiplications of its products with weights.

    Attributes:
        products: as given.
        blocks: number of blocks of the batch, each run by one thread; 1 if threads run it together.
    """

    # Shapes are always as expected.
    misses = 0

    def __init__(
        self, reader: Reader, part: PlainPart, tensors: int, sizes: Sizes, products: int = 0
    ) -> None:
        self.cluster = part
        self.products = products
        self._kernel = kernels.function(fields.KERNEL)
        self._tensors = tensors
        self._sizes = sizes
        self._shapes = [sizes[value] for value in part.outputs]
        given = part.inputs[:tensors]
        self.blocks = blocks_of(reader, given, team.size())
        whole = whole_of(reader)
        self._block_sizes = BlockSizes(sizes, self.blocks, whole) if self.blocks > 1 else sizes
        # For each input and output, whether each block has a part of it.
        self._parted = [value not in whole for value in (*given, *part.outputs)]
        self._memory = Memory(reader, given, part.outputs, self._block_sizes)
        # Outputs that are views of other outputs.
        first: dict[Value, int] = {}
        for number, value in enumerate(part.outputs):
            first.setdefault(reader.root(value), number)
        roots = [first[reader.root(value)] for value in part.outputs]
        self._same = [(number, same) for number, same in enumerate(roots) if same != number]
        # Values that its layers do not read because they read their inputs instead.
        self.passed = frozenset(reader.passed)
        self._lookups = [
            layer
            for layer in reader.layers
            if layer.indices is not None and layer.indices.outside == "REFUSED"
        ]
        self._lock = threading.Lock()
        self._form: _Form | None = None
        self._exact: _Form | None = None
        self._spare: list[_Workspace] = []

    @property
    def layers(self) -> Sequence[Layer]:
        """The rows of the table, in order."""
        return self._memory.layers

    def image(self, value: Value | Bordered) -> Image:
        """The sizes of a layer's input or output."""
        return image_of(self._sizes[value.of if isinstance(value, Bordered) else value])

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> Sequence[Array]:
        """The outputs of the network.

        Args:
            inputs: the part's inputs.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        return self._call(inputs, outs, self._run)

    def row_seconds(self, inputs: Sequence[Array]) -> list[float]:
        """The median time of each row over several runs, row by row, whose results are discarded.

        Args:
            inputs: the part's inputs.
        """
        passes: list[list[float]] = []
        outs = [None] * len(self.cluster.outputs)
        at_once = min(team.size(), self.blocks)
        blocks: list[list[float]] = []
        for _ in range(_PASSES):
            blocks.clear()
            self._call(inputs, outs, lambda workspace: blocks.append(self._run_by_rows(workspace)))
            passes.append([sum(row) / at_once for row in zip(*blocks, strict=True)])
        # The median of each row: threads also wait for the GIL in between.
        return [sorted(row)[_PASSES // 2] for row in zip(*passes, strict=True)]

    def _call(
        self,
        inputs: Sequence[Array],
        outs: Sequence[Array | None],
        run: Callable[[_Workspace], None],
    ) -> Sequence[Array]:
        given = [_readable(array) for array in inputs[: self._tensors]]
        variables = inputs[self._tensors :]
        form = self._form
        if form is None or not form.versions.are_those_of(variables):
            form = self._form_for(variables)
        results = [
            np.empty(shape, np.float32) if out is None else out
            for shape, out in zip(self._shapes, outs, strict=True)
        ]
        self._run_form(form, inputs, (*given, *results), run)
        if form.doubtful and any(np.isnan(results[number]).any() for number in form.doubtful):
            self._run_form(self._exact_for(variables, form), inputs, (*given, *results), run)
        for number, same in self._same:
            results[number][...] = results[same].reshape(results[number].shape)
        return results

    def _run_form(
        self,
        form: _Form,
        inputs: Sequence[Array],
        arrays: Sequence[Array],
        run: Callable[[_Workspace], None],
    ) -> None:
        """Compute the results.

        Args:
            form: the form to run.
            inputs: the part's inputs.
            arrays: the tensors and the results, C-contiguous.
            run: runs the table of a workspace.
        """
        begins = [address_of(array) for array in arrays]
        if self.blocks == 1:
            if self._walk(form, begins, run):
                self._refuse(inputs)
        else:
            steps = [
                array.nbytes // self.blocks if parted else 0
                for array, parted in zip(arrays, self._parted, strict=True)
            ]

            def work(block: int) -> None:
                own = [begin + block * step for begin, step in zip(begins, steps, strict=True)]
                self._walk(form, own, run)

            team.share(self.blocks, work, threads=team.size())

    def _walk(self, form: _Form, begins: Sequence[int], run: Callable[[_Workspace], None]) -> bool:
        """Run the table; returns whether an index was out of range."""
        workspace = self._lend(form)
        workspace.point(begins)
        run(workspace)
        refused = bool(self._lookups) and workspace.counters[0] > 0
        self._keep(workspace)
        return refused

    def _refuse(self, inputs: Sequence[Array]) -> None:
        """Raise an error with the index that is out of range, and its node."""
        given = dict(zip(self.cluster.inputs, inputs, strict=True))
        steady = Evaluation(given)
        for layer in sorted(self._lookups, key=lambda one: one.place):
            arrays = [
                given[value] if value in given else steady.of(value) for value in layer.node.inputs
            ]
            try:
                run_node(layer.node, arrays)
            except Exception as error:
                locate(error, layer.node)
                raise

    def _run(self, workspace: _Workspace) -> None:
        form = workspace.form
        workspace.counters.fill(0)
        if config.settings.poison:
            fill(workspace.arena)
        team.offer(workspace.offer, form.threads, wakes=form.wakes)

    def _run_by_rows(self, workspace: _Workspace) -> list[float]:
        """Seconds per row, with all threads on one row at a time."""
        form = workspace.form
        kernel = self._kernel
        step = (form.threads + 2) * fields.LINE
        counters = np.zeros(len(workspace.rows) * step, np.int64)
        stamps: list[list[float]] = [[] for _ in range(form.threads)]

        def work(piece: int) -> None:
            table = lending.lend("table", form.table.scratch, np.int64)
            registers = lending.lend("registers", form.table.room, np.float32)
            stamps[piece].append(perf_counter())
            for row in range(len(workspace.rows)):
                kernel(
                    workspace.rows[row : row + 1],
                    form.table.programs,
                    workspace.tensors,
                    counters[row * step : (row + 1) * step],
                    table,
                    registers,
                    piece,
                    form.threads,
                    mailbox.NONE,
                )
                stamps[piece].append(perf_counter())

        team.share(form.threads, work, threads=form.threads)
        # Threads leave a row when it is finished: the first to leave gives its end.
        ends = [min(one) for one in zip(*stamps, strict=True)]
        return [after - before for before, after in itertools.pairwise(ends)]

    def _lend(self, form: _Form) -> _Workspace:
        try:
            workspace = self._spare.pop()
        except IndexError:
            workspace = None
        if workspace is None or workspace.form is not form:
            workspace = _Workspace(form, self._memory.size, self._tensors, self._kernel)
        return workspace

    def _keep(self, workspace: _Workspace) -> None:
        kept = len(self._spare)
        is_few = not kept or kept < max(_SPARE, team.size())
        fits = 4 * self._memory.size * kept <= _MOST_SPARE_BYTES
        if workspace.form is self._form and is_few and fits:
            self._spare.append(workspace)

    def _form_for(self, variables: Sequence[Array]) -> _Form:
        """The table for the current versions of the variables."""
        versions = Versions(variables)
        with self._lock, collector_paused():
            form = self._form
            if form is None or form.versions.key != versions.key:
                form = self._form = self._made(variables, versions)
                self._spare.clear()
        return form

    def _exact_for(self, variables: Sequence[Array], form: _Form) -> _Form:
        """The table for the same variables, without folded pixels."""
        with self._lock:
            if self._exact is None or self._exact.versions.key != form.versions.key:
                self._exact = self._made(variables, form.versions, is_exact=True)
            return self._exact

    def _made(
        self, variables: Sequence[Array], versions: Versions, *, is_exact: bool = False
    ) -> _Form:
        handles = self.cluster.inputs[self._tensors :]
        steady = Evaluation(dict(zip(handles, variables, strict=True)))
        packed = [
            self._packed(layer, steady, versions, is_exact) if layer.is_product else None
            for layer in self._memory.layers
        ]
        products = products_of(self._memory, packed)
        together = self.blocks == 1 and products >= team.WORTH_OFFERING
        threads = team.size() if together else 1
        table = Table(self._memory, packed, self._block_sizes.__getitem__, steady.of, threads)
        wakes = products >= team.WORTH_PRODUCTS
        doubtful = [
            self._memory.of(layer.out).number
            for layer, one in zip(self._memory.layers, packed, strict=True)
            if one is not None and one.folded > 1
        ]
        follow = _follower(self._kernel, table)
        return _Form(versions, table, packed, threads, wakes, doubtful, follow)

    def _packed(
        self, layer: Layer, steady: Evaluation, versions: Versions, is_exact: bool
    ) -> Packed:
        tiled = is_tiled(layer, self._memory)
        folded = 1 if tiled or is_exact else folding_of(layer, self._memory)
        return pack(layer, steady, versions.key, is_tiled=tiled, folded=folded)


def _lead(
    kernel: Callable[..., int],
    form: _Form,
    rows: Array,
    tensors: Array,
    counters: Array,
    box: Array,
) -> None:
    """Run a table, and offer it to helpers if there is a mailbox."""
    table = form.table
    kernel(
        rows,
        table.programs,
        tensors,
        counters,
        # Exactly the memory it needs: helpers must have as much.
        lending.lend("table", table.scratch, np.int64)[: table.scratch],
        lending.lend("registers", table.room, np.float32)[: table.room],
        0,
        form.threads,
        box,
    )


def _follower(kernel: Callable[..., int], table: Table) -> Callable[[Array, int], int]:
    """The loop of an awake helper: it runs tables that need no more memory than this one."""
    scratch, room = table.scratch, table.room

    def follow(box: Array, number: int) -> int:
        own = lending.lend("table", scratch, np.int64)
        registers = lending.lend("registers", room, np.float32)
        return kernel(_NO_ROWS, _NO_ROWS, _NO_ROWS, mailbox.NONE, own, registers, number, 0, box)

    return follow


def _readable(array: Array) -> Array:
    """The array in the form that machine code reads; NumPy scalars become arrays."""
    if not isinstance(array, np.ndarray):
        return np.asarray(array)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return array.copy()
