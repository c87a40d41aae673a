"""Summary ops: WriteSummary and others, through a writer's resource.

The object behind the handle is defined by `pinnace.summary`; see `Writer`. Summaries of one writer
are ordered like all writes to one resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import ANY_VALUE, REAL, DType
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__: list[str] = []


class Writer(Protocol):
    """The resource of a writer's handle."""

    def write_tensor(
        self, step: int, tag: str, array: Array, dtype: DType, metadata: bytes
    ) -> None:
        """Write a value with a SummaryMetadata message."""

    def write_histogram(self, step: int, tag: str, array: Array) -> None:
        """The histogram of an array."""

    def write_images(self, step: int, tag: str, array: Array, most: int) -> None:
        """The first images of a batch."""

    def write_graph(self, step: int, graph: bytes) -> None:
        """A GraphDef."""

    def write_summary(self, step: int, summary: bytes) -> None:
        """A Summary message."""

    def flush(self) -> None:
        """Write everything so far to the file."""

    def close(self) -> None:
        """The file has ended."""


def _behind(writer: Array) -> Writer:
    found: Any = np.asarray(writer)[()]
    return found  # type: ignore[no-any-return]


def _bytes(array: Array) -> bytes:
    found: Any = np.asarray(array, object)[()]
    return found  # type: ignore[no-any-return]


def _text(array: Array) -> str:
    return _bytes(array).decode("utf-8", "replace")


def _nothing(call: InferCall) -> tuple[Shape, ...]:
    for index, arg in enumerate(call.op.inputs):
        if arg.name in {"writer", "step", "tag", "summary_metadata"} and call.spec(
            index
        ).shape.rank not in {0, None}:
            call.fail(f"{arg.name} must be a scalar")
    return ()


def _op(
    name: str,
    signature: str,
    kernel: Any,
    types: dict[str, Any] | None = None,
    attrs: dict[str, Any] | None = None,
) -> OpDef:
    return define(
        name=name,
        signature=signature,
        types=types or {},
        attrs=attrs or {},
        infer=_nothing,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
        # It refers to a writer's file, which the program opened: a model has none.
        reaches="files",
    )


def write_summary(
    writer: Tensor,
    step: TensorLike,
    tensor: TensorLike,
    tag: TensorLike,
    summary_metadata: TensorLike,
    name: str | None = None,
) -> None:
    """Write one value.

    Args:
        writer: [], resource.
        step: [], int64.
        tensor: the value, any shape.
        tag: [], string.
        summary_metadata: [], string: a SummaryMetadata message.
        name: name of the node while tracing.
    """
    execute(WRITE_SUMMARY, writer, step, tensor, tag, summary_metadata, name=name)


def _summary_kernel(
    writer: Array,
    step: Array,
    tensor: Array,
    tag: Array,
    summary_metadata: Array,
    *,
    T: DType,  # noqa: N803 (the attribute's name)
) -> None:
    _behind(writer).write_tensor(
        int(step), _text(tag), np.asarray(tensor), T, _bytes(summary_metadata)
    )


WRITE_SUMMARY = _op(
    "WriteSummary",
    "writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string ->",
    _summary_kernel,
    {"T": ANY_VALUE},
)


def write_histogram(
    writer: Tensor, step: TensorLike, tag: TensorLike, values: TensorLike, name: str | None = None
) -> None:
    """Write the histogram of `values`."""
    execute(WRITE_HISTOGRAM_SUMMARY, writer, step, tag, values, name=name)


def _histogram_kernel(writer: Array, step: Array, tag: Array, values: Array) -> None:
    _behind(writer).write_histogram(int(step), _text(tag), np.asarray(values))


WRITE_HISTOGRAM_SUMMARY = _op(
    "WriteHistogramSummary",
    "writer: resource, step: int64, tag: string, values: T ->",
    _histogram_kernel,
    {"T": typed(REAL, default=dtypes.float32)},
)


def write_images(
    writer: Tensor,
    step: TensorLike,
    tag: TensorLike,
    tensor: TensorLike,
    max_images: int,
    name: str | None = None,
) -> None:
    """Write the first images of a batch."""
    bad = np.array([255, 0, 0, 255], np.uint8)
    execute(WRITE_IMAGE_SUMMARY, writer, step, tag, tensor, bad, max_images=max_images, name=name)


def _image_kernel(
    writer: Array, step: Array, tag: Array, tensor: Array, bad_color: Array, *, max_images: int
) -> None:
    del bad_color
    _behind(writer).write_images(int(step), _text(tag), np.asarray(tensor), max_images)


WRITE_IMAGE_SUMMARY = _op(
    "WriteImageSummary",
    "writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8 ->",
    _image_kernel,
    {"T": typed({dtypes.uint8, dtypes.float32, dtypes.float16}, default=dtypes.float32)},
    {"max_images": attr("int", default=3)},
)


def write_graph(
    writer: Tensor, step: TensorLike, graph: TensorLike, name: str | None = None
) -> None:
    """Write a GraphDef."""
    execute(WRITE_GRAPH_SUMMARY, writer, step, graph, name=name)


def _graph_kernel(writer: Array, step: Array, tensor: Array) -> None:
    _behind(writer).write_graph(int(step), _bytes(tensor))


WRITE_GRAPH_SUMMARY = _op(
    "WriteGraphSummary", "writer: resource, step: int64, tensor: string ->", _graph_kernel
)


def write_raw(
    writer: Tensor, step: TensorLike, summary: TensorLike, name: str | None = None
) -> None:
    """Write a Summary message as it is."""
    execute(WRITE_RAW_PROTO_SUMMARY, writer, step, summary, name=name)


def _raw_kernel(writer: Array, step: Array, tensor: Array) -> None:
    _behind(writer).write_summary(int(step), _bytes(tensor))


WRITE_RAW_PROTO_SUMMARY = _op(
    "WriteRawProtoSummary", "writer: resource, step: int64, tensor: string ->", _raw_kernel
)


def flush(writer: Tensor, name: str | None = None) -> None:
    """Write everything so far to the file."""
    execute(FLUSH_SUMMARY_WRITER, writer, name=name)


def _flush_kernel(writer: Array) -> None:
    _behind(writer).flush()


FLUSH_SUMMARY_WRITER = _op("FlushSummaryWriter", "writer: resource ->", _flush_kernel)


def close(writer: Tensor, name: str | None = None) -> None:
    """Close the file."""
    execute(CLOSE_SUMMARY_WRITER, writer, name=name)


def _close_kernel(writer: Array) -> None:
    _behind(writer).close()


CLOSE_SUMMARY_WRITER = _op("CloseSummaryWriter", "writer: resource ->", _close_kernel)
