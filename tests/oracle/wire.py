"""The protocol of the two processes: frames of a JSON head and the bytes of arrays; no pickle.

Both sides import this file, so it needs only NumPy and ml_dtypes. Values that JSON lacks are in the
head as objects with one key: `array` (index of an array in the body), `dtype`, `shape`.
"""

import json
import struct
from typing import Any, BinaryIO

import ml_dtypes  # noqa: F401 (teaches NumPy the names of the 16-bit and narrower types)
import numpy as np

_HEAD = struct.Struct("<II")
# A larger reply is a mistake of a test, not a tensor.
MAX_BYTES = 1 << 28


class DTypeName(str):
    """A dtype, by its name."""

    __slots__ = ()


class Sizes(tuple[Any, ...]):
    """A shape whose rank is known; an unknown axis is None."""

    __slots__ = ()


def write(stream: BinaryIO, message: Any) -> None:
    """Write one frame: lengths of head and body, head, body."""
    arrays: list[tuple[dict[str, Any], bytes]] = []
    content = _plain(message, arrays)
    head = json.dumps({"content": content, "arrays": [facts for facts, _ in arrays]}).encode()
    body = b"".join(data for _, data in arrays)
    stream.write(_HEAD.pack(len(head), len(body)) + head + body)
    stream.flush()


def read(stream: BinaryIO) -> Any:
    """The message of the next frame; EOFError at the end of the stream."""
    head_size, body_size = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if head_size + body_size > MAX_BYTES:
        raise ValueError(f"a frame of {head_size + body_size} bytes")
    head = json.loads(_exactly(stream, head_size))
    body = _exactly(stream, body_size)
    arrays, position = [], 0
    for facts in head["arrays"]:
        arrays.append(_array(facts, body[position : position + facts["bytes"]]))
        position += facts["bytes"]
    return _rich(head["content"], arrays)


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError(f"the stream ended {count - len(data)} bytes early")
    return data


def _plain(value: Any, arrays: list[tuple[dict[str, Any], bytes]]) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        arrays.append(_bytes(np.asarray(value)))
        return {"array": len(arrays) - 1}
    if isinstance(value, DTypeName):
        return {"dtype": str(value)}
    if isinstance(value, Sizes):
        return {"shape": list(value)}
    if isinstance(value, dict):
        return {"map": [[key, _plain(one, arrays)] for key, one in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_plain(one, arrays) for one in value]
    if isinstance(value, bytes):
        return {"text": list(value)}
    return value


def _rich(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, list):
        return [_rich(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "dtype":
        return DTypeName(content)
    if kind == "shape":
        return Sizes(content)
    if kind == "text":
        return bytes(content)
    return {key: _rich(one, arrays) for key, one in content}


def _bytes(array: np.ndarray) -> tuple[dict[str, Any], bytes]:
    facts: dict[str, Any] = {"shape": list(array.shape)}
    if array.dtype == object:
        texts = [bytes(text) for text in array.ravel()]
        facts["lengths"] = [len(text) for text in texts]
        data = b"".join(texts)
    else:
        facts["dtype"] = array.dtype.name
        data = np.ascontiguousarray(array).tobytes()
    return facts | {"bytes": len(data)}, data


def _array(facts: dict[str, Any], data: bytes) -> np.ndarray:
    if "lengths" not in facts:
        return np.frombuffer(data, np.dtype(facts["dtype"])).reshape(facts["shape"]).copy()
    texts = np.empty(len(facts["lengths"]), object)
    position = 0
    for index, length in enumerate(facts["lengths"]):
        texts[index] = data[position : position + length]
        position += length
    return texts.reshape(facts["shape"])


def cotangent(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> np.ndarray:
    """A cotangent of an output; the same on both sides, and exact in every float type."""
    count = int(np.prod(shape, dtype=np.int64))
    numbers = ((np.arange(count) * 37 + seed * 11) % 61 - 30) / 16
    if dtype.kind == "c":
        numbers = numbers + 1j * np.roll(numbers[::-1], seed % 7)
    return numbers.reshape(shape).astype(dtype)
