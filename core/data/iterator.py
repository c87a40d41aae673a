"""Iterators over datasets, with a position that can be saved."""

from __future__ import annotations

import itertools
import json
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import traced_iterator
from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import (
    Columns,
    Element,
    Nest,
    is_unpacked,
    leaf_array,
    leaves_of,
    packed,
    tensors_of,
)
from pinnace.data.optionals import Optional, optional_of
from pinnace.data.stage import Run, Stage, shown
from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeSpec, CompositeTensor
from pinnace.framework.context import state
from pinnace.framework.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, SymbolicTensor, Tensor, wrap
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import handle_of

if TYPE_CHECKING:
    from pinnace.ops.running import RunContext

Packer = Callable[[Element], Any]


def packer(stage: Stage, public: Callable[[Stage], Any]) -> Packer:
    """A function from leaves to the structure the user sees."""
    spec, leaves = stage.spec, stage.leaves

    def one(leaf: Any, leaf_spec: Any) -> Any:
        if isinstance(leaf_spec, DatasetSpec):
            return shown(leaf, public)
        return wrap(leaf_array(leaf), leaf_spec.dtype)

    plain = all(isinstance(leaf, TensorSpec) for leaf in leaves)
    if isinstance(spec, TensorSpec):
        kind = spec.dtype
        return lambda element: wrap(leaf_array(element[0]), kind)
    flat = is_unpacked(spec) and all(isinstance(part, TensorSpec) for part in spec)
    if flat and plain:
        kinds = [leaf.dtype for leaf in leaves]
        return lambda element: tuple(
            [wrap(leaf_array(leaf), kind) for leaf, kind in zip(element, kinds, strict=True)]
        )
    return lambda element: packed(
        spec, [one(leaf, leaf_spec) for leaf, leaf_spec in zip(element, leaves, strict=True)]
    )


def written_position(stage: Stage, run: Run, count: int) -> bytes:
    """A position in a pass, as JSON: number of elements so far, seeds drawn."""
    return json.dumps({"version": 1, "count": count, "seeds": run.bases(stage)}).encode()


def read_position(stage: Stage, position: bytes) -> tuple[Run, int]:
    """The pass of a saved position, and the number of its elements so far.

    Raises:
        DataLossError: the bytes are no position in a pass over such a stage.
    """
    try:
        value = json.loads(position)
        count = int(value["count"])
        version = int(value["version"])
        bases = [int(seed) for seed in value["seeds"]]
    except (ValueError, TypeError, KeyError) as error:
        raise DataLossError(f"the position of an iterator is damaged: {error}") from error
    if version != 1 or count < 0 or len(bases) != len(stage.seed_sources()):
        raise DataLossError(f"the position of an iterator is damaged: {value}")
    return Run(stage, bases), count


class SavedPosition(Trackable):
    """An iterator whose position a checkpoint contains."""

    def _position(self) -> bytes:
        raise NotImplementedError

    def _move_to(self, position: bytes) -> None:
        raise NotImplementedError

    def _serialize_to_tensors(self) -> dict[str, Any]:
        array = np.empty((), object)
        array[()] = self._position()
        return {"ITERATOR_STATE": wrap(array, dtypes.string)}

    def _restore_from_tensors(self, tensors: dict[str, Any]) -> None:
        self._move_to(bytes(np.asarray(tensors["ITERATOR_STATE"], object)[()]))


class Pass:
    """One pass over a stage: the elements for the user, their count, the seeds."""

    def __init__(self, stage: Stage, public: Callable[[Stage], Any]) -> None:
        self.stage = stage
        self._pack = packer(stage, public)
        self._lock = threading.Lock()
        # The iterator that ops read through this pass.
        self.owner: Callable[[], Any] = lambda: None
        self._begin(Run(stage), 0)

    def _begin(self, run: Run, skipped: int) -> None:
        self._run = run
        self.count = skipped
        # Tensors are created from whole blocks if there are blocks.
        self._blocks = self.stage.blocks(run) if not skipped else None
        self.ready: Iterator[Any] = iter(())
        if self._blocks is None:
            elements = self.stage.open(run)
            # Runs the pipeline without giving out elements.
            next(itertools.islice(elements, max(0, skipped - 1), skipped), None)
            self._single = map(self._pack, elements)

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        for element in self.ready:
            self.count += 1
            return element
        return self.refill()

    def refill(self) -> Any:
        """The next element, computed since none is buffered."""
        with self._lock:
            if self._blocks is None:
                element = next(self._single)
                self.count += 1
                return element
            while True:
                for element in self.ready:
                    self.count += 1
                    return element
                self.ready = iter(_tensors_of_block(next(self._blocks), self.stage))

    def position(self) -> bytes:
        """The position of this pass, as JSON: number of elements, seeds drawn."""
        with self._lock:
            return written_position(self.stage, self._run, self.count)

    def move_to(self, position: bytes) -> None:
        """Move to a saved position of a pass over the same stages.

        Raises:
            DataLossError: the bytes are no position.
        """
        run, count = read_position(self.stage, position)
        with self._lock:
            self._begin(run, count)

    def next_arrays(self, ctx: RunContext) -> tuple[Array, ...]:
        """The next element's leaves, for the op IteratorGetNext; OutOfRangeError after the last."""
        del ctx  # a pass is not part of the run that reads it
        for element in self:
            return tuple([np.asarray(leaf._array) for leaf in leaves_of(element)])
        raise OutOfRangeError("End of sequence")


class IteratorSpec(CompositeSpec):
    """The type of an iterator as an argument of a function: the spec of its elements.

    Args:
        element_spec: the structure of the elements, with a spec at each leaf.
    """

    __slots__ = ("element_spec",)

    def __init__(self, element_spec: Nest) -> None:
        self.element_spec = element_spec

    @property
    def value_type(self) -> type:
        """`Iterator`."""
        return DatasetIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self.element_spec,)

    def __hash__(self) -> int:
        return hash((IteratorSpec, tuple(leaves_of(self.element_spec))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IteratorSpec) and bool(self.element_spec == other.element_spec)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The spec of the resource by which ops read the iterator."""
        return (TensorSpec.of(Shape(()), dtypes.resource),)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The iterator's resource."""
        return (value.handle,)

    def from_components(self, components: Sequence[Any]) -> Any:
        """The iterator of a resource."""
        (handle,) = components
        if isinstance(handle, SymbolicTensor):
            return traced_iterator.TracedIterator(handle, self.element_spec)
        held = np.asarray(handle._array)[()]
        if not isinstance(held, Pass):
            raise InvalidArgumentError(f"IteratorSpec: the resource is not an iterator: {held!r}")
        return held.owner()


class DatasetIterator(SavedPosition, CompositeTensor):
    """One pass over a dataset.

    A `train.Checkpoint` that contains it saves its position: the number of elements so far, and the
    seeds of shuffles. Restoring runs the pipeline up to that position, at the cost of computing
    those elements; stateful sources (generators, files that change) must produce the same elements
    again.
    """

    def __init__(self, stage: Stage, public: Callable[[Stage], Any], element_spec: Nest) -> None:
        self._pass = Pass(stage, public)
        self._spec = element_spec
        self._leaves = stage.leaves
        self._handle: Tensor | None = None

    @property
    def element_spec(self) -> Nest:
        """The structure of the elements, with a spec at each leaf."""
        return self._spec

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        if state.tracer is not None:
            return self._traced_next()
        # Written out: this is the inner loop of every `for`.
        now = self._pass
        for element in now.ready:
            now.count += 1
            return element
        return now.refill()

    def get_next(self) -> Any:
        """The next element; OutOfRangeError after the last."""
        if state.tracer is not None:
            return self._traced_next()
        for element in self._pass:
            return element
        raise OutOfRangeError("End of sequence")

    next = get_next

    def get_next_as_optional(self) -> Optional:
        """The next element, or an empty Optional."""
        if state.tracer is not None:
            return optional_of(self.handle, self._spec)
        for element in self._pass:
            return Optional(self._spec, element, True)
        return Optional(self._spec, None, False)

    @property
    def spec(self) -> IteratorSpec:
        """The spec of the iterator as a function's argument."""
        return IteratorSpec(self._spec)

    @property
    def handle(self) -> Tensor:
        """The resource by which ops read this iterator."""
        if self._handle is None:
            self._pass.owner = weakref.ref(self)
            self._handle = handle_of(self._pass)
        return self._handle

    def _traced_next(self) -> Any:
        return traced_iterator.traced_next(self.handle, self._spec)

    def _position(self) -> bytes:
        return self._pass.position()

    def _move_to(self, position: bytes) -> None:
        self._pass.move_to(position)

    def __repr__(self) -> str:
        return f"<DatasetIterator {self._spec}>"


def _tensors_of_block(block: Columns, stage: Stage) -> Iterable[Any]:
    """The rows of a block in the structure the user sees."""
    spec, leaves = stage.spec, stage.leaves
    columns = [tensors_of(column, leaf.dtype) for column, leaf in zip(block, leaves, strict=True)]
    if isinstance(spec, TensorSpec):
        return columns[0]
    rows = zip(*columns, strict=True)
    if is_unpacked(spec) and all(isinstance(part, TensorSpec) for part in spec):
        return rows
    return (packed(spec, row) for row in rows)
