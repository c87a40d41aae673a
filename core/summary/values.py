"""Kinds of summaries: scalar, histogram, image, text, audio, graphs, and tensors with metadata."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import name_scope, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.ops.array import casting
from pinnace.ops.summary import writing
from pinnace.proto.event_pb2 import (
    DATA_CLASS_BLOB_SEQUENCE,
    DATA_CLASS_SCALAR,
    DATA_CLASS_TENSOR,
    SummaryMetadata,
)
from pinnace.summary.event_file import image_strings, metadata
from pinnace.summary.pictures import encode_wav, histogram_rows
from pinnace.summary.writer import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator


def _tag(name: str) -> str:
    return f"{state.scope}{name}"


@contextlib.contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enter a name scope, and yield (tag, scope) for a summary's name."""
    ignored("summary_scope", "names are made of names", values=values)
    tag = _tag(name or default_name)
    with name_scope(name or default_name) as scope:
        yield tag, scope


def _text(value: bytes | str) -> Tensor:
    array = np.empty((), object)
    array[()] = value.encode() if isinstance(value, str) else value
    return wrap(array, dtypes.string)


def write(
    tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Tensor:
    """Write a tensor.

    Args:
        tag: its name; names of summaries are not prefixed here.
        tensor: the value, or a function that gives it, called only if it is written.
        step: when; the default step if None.
        metadata: a SummaryMetadata message, or its bytes.
        name: name of the node while tracing.

    Returns:
        [], bool: whether it was written.

    Raises:
        ValueError: no step.
    """
    if metadata is None:
        encoded = b""
    elif isinstance(metadata, SummaryMetadata):
        encoded = metadata.SerializeToString()
    else:
        encoded = (
            metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
        )

    def put(handle: Tensor, when: Tensor) -> None:
        value = tensor() if callable(tensor) and not isinstance(tensor, Tensor) else tensor
        writing.write_summary(
            handle, when, convert_to_tensor(value), _text(tag), _text(encoded), name
        )

    return recorded(step, "write", put)


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write a number.

    Args:
        name: its name, after the names of the scopes around.
        data: [], any number.
        step: when; the default step if None.
        description: Markdown that TensorBoard shows.

    Returns:
        [], bool: whether it was written.

    Raises:
        ValueError: no step.
        InvalidArgumentError: `data` is no scalar.
    """

    def value() -> Tensor:
        tensor = convert_to_tensor(data)
        if tensor.shape.rank not in {0, None}:
            raise InvalidArgumentError(
                f"summary.scalar: {name!r} must be a scalar, got shape {tensor.shape.text}"
            )
        return casting.cast(tensor, dtypes.float32)

    return write(_tag(name), value, step, metadata("scalars", description, DATA_CLASS_SCALAR))


def histogram(
    name: str,
    data: Any,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Tensor:
    """Write how the numbers of a tensor are distributed.

    Args:
        name: its name, after the names of the scopes around.
        data: [...], numbers.
        step: when; the default step if None.
        buckets: how many buckets of equal width; 30 if None.
        description: Markdown that TensorBoard shows.

    Returns:
        [], bool: whether it was written.
    """
    count = 30 if buckets is None else int(buckets)
    tag = _tag(name)

    def put(handle: Tensor, when: Tensor) -> None:
        tensor = convert_to_tensor(data)
        if isinstance(tensor, SymbolicTensor):
            if count != 30 or description:
                raise UnimplementedError(
                    "summary.histogram: inside a function, buckets and description cannot be chosen"
                )
            writing.write_histogram(handle, when, _text(tag), tensor)
            return
        rows = wrap(histogram_rows(np.asarray(tensor._array), count))
        encoded = metadata("histograms", description, DATA_CLASS_TENSOR)
        writing.write_summary(handle, when, rows, _text(tag), _text(encoded))

    return recorded(step, "histogram", put)


def image(
    name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None
) -> Tensor:
    """Write images.

    Args:
        name: their name, after the names of the scopes around.
        data: [n, height, width, 1 to 4], uint8, or floating point in [0, 1].
        step: when; the default step if None.
        max_outputs: how many images at most.
        description: Markdown that TensorBoard shows.

    Returns:
        [], bool: whether they were written.
    """
    tag = _tag(name)

    def put(handle: Tensor, when: Tensor) -> None:
        tensor = convert_to_tensor(data)
        if tensor.shape.rank not in {4, None}:
            raise InvalidArgumentError(
                f"summary.image: {name!r} must be [n, height, width, channels], "
                f"got shape {tensor.shape.text}"
            )
        if isinstance(tensor, SymbolicTensor):
            if description:
                raise UnimplementedError("summary.image: inside a function there is no description")
            if tensor.dtype not in {dtypes.uint8, dtypes.float32, dtypes.float16}:
                tensor = casting.cast(tensor, dtypes.float32)
            writing.write_images(handle, when, _text(tag), tensor, max_outputs)
            return
        strings = wrap(image_strings(np.asarray(tensor._array), max_outputs), dtypes.string)
        encoded = metadata("images", description, DATA_CLASS_BLOB_SEQUENCE)
        writing.write_summary(handle, when, strings, _text(tag), _text(encoded))

    return recorded(step, "image", put)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write strings, shown as Markdown.

    Args:
        name: their name, after the names of the scopes around.
        data: [...], string.
        step: when; the default step if None.
        description: Markdown that TensorBoard shows.

    Returns:
        [], bool: whether they were written.
    """

    def value() -> Tensor:
        tensor = convert_to_tensor(data)
        if tensor.dtype is not dtypes.string:
            raise InvalidArgumentError(
                f"summary.text: {name!r} must be strings, got {tensor.dtype.name}"
            )
        return tensor

    return write(_tag(name), value, step, metadata("text", description, DATA_CLASS_TENSOR))


def audio(
    name: str,
    data: Any,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Write sounds; not inside a function.

    Args:
        name: their name, after the names of the scopes around.
        data: [n, frames, channels], floating point in [-1, 1].
        sample_rate: frames a second.
        step: when; the default step if None.
        max_outputs: how many sounds at most.
        encoding: None or "wav".
        description: Markdown that TensorBoard shows.

    Returns:
        [], bool: whether they were written.
    """
    if encoding not in {None, "wav"}:
        raise ValueError(f"summary.audio: encoding must be 'wav', got {encoding!r}")

    def value() -> Tensor:
        tensor = convert_to_tensor(data)
        if isinstance(tensor, SymbolicTensor):
            raise UnimplementedError("summary.audio: not inside a function")
        sounds = np.asarray(tensor._array)[:max_outputs]
        if sounds.ndim != 3:
            raise InvalidArgumentError(
                f"summary.audio: {name!r} must be [n, frames, channels], "
                f"got shape {tensor.shape.text}"
            )
        strings = np.full((len(sounds), 2), b"", object)
        strings[:, 0] = [encode_wav(sound, int(sample_rate)) for sound in sounds]
        return wrap(strings, dtypes.string)

    message = SummaryMetadata.FromString(metadata("audio", description, DATA_CLASS_BLOB_SEQUENCE))
    message.plugin_data.content = b"\x10\x0b"  # AudioPluginData.encoding = WAV
    return write(_tag(name), value, step, message)


def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Tensor:
    """Write a serialized Summary message unchanged."""
    return recorded(
        step,
        "write_raw_pb",
        lambda handle, when: writing.write_raw(handle, when, convert_to_tensor(tensor), name),
    )
