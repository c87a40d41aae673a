"""Feeds that arrive as contiguous bytes and stay bytes until they are joined with others.

Joining the bytes of sixty requests and viewing them as one array costs as much as two small arrays;
an array for each request, checked and joined, costs more than the run of a small model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pinnace.serving.running.signatures import Runnable

    Array = npt.NDArray[Any]
    Raw = bytes | bytearray | memoryview


class RowKind:
    """Any number of rows that one signature takes as its only input.

    Args:
        signature: the signature.
        name: the input's name.
        source: the dtype of the bytes.
        dtype: the input's dtype.
        shape: the shape of a row.

    Attributes:
        key: the key for joining calls, see `batching.batch_key`.
        row_elements: elements of a row.
        row_bytes: bytes of a row.
    """

    __slots__ = (
        "dtype",
        "key",
        "name",
        "row_bytes",
        "row_elements",
        "shape",
        "signature",
        "source",
    )

    def __init__(
        self,
        signature: Runnable,
        name: str,
        source: np.dtype[Any],
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> None:
        self.signature = signature
        self.name = name
        self.source = source
        self.dtype = dtype
        self.shape = shape
        self.key = (shape,)
        self.row_elements = math.prod(shape)
        self.row_bytes = self.row_elements * source.itemsize

    def arrays(self, raw: Raw, rows: int) -> dict[str, Array]:
        """Return the feeds of a number of rows."""
        array: Array = np.frombuffer(raw, self.source).reshape(rows, *self.shape)
        if self.source != self.dtype:
            with np.errstate(over="ignore"):
                array = array.astype(self.dtype)
        elif not array.flags.aligned:  # kernels need alignment; the bytes may begin anywhere
            array = array.copy()
        return {self.name: array}

    def joined(self, raws: Sequence[Raw], padded_rows: int) -> dict[str, Array]:
        """Return the joined feeds of several calls of this kind, like `batching.join`."""
        raw = b"".join(raws)
        missing = padded_rows * self.row_bytes - len(raw)
        if missing:
            row = raw[-self.row_bytes :]
            raw += row * (missing // self.row_bytes)
        return self.arrays(raw, padded_rows)


class PackedRows(Mapping[str, "npt.NDArray[Any]"]):
    """Feeds of one input whose bytes are contiguous.

    Args:
        kind: the kind of the rows.
        raw: the bytes of all rows.
        rows: the number of rows; at least one.
    """

    __slots__ = ("_arrays", "kind", "raw", "rows")

    def __init__(self, kind: RowKind, raw: Raw, rows: int) -> None:
        self.kind = kind
        self.raw = raw
        self.rows = rows
        self._arrays: dict[str, Array] | None = None

    @property
    def arrays(self) -> dict[str, Array]:
        """Return the feeds as arrays."""
        found = self._arrays
        if found is None:
            found = self._arrays = self.kind.arrays(self.raw, self.rows)
        return found

    def __getitem__(self, name: str) -> Array:
        """The input, [rows, ...]."""
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        """The name of the input."""
        return iter((self.kind.name,))

    def __len__(self) -> int:
        """Always 1."""
        return 1


def kind_of(
    signature: Runnable,
    name: str,
    source: np.dtype[Any],
    shape: tuple[int, ...],
    *,
    casts: bool = False,
) -> RowKind | None:
    """Return the kind of rows that a signature takes.

    Args:
        signature: the signature.
        name: the input's name.
        source: the dtype of the bytes.
        shape: the shape of a row.
        casts: whether float64 stands for any float, as in JSON.

    Returns:
        None if the signature takes no such rows, or another number of them; the error is then that
        of `feeds.check_feeds`.
    """
    inputs = signature.inputs
    spec = inputs.get(name)
    if spec is None or len(inputs) != 1:
        return None
    dtype = np.dtype(spec.dtype.numpy)
    if source.hasobject or (
        source != dtype and not (casts and source == np.float64 and dtype.kind == "f")
    ):
        return None
    dims = spec.shape.dims
    if dims is not None:
        if len(dims) != 1 + len(shape) or dims[0] is not None:
            return None
        wanted = zip(dims[1:], shape, strict=True)
        if any(want is not None and want != size for want, size in wanted):
            return None
    return RowKind(signature, name, source, dtype, shape)
