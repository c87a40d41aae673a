"""Ops of queues: FIFOQueueV2 and others, enqueue and dequeue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.queue.state import PaddingQueue, PriorityQueue, Queue, ShuffleQueue
from pinnace.ops.registry import define, scalar
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import OpDef
    from pinnace.ops.queue.state import Element
    from pinnace.ops.running import RunContext

_NAMING = {
    "capacity": attr("int", default=-1),
    "container": attr("string", default=""),
    "shared_name": attr("string", default=""),
}
_COMPONENTS = {"component_types": attr("list(type)"), "shapes": attr("list(shape)", default=())}
_TIMEOUT = {"timeout_ms": attr("int", default=-1)}


def _queue_of(op: str, handle: Array) -> Queue:
    found = resource_of(handle)
    if not isinstance(found, Queue):
        raise InvalidArgumentError(f"{op}: handle must be that of a queue, got that of {found!r}")
    return found


def _kept(make: Callable[[], Queue], ctx: RunContext, container: str, shared_name: str) -> Array:
    """The handle of a queue; queues with one shared name are the same object within a run."""
    made = make() if not shared_name else ctx.stream(("queue", container, shared_name), make)
    array = np.empty((), object)
    array[()] = made
    return array


def _makes(op: str, cls: type[Queue]) -> OpDef:
    def kernel(
        *,
        component_types: tuple[DType, ...],
        shapes: tuple[Shape, ...],
        capacity: int,
        container: str,
        shared_name: str,
        ctx: RunContext,
    ) -> Array:
        name = str(shared_name) or cls.kind
        return _kept(
            lambda: cls(component_types, shapes, capacity, name), ctx, container, shared_name
        )

    return define(
        name=op,
        signature="-> handle: resource",
        attrs={**_COMPONENTS, **_NAMING},
        infer=scalar,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="io",
    )


FIFO_QUEUE = _makes("FIFOQueueV2", Queue)
PADDING_FIFO_QUEUE = _makes("PaddingFIFOQueueV2", PaddingQueue)


def _priority_kernel(
    *,
    component_types: tuple[DType, ...],
    shapes: tuple[Shape, ...],
    capacity: int,
    container: str,
    shared_name: str,
    ctx: RunContext,
) -> Array:
    types = (as_dtype("int64"), *component_types)
    sizes = (Shape([]), *shapes)
    name = str(shared_name) or PriorityQueue.kind
    return _kept(lambda: PriorityQueue(types, sizes, capacity, name), ctx, container, shared_name)


PRIORITY_QUEUE = define(
    name="PriorityQueueV2",
    signature="-> handle: resource",
    attrs={
        "component_types": attr("list(type)", default=()),
        "shapes": attr("list(shape)"),
        **_NAMING,
    },
    infer=scalar,
    kernel=_priority_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)


def _shuffle_kernel(
    *,
    component_types: tuple[DType, ...],
    shapes: tuple[Shape, ...],
    capacity: int,
    min_after_dequeue: int,
    seed: int,
    seed2: int,
    container: str,
    shared_name: str,
    ctx: RunContext,
) -> Array:
    def make() -> Queue:
        return ShuffleQueue(
            component_types,
            shapes,
            capacity,
            str(shared_name) or ShuffleQueue.kind,
            least=min_after_dequeue,
            seeds=(seed, seed2),
        )

    return _kept(make, ctx, container, shared_name)


RANDOM_SHUFFLE_QUEUE = define(
    name="RandomShuffleQueueV2",
    signature="-> handle: resource",
    attrs={
        **_COMPONENTS,
        **_NAMING,
        "min_after_dequeue": attr("int", default=0),
        "seed": attr("int", default=0),
        "seed2": attr("int", default=0),
    },
    infer=scalar,
    kernel=_shuffle_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)


def _checked(op: str, queue: Queue, components: Element, timeout_ms: int, batch: int) -> None:
    """Check that components fit the queue, after `batch` leading axes."""
    _refuse_timeout(op, timeout_ms)
    if len(components) != len(queue.types):
        raise InvalidArgumentError(
            f"{op}: {queue!r} takes {len(queue.types)} components, got {len(components)}"
        )
    for at, (value, kind) in enumerate(zip(components, queue.types, strict=True)):
        if as_dtype(value.dtype) is not kind and value.dtype != kind.numpy:
            raise InvalidArgumentError(
                f"{op}: Type mismatch in tuple component {at}. Expected {kind.name}, got "
                f"{as_dtype(value.dtype).name}"
            )
        if value.ndim < batch:
            raise InvalidArgumentError(f"{op}: component {at} must have an axis for the elements")
        given = Shape(value.shape[batch:])
        if queue.shapes and not given.is_compatible_with(queue.shapes[at]):
            raise InvalidArgumentError(
                f"{op}: Shape mismatch in tuple component {at}. Expected "
                f"{queue.shapes[at].text}, got {given.text}"
            )


def _refuse_timeout(op: str, timeout_ms: int) -> None:
    if timeout_ms != -1:
        raise InvalidArgumentError(f"{op}: Timeout not supported yet, got timeout_ms={timeout_ms}")


def _enqueue_kernel(handle: Array, components: Element, *, timeout_ms: int) -> None:
    queue = _queue_of("QueueEnqueueV2", handle)
    _checked("QueueEnqueueV2", queue, components, timeout_ms, 0)
    # Copied, since a plan reuses the memory of the values.
    queue.put([tuple(np.array(value) for value in components)])


def _enqueue_many_kernel(handle: Array, components: Element, *, timeout_ms: int) -> None:
    op = "QueueEnqueueManyV2"
    queue = _queue_of(op, handle)
    _checked(op, queue, components, timeout_ms, 1)
    counts = {len(value) for value in components}
    if len(counts) != 1:
        raise InvalidArgumentError(
            f"{op}: all components must have equally many elements, got {sorted(counts)}"
        )
    parts = [np.array(value) for value in components]
    queue.put([tuple(part[at, ...] for part in parts) for at in range(counts.pop())])


def _nothing(call: InferCall) -> tuple[Shape, ...]:
    del call
    return ()


QUEUE_ENQUEUE = define(
    name="QueueEnqueueV2",
    signature="handle: resource, components: (Tcomponents) ->",
    attrs=_TIMEOUT,
    infer=_nothing,
    kernel=_enqueue_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)
QUEUE_ENQUEUE_MANY = define(
    name="QueueEnqueueManyV2",
    signature="handle: resource, components: (Tcomponents) ->",
    attrs=_TIMEOUT,
    infer=_nothing,
    kernel=_enqueue_many_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _require_types(op: str, queue: Queue, wanted: tuple[DType, ...]) -> None:
    if tuple(wanted) != queue.types:
        raise InvalidArgumentError(
            f"{op}: {queue!r} has components of other types than "
            f"({', '.join(t.name for t in wanted)})"
        )


def _dequeue_kernel(
    handle: Array, *, component_types: tuple[DType, ...], timeout_ms: int
) -> tuple[Array, ...]:
    op = "QueueDequeueV2"
    queue = _queue_of(op, handle)
    _refuse_timeout(op, timeout_ms)
    _require_types(op, queue, component_types)
    return queue.take(1)[0]


def _unknown(call: InferCall) -> tuple[Shape, ...]:
    return tuple(Shape(None) for _ in call.attrs["component_types"])


QUEUE_DEQUEUE = define(
    name="QueueDequeueV2",
    signature="handle: resource -> components: (component_types)",
    attrs={"component_types": attr("list(type)"), **_TIMEOUT},
    infer=_unknown,
    kernel=_dequeue_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)


def _dequeues_many(op: str, *, fewer: bool) -> OpDef:
    def kernel(
        handle: Array, n: Array, *, component_types: tuple[DType, ...], timeout_ms: int
    ) -> tuple[Array, ...]:
        queue = _queue_of(op, handle)
        _refuse_timeout(op, timeout_ms)
        _require_types(op, queue, component_types)
        if n < 0:
            raise InvalidArgumentError(f"{op}: requested {int(n)} < 0 elements")
        known = bool(queue.shapes) and all(shape.rank is not None for shape in queue.shapes)
        whole = known and all(shape.is_fully_defined() for shape in queue.shapes)
        if not whole and not (known and isinstance(queue, PaddingQueue)):
            raise InvalidArgumentError(
                f"{op}: {queue.kind}'s DequeueMany and DequeueUpTo require the components to have "
                "specified shapes."
            )
        return queue.batch(queue.take(int(n), fewer=fewer))

    return define(
        name=op,
        signature="handle: resource, n: int32 -> components: (component_types)",
        attrs={"component_types": attr("list(type)"), **_TIMEOUT},
        infer=_unknown,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
        effect="write",
    )


QUEUE_DEQUEUE_MANY = _dequeues_many("QueueDequeueManyV2", fewer=False)
QUEUE_DEQUEUE_UP_TO = _dequeues_many("QueueDequeueUpToV2", fewer=True)


def _close_kernel(handle: Array, *, cancel_pending_enqueues: bool) -> None:
    _queue_of("QueueCloseV2", handle).close(cancel=cancel_pending_enqueues)


QUEUE_CLOSE = define(
    name="QueueCloseV2",
    signature="handle: resource ->",
    attrs={"cancel_pending_enqueues": attr("bool", default=False)},
    infer=_nothing,
    kernel=_close_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _asks(op: str, output: str, ask: Callable[[Queue], Any]) -> OpDef:
    return define(
        name=op,
        signature=f"handle: resource -> {output}",
        infer=scalar,
        kernel=lambda handle: np.asarray(ask(_queue_of(op, handle))),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )


QUEUE_IS_CLOSED = _asks("QueueIsClosedV2", "is_closed: bool", lambda queue: queue.is_closed)
QUEUE_SIZE = _asks("QueueSizeV2", "size: int32", lambda queue: np.int32(queue.size))
