"""Iterators over datasets: one pass, whose position can be saved."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pinnace.data.elements import (
    Columns,
    DatasetSpec,
    Element,
    Nest,
    is_unpacked,
    leaf_array,
    tensors_of,
)
from pinnace.data.stage import Run, Stage
from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, Tensor, wrap
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import handle_of
from pinnace.ops.dataset import iterators

Packer = Callable[[Element], Any]


def packer(stage: Stage, public: Callable[[Stage], Any]) -> Packer:
    """A function from leaves to the structure the user sees."""
    spec, leaves = stage.spec, stage.leaves

    def one(leaf: Any, leaf_spec: Any) -> Any:
        if isinstance(leaf_spec, DatasetSpec):
            return public(leaf)
        return wrap(leaf_array(leaf), leaf_spec.dtype)

    plain = all(isinstance(leaf, TensorSpec) for leaf in leaves)
    if isinstance(spec, TensorSpec):
        kind = spec.dtype
        return lambda element: wrap(leaf_array(element[0]), kind)
    if is_unpacked(spec) and plain and len(spec) == len(leaves):
        kinds = [leaf.dtype for leaf in leaves]
        return lambda element: tuple(
            [wrap(leaf_array(leaf), kind) for leaf, kind in zip(element, kinds, strict=True)]
        )
    return lambda element: structure.pack_sequence_as(
        spec, [one(leaf, leaf_spec) for leaf, leaf_spec in zip(element, leaves, strict=True)]
    )


class Pass:
    """One pass over a stage: its elements as the user sees them, their count, their seeds."""

    def __init__(self, stage: Stage, public: Callable[[Stage], Any]) -> None:
        self.stage = stage
        self._pack = packer(stage, public)
        self._lock = threading.Lock()
        self._begin(Run(stage), 0)

    def _begin(self, run: Run, skipped: int) -> None:
        self._run = run
        self.count = skipped
        # Tensors are made of whole blocks where there are blocks.
        self._blocks = self.stage.blocks(run) if not skipped else None
        self.ready: Iterator[Any] = iter(())
        if self._blocks is None:
            elements = self.stage.open(run)
            # Runs the pipeline without handing anything out.
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
        """The next element, when none is ready."""
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
        """Where this pass is, as JSON: elements given, seeds drawn."""
        with self._lock:
            seeds = self._run.bases(self.stage)
            return json.dumps({"version": 1, "count": self.count, "seeds": seeds}).encode()

    def move_to(self, position: bytes) -> None:
        """Go to where another pass over the same stages was.

        Raises:
            DataLossError: these bytes are no position.
        """
        try:
            value = json.loads(position)
            count = int(value["count"])
            version = int(value["version"])
            bases = [int(seed) for seed in value["seeds"]]
        except (ValueError, TypeError, KeyError) as error:
            raise DataLossError(f"the position of an iterator is damaged: {error}") from error
        if version != 1 or count < 0 or len(bases) != len(self.stage.seed_sources()):
            raise DataLossError(f"the position of an iterator is damaged: {value}")
        with self._lock:
            self._begin(Run(self.stage, bases), count)

    def next_arrays(self) -> tuple[Array, ...]:
        """The next element's leaves, for the op IteratorGetNext; OutOfRangeError after the last."""
        for element in self:
            return tuple([np.asarray(leaf._array) for leaf in structure.flatten(element)])
        raise OutOfRangeError("End of sequence")


class DatasetIterator(Trackable):
    """One pass over a dataset.

    A `train.Checkpoint` that holds it saves its position: how many elements it has given, and the
    seeds that shuffles have drawn. Restoring runs the pipeline forward to that place, which costs
    what making those elements costs; stateful sources (generators, files that change) must give
    what they gave.
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
        for element in self._pass:
            return Optional(self._spec, element, True)
        return Optional(self._spec, None, False)

    @property
    def handle(self) -> Tensor:
        """The resource by which ops read this iterator."""
        if self._handle is None:
            self._handle = handle_of(self._pass)
        return self._handle

    def _traced_next(self) -> Any:
        for leaf in self._leaves:
            if not isinstance(leaf, TensorSpec):
                raise TypeError(f"an iterator in a function must give tensors, gives {leaf}")
        tensors = iterators.iterator_get_next(
            self.handle,
            [leaf.dtype for leaf in self._leaves],
            [leaf.shape for leaf in self._leaves],
        )
        return structure.pack_sequence_as(self._spec, tensors)

    def _serialize_to_tensors(self) -> dict[str, Any]:
        array = np.empty((), object)
        array[()] = self._pass.position()
        return {"ITERATOR_STATE": wrap(array, dtypes.string)}

    def _restore_from_tensors(self, tensors: dict[str, Any]) -> None:
        self._pass.move_to(bytes(np.asarray(tensors["ITERATOR_STATE"], object)[()]))

    def __repr__(self) -> str:
        return f"<DatasetIterator {self._spec}>"


class Optional:
    """An element, or nothing.

    Args:
        element_spec: of the element.
        value: the element.
        present: whether there is one.
    """

    def __init__(self, element_spec: Nest, value: Any, present: bool) -> None:
        self._spec = element_spec
        self._value = value
        self._present = present

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An Optional with a value."""
        from pinnace.data.elements import normalised, spec_of

        made = normalised(value)
        return Optional(structure.map_structure(spec_of, made), made, True)

    @staticmethod
    def empty(element_spec: Nest) -> Optional:
        """An Optional without one."""
        return Optional(element_spec, None, False)

    @property
    def element_spec(self) -> Nest:
        """The spec of the element."""
        return self._spec

    def has_value(self) -> Tensor:
        """Whether there is a value."""
        return wrap(np.array(self._present))

    def get_value(self) -> Any:
        """The value; InvalidArgumentError if there is none."""
        if not self._present:
            raise InvalidArgumentError("Optional: there is no value")
        return self._value

    def __repr__(self) -> str:
        return f"<Optional {self._value if self._present else 'empty'}>"


def _tensors_of_block(block: Columns, stage: Stage) -> Iterable[Any]:
    """The rows of a block in the structure the user sees."""
    spec, leaves = stage.spec, stage.leaves
    columns = [tensors_of(column, leaf.dtype) for column, leaf in zip(block, leaves, strict=True)]
    if isinstance(spec, TensorSpec):
        return columns[0]
    rows = zip(*columns, strict=True)
    if is_unpacked(spec) and len(spec) == len(leaves):
        return rows
    return (structure.pack_sequence_as(spec, row) for row in rows)
