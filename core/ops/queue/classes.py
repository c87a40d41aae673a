"""`tf.queue`: queues as objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes as _dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape, TensorShape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.framework.variable import handle_of
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.queue import ops
from pinnace.ops.queue.state import PaddingQueue, Queue, ShuffleQueue
from pinnace.ops.queue.state import PriorityQueue as _Priority
from pinnace.ops.random.seeds import get_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.ops.opdef import OpDef


class QueueBase:
    """The base class of all queues; create one of the classes below.

    Calls that enqueue wait for room, calls that dequeue wait for elements, both in order of
    arrival; another thread must provide them. Inside `tf.function` they are ops that run in order.

    Args:
        dtypes: dtypes of the components of an element.
        shapes: shapes of the components; None if they are not the same for all elements.
        names: names of the components: elements are dicts then.
        queue_ref: the handle of the queue.
    """

    def __init__(
        self, dtypes: Sequence[Any], shapes: Sequence[Any] | None, names: Any, queue_ref: Tensor
    ) -> None:
        self._dtypes = [_dtypes.as_dtype(kind) for kind in dtypes]
        given = [Shape(None)] * len(self._dtypes) if shapes is None else list(shapes)
        if len(given) != len(self._dtypes):
            raise ValueError(
                f"queue: there must be a shape for each dtype, got {len(given)} shapes and "
                f"{len(self._dtypes)} dtypes"
            )
        self._shapes = [TensorShape(shape) for shape in given]
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue at a place of a list.

        Args:
            index: a scalar integer that is known.
            queues: queues of the same dtypes and names.

        Raises:
            TypeError: no list of queues.
            ValueError: queues that differ.
        """
        if (
            not queues
            or not isinstance(queues, list)
            or not all(isinstance(queue, QueueBase) for queue in queues)
        ):
            raise TypeError("A list of queues expected")
        chosen: QueueBase = queues[int(np.asarray(index))]
        if any((q.dtypes, q.names) != (chosen.dtypes, chosen.names) for q in queues):
            raise TypeError("Queues do not have matching component dtypes and names.")
        return chosen

    @property
    def queue_ref(self) -> Tensor:
        """The handle that ops take."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name in error messages."""
        queue: Queue = np.asarray(self._queue_ref._array)[()]  # type: ignore[assignment]  # an object
        return queue.name

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components; None if elements are not dicts."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None) -> None:
        """Add an element; waits while the queue is full.

        Args:
            vals: a tensor, a list or tuple of them, or a dict if the components have names.
            name: name of the node while tracing.

        Raises:
            CancelledError: the queue is closed, or is being closed with cancel_pending_enqueues.
            ValueError: components of other shapes, or under other names.
        """
        values = self._components(vals)
        for value, shape in zip(values, self._shapes, strict=True):
            value.shape.assert_is_compatible_with(shape)
        execute(ops.QUEUE_ENQUEUE, self._queue_ref, values, name=name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> None:
        """Add elements one after the other; waits while the queue is full.

        Args:
            vals: as for `enqueue`, with an axis for the elements in front of each component.
            name: name of the node while tracing.

        Raises:
            CancelledError: the queue is closed, or is being closed with cancel_pending_enqueues.
            ValueError: components of other shapes, of other numbers of elements, or under other
                names.
        """
        values = self._components(vals)
        counts = Shape([None])
        for value, shape in zip(values, self._shapes, strict=True):
            given = value.shape.with_rank_at_least(1)
            given[1:].assert_is_compatible_with(shape)
            counts = counts.merge_with(given[:1])
        execute(ops.QUEUE_ENQUEUE_MANY, self._queue_ref, values, name=name)

    def dequeue(self, name: str | None = None) -> Any:
        """Remove and return an element; waits while the queue is empty.

        Args:
            name: name of the node while tracing.

        Returns:
            A tensor; a list of them if there are several components; a dict if they have names.

        Raises:
            OutOfRangeError: the queue is closed and empty.
        """
        found = self._taken(ops.QUEUE_DEQUEUE, (), name)
        return self._result(found, [tuple(shape) if shape.rank is not None else None
                                    for shape in self._shapes])  # fmt: skip

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Remove n elements and return them with a new leading axis; waits until there are enough.

        Args:
            n: how many, int32.
            name: name of the node while tracing.

        Returns:
            As `dequeue`.

        Raises:
            OutOfRangeError: the queue is closed and has fewer; they stay in it.
            InvalidArgumentError: the shapes of the components are not known.
        """
        return self._many(ops.QUEUE_DEQUEUE_MANY, n, name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """`dequeue_many`, which may return fewer elements once the queue is closed.

        Args:
            n: how many, int32.
            name: name of the node while tracing.

        Returns:
            As `dequeue`.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            InvalidArgumentError: the shapes of the components are not known.
        """
        return self._many(ops.QUEUE_DEQUEUE_UP_TO, n, name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> None:
        """Refuse further elements; remaining ones can still be dequeued.

        Pending enqueue calls are served first: closing waits for them.

        Args:
            cancel_pending_enqueues: whether they are refused instead.
            name: name of the node while tracing.

        Raises:
            CancelledError: the queue was closed before.
        """
        execute(
            ops.QUEUE_CLOSE,
            self._queue_ref,
            cancel_pending_enqueues=bool(cancel_pending_enqueues),
            name=name,
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, a bool scalar."""
        return execute_one(ops.QUEUE_IS_CLOSED, self._queue_ref, name=name)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        return execute_one(ops.QUEUE_SIZE, self._queue_ref, name=name)

    def __repr__(self) -> str:
        kinds = ", ".join(kind.name for kind in self._dtypes)
        return f"<{type(self).__name__} of ({kinds})>"

    def _components(self, vals: Any) -> list[Tensor]:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(
                f"queue: an element has {len(self._dtypes)} components, got {len(vals)}"
            )
        return [
            convert_to_tensor(value, kind) for value, kind in zip(vals, self._dtypes, strict=True)
        ]

    def _taken(self, op: OpDef, arguments: tuple[Any, ...], name: str | None) -> list[Tensor]:
        found = execute(
            op, self._queue_ref, *arguments, component_types=tuple(self._dtypes), name=name
        )
        return list(found)

    def _many(self, op: OpDef, n: Any, name: str | None) -> Any:
        count = convert_to_tensor(n, _dtypes.int32)
        found = self._taken(op, (count,), name)
        known = None if isinstance(count, SymbolicTensor) or op is ops.QUEUE_DEQUEUE_UP_TO else n
        size = None if known is None else int(np.asarray(known))
        return self._result(
            found,
            [None if shape.rank is None else (size, *shape) for shape in self._shapes],
        )

    def _result(self, found: list[Tensor], shapes: list[tuple[int | None, ...] | None]) -> Any:
        for tensor, shape in zip(found, shapes, strict=True):
            if isinstance(tensor, SymbolicTensor) and shape is not None:
                tensor.set_shape(shape)
        if self._names:
            return dict(zip(self._names, found, strict=True))
        return found if len(found) != 1 else found[0]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shapes_of(shapes: Any) -> list[Any] | None:
    """The shape of each component; a single one may be given without a list."""
    if shapes is None:
        return None
    if isinstance(shapes, (TensorShape, Shape, int)):
        return [shapes]
    if isinstance(shapes, tuple) or not all(
        shape is None or isinstance(shape, (list, tuple, Shape)) for shape in shapes
    ):
        is_one = all(size is None or isinstance(size, int) for size in shapes)
        return [shapes] if is_one else list(shapes)
    return list(shapes)


def _checked(dtypes: Any, shapes: Any, names: Any) -> tuple[list[DType], list[Shape] | None, Any]:
    kinds = [_dtypes.as_dtype(kind) for kind in _listed(dtypes)]
    sizes = _shapes_of(shapes)
    if sizes is not None and len(sizes) != len(kinds):
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received len(shapes)={len(sizes)},"
            f"len(dtypes)={len(kinds)}"
        )
    labels = None if names is None else _listed(names)
    if labels is not None and len(labels) != len(kinds):
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(labels)},len(dtypes)={len(kinds)}"
        )
    return kinds, None if sizes is None else [TensorShape(size) for size in sizes], labels


def _handle(queue: Queue) -> Tensor:
    with init_scope():
        return handle_of(queue)


class FIFOQueue(QueueBase):
    """A queue whose elements are dequeued in the order in which they were enqueued.

    Args:
        capacity: how many elements it holds at most.
        dtypes: dtypes of the components of an element: one, or a list.
        shapes: shapes of the components, needed to take several elements as one; None if they are
            not the same for all elements.
        names: names of the components: elements are dicts then.
        shared_name: name in error messages.
        name: name in error messages if `shared_name` is None.

    Raises:
        ValueError: other numbers of shapes or names than of dtypes.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        kinds, sizes, labels = _checked(dtypes, shapes, names)
        made = Queue(kinds, sizes or (), int(capacity), shared_name or name)
        super().__init__(kinds, sizes, labels, _handle(made))


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose components may have axes of any size; several elements are padded to one.

    Args:
        capacity: how many elements it holds at most.
        dtypes: dtypes of the components of an element: one, or a list.
        shapes: shapes of the components, a list; None for the size of an axis that may differ.
        names: names of the components: elements are dicts then.
        shared_name: name in error messages.
        name: name in error messages if `shared_name` is None.

    Raises:
        ValueError: no shapes, or other numbers of shapes or names than of dtypes.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        if not isinstance(shapes, (list, tuple)):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "When providing partial shapes, a list of shapes must be provided."
            )
        if len(shapes) != len(_listed(dtypes)):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(_listed(dtypes))} "
                f"dtypes and {len(shapes)} shapes."
            )
        kinds, sizes, labels = _checked(dtypes, list(shapes), names)
        made = PaddingQueue(kinds, sizes or (), int(capacity), shared_name or name)
        super().__init__(kinds, sizes, labels, _handle(made))


class PriorityQueue(QueueBase):
    """A queue from which the element with the lowest priority is dequeued first.

    An element begins with its priority, an int64 scalar, before the components of `types`.

    Args:
        capacity: how many elements it holds at most.
        types: dtypes of the components of an element: one, or a list.
        shapes: shapes of the components, as for `FIFOQueue`.
        names: names of the components, the priority's first.
        shared_name: name in error messages.
        name: name in error messages if `shared_name` is None.

    Raises:
        ValueError: other numbers of shapes or names than of components.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        kinds, sizes, _ = _checked(types, shapes, None)
        if sizes is None:
            sizes = [TensorShape([])] * len(kinds)
        kinds, sizes = [_dtypes.int64, *kinds], [TensorShape([]), *sizes]
        labels = None if names is None else _checked(kinds, sizes, names)[2]
        made = _Priority(kinds, sizes, int(capacity), shared_name or name)
        super().__init__(kinds, sizes, labels, _handle(made))


class RandomShuffleQueue(QueueBase):
    """A queue from which a random element is dequeued.

    Args:
        capacity: how many elements it holds at most.
        min_after_dequeue: how many stay in it until it is closed, so that there is something to
            draw from.
        dtypes: dtypes of the components of an element: one, or a list.
        shapes: shapes of the components, as for `FIFOQueue`.
        names: names of the components: elements are dicts then.
        seed: seed of the draws; see `tf.random.set_seed`.
        shared_name: name in error messages.
        name: name in error messages if `shared_name` is None.

    Raises:
        InvalidArgumentError: `min_after_dequeue` is negative, or not below the capacity.
        ValueError: other numbers of shapes or names than of dtypes.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        kinds, sizes, labels = _checked(dtypes, shapes, names)
        made = ShuffleQueue(
            kinds,
            sizes or (),
            int(capacity),
            shared_name or name,
            least=int(min_after_dequeue),
            seeds=get_seed(seed),
        )
        super().__init__(kinds, sizes, labels, _handle(made))
