"""NumPy's .npy files as bodies: one array, with its dtype and shape, and nothing executable.

Source: NumPy enhancement proposal 1, "A simple file format for NumPy arrays".
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.serving.requests.datatypes import SLICE, checked_shape, count
from pinnace.serving.requests.expansion import check_reply
from pinnace.serving.requests.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.serving.running.signatures import Array, Arrays

NPY = b"application/x-npy"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(body: bytes, dtype: DType) -> Array:
    """Return the array of an .npy file.

    Args:
        body: the file.
        dtype: the expected dtype; strings are stored as fixed-size bytes or text.

    Returns:
        An array of any shape; numbers have the file's own dtype.

    Raises:
        InvalidArgumentError: the body is not such a file, holds Python objects, or is truncated.
    """
    file = io.BytesIO(body)
    try:
        read_header = _HEADERS[np.lib.format.read_magic(file)]
        shape, by_columns, kind = read_header(file)
    except KeyError:
        raise InvalidArgumentError("The body is an .npy file of an unknown version") from None
    except Exception as error:  # the parser of the header raises errors of many classes
        raise InvalidArgumentError(f"The body is not an .npy file: {error}") from None
    if kind.hasobject or kind.names is not None or kind.subdtype is not None or not kind.itemsize:
        raise InvalidArgumentError(
            f"The .npy file must hold numbers, bools or strings, got dtype {kind}"
        )
    shape = checked_shape("of the .npy file", list(shape))
    if count([size for size in shape if size]) * kind.itemsize >= 2**63:
        raise InvalidArgumentError(f"The .npy file of {kind} is larger than any array can be")
    rest = memoryview(body)[file.tell() :]
    needed = count(shape) * kind.itemsize
    if len(rest) != needed:
        raise InvalidArgumentError(
            f"The .npy file of {kind}{list(shape)} must have {needed} bytes of values, "
            f"got {len(rest)}"
        )
    array: Array = np.frombuffer(rest, kind).reshape(shape, order="F" if by_columns else "C")
    if dtype is dtypes.string and kind.kind in "SU":
        return _strings(array)
    if kind.kind == "V" and kind.itemsize == dtype.numpy.itemsize:
        # NumPy has no names for types such as bfloat16.
        return np.require(array, None, ["C", "A"]).view(dtype.numpy).reshape(shape)
    if kind.kind == "b" and np.frombuffer(rest, np.uint8).max(initial=0) > 1:
        raise InvalidArgumentError("The .npy file of bools must have bytes 0 and 1 only")
    return np.require(array, kind.newbyteorder("="), ["C", "A"]).reshape(shape)


def write_npy(array: Array, name: str) -> bytes:
    """Return an array as an .npy file.

    Raises:
        FailedPreconditionError: a string ends in zero bytes, which the file would lose.
    """
    if array.dtype == object:
        array = _fixed_strings(array, name)
    check_reply(array.nbytes)
    file = io.BytesIO()
    if array.dtype.kind == "V":  # the header that `np.save` writes, without its warning
        array = array.view(f"V{array.dtype.itemsize}")
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _fixed_strings(array: Array, name: str) -> Array:
    """Strings as bytes of one size; see `write_npy`."""
    texts: list[bytes] = []
    size = 1
    flat = array.ravel()
    for begin in range(0, flat.size, SLICE):  # other threads run in between
        leaves = flat[begin : begin + SLICE].tolist()
        part = [leaf if isinstance(leaf, bytes) else str(leaf).encode() for leaf in leaves]
        if any(text.endswith(b"\0") for text in part):
            raise FailedPreconditionError(
                f"Output '{name}' has a string that ends in a zero byte, which .npy cannot hold\n"
                "  Try: the Open Inference Protocol with binary data"
            )
        size = max(size, *map(len, part))
        texts += part
    found = np.empty(len(texts), f"S{size}")
    for begin in range(0, len(texts), SLICE):
        found[begin : begin + SLICE] = texts[begin : begin + SLICE]
    return found.reshape(array.shape)


def npy_encoder(name: str, version: bytes) -> Callable[[Arrays], Reply]:
    """Return the function that encodes a reply of one output.

    Args:
        name: the output's name.
        version: the version that answers.
    """
    headers = ((b"content-type", NPY), (b"x-model-version", version))

    def encode(outputs: Arrays) -> Reply:
        return Reply(write_npy(np.asarray(outputs[name]), name), 200, headers)

    return encode


def _strings(array: Array) -> Array:
    found: np.ndarray[Any, np.dtype[Any]] = np.empty(array.size, object)
    flat = array.ravel()
    for begin in range(0, flat.size, SLICE):  # other threads run in between
        leaves = flat[begin : begin + SLICE].tolist()
        found[begin : begin + SLICE] = [
            leaf.encode() if isinstance(leaf, str) else leaf for leaf in leaves
        ]
    return found.reshape(array.shape)
