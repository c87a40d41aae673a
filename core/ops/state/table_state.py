"""The state of a lookup table: keys, values, and rules of change."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array


# The suffixes of the keys under which checkpoints keep a table, as TensorFlow has them.
KEYS = "-keys"


VALUES = "-values"


class Table:
    """A dictionary behind a handle.

    Args:
        key_dtype: dtype of the keys, which are scalars.
        value_dtype: dtype of the values.
        value_shape: shape of one value.
        mutable: whether entries may come and go; if not, it is filled once.
        reserved: keys that it may not hold, with what they are called.
        name: name in error messages.
    """

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: Sequence[int] = (),
        *,
        mutable: bool = True,
        reserved: dict[Any, str] | None = None,
        name: str = "table",
    ) -> None:
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.value_shape = tuple(value_shape)
        self.mutable = mutable
        self.name = name
        self._reserved = reserved or {}
        self._entries: dict[Any, Any] = {}
        # Whether checkpoints contain the entries.
        self.stored = True
        self._filled = mutable
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle; a copy has its own lock."""
        with self._lock:
            return {**self.__dict__, "_entries": dict(self._entries), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    @property
    def is_dense(self) -> bool:
        """Whether special keys mark empty and deleted entries, as in MutableDenseHashTableV2."""
        return bool(self._reserved)

    @property
    def is_initialized(self) -> bool:
        """Whether it may be looked up."""
        return self._filled

    def __repr__(self) -> str:
        return (
            f"<Table {self.name!r} {self.key_dtype.name} -> "
            f"{self.value_dtype.name}{list(self.value_shape)}>"
        )

    # Reading.

    def find(self, op: str, keys: Array, default: Array) -> Array:
        """The values of keys, with the default for missing ones.

        Args:
            op: who asks, for errors.
            keys: any shape.
            default: a value, or one per key.
        """
        shape = (*keys.shape, *self.value_shape)
        each = default.shape == shape and default.shape != self.value_shape
        if not each and default.shape != self.value_shape:
            self._fail(
                op,
                f"default_value must have the shape of a value, {list(self.value_shape)}, got "
                f"{list(default.shape)}",
            )
        wanted = keys.reshape(-1).tolist()
        self._check_keys(op, wanted)
        with self._lock:
            self._require_filled(op)
            if self.value_shape or each:
                rows = self._rows(wanted, default, each)
            else:
                get, other = self._entries.get, default.reshape(-1).tolist()[0]
                rows = _array([get(key, other) for key in wanted], self.value_dtype)
        return rows.reshape(shape)

    def _rows(self, wanted: list[Any], default: Array, each: bool) -> Array:
        defaults = default.reshape(len(wanted), *self.value_shape) if each else None
        out = np.empty((len(wanted), *self.value_shape), self.value_dtype.numpy)
        for place, key in enumerate(wanted):
            found = self._entries.get(key, _MISSING)
            if found is not _MISSING:
                out[place] = found
            else:
                out[place] = default if defaults is None else defaults[place]
        return out

    def __len__(self) -> int:
        return len(self._entries)

    def export(self, op: str) -> tuple[Array, Array]:
        """Keys and values in the order of insertion."""
        with self._lock:
            self._require_filled(op)
            entries = list(self._entries.items())
        values = np.empty((len(entries), *self.value_shape), self.value_dtype.numpy)
        for place, (_, value) in enumerate(entries):
            values[place] = value
        return _array([key for key, _ in entries], self.key_dtype), values

    # Writing.

    def fill(self, op: str, keys: Array, values: Array) -> None:
        """Give a table its entries, once; again only if they are the same.

        Raises:
            FailedPreconditionError: a key comes twice, with different values; it holds
                other entries already.
        """
        found: dict[Any, Any] = {}
        for key, value in self._pairs(op, keys, values):
            known = found.setdefault(key, value)
            if known is not value and not _same(known, value):
                raise FailedPreconditionError(
                    f"{op}: table {self.name!r} has different value for same key: key {key!r} has "
                    f"two values, {known!r} and {value!r}"
                )
        with self._lock:
            if self._filled and not _equal(self._entries, found):
                raise FailedPreconditionError(
                    f"{op}: table {self.name!r} is initialised already, with other entries"
                )
            self._entries = found
            self._filled = True

    def replace(self, op: str, keys: Array, values: Array) -> None:
        """Replace all entries; reserved keys are ignored."""
        if not self.mutable:
            self.fill(op, keys, values)
            return
        found = {
            key: value
            for key, value in self._pairs(op, keys, values, reserved=True)
            if key not in self._reserved
        }
        with self._lock:
            self._entries = found

    def insert(self, op: str, keys: Array, values: Array) -> None:
        """Add entries; of duplicate keys the last value remains."""
        self._require_mutable(op)
        found = dict(self._pairs(op, keys, values))
        with self._lock:
            self._entries.update(found)

    def remove(self, op: str, keys: Array) -> None:
        """Remove the entries of these keys; missing keys are ignored."""
        self._require_mutable(op)
        wanted = keys.reshape(-1).tolist()
        self._check_keys(op, wanted)
        with self._lock:
            for key in wanted:
                self._entries.pop(key, None)

    def stored_values(self) -> dict[str, Array]:
        """The table's arrays for checkpoints by suffix; empty for a table that is filled once."""
        if not self.mutable or not self.stored:
            return {}
        keys, values = self.export("save")
        return {KEYS: keys, VALUES: values}

    def restore_values(self, values: dict[str, Array]) -> None:
        """Restore the arrays of `stored_values`.

        Raises:
            InvalidArgumentError: the arrays are those of another kind of table.
        """
        if self.mutable and KEYS in values and VALUES in values:
            keys = np.asarray(values[KEYS])
            for array, dtype in ((keys, self.key_dtype), (values[VALUES], self.value_dtype)):
                if array.dtype != dtype.numpy:
                    self._fail("restore", f"stored entries are {array.dtype}, not {dtype.name}")
            self.replace("restore", keys, np.asarray(values[VALUES]))

    def _pairs(
        self, op: str, keys: Array, values: Array, *, reserved: bool = False
    ) -> list[tuple[Any, Any]]:
        expected = (*keys.shape, *self.value_shape)
        if values.shape != expected:
            self._fail(
                op,
                f"values must have shape {list(expected)}, that of the keys and of a value, got "
                f"{list(values.shape)}",
            )
        names = keys.reshape(-1).tolist()
        if not reserved:
            self._check_keys(op, names)
        if not self.value_shape:
            return list(zip(names, values.reshape(-1).tolist(), strict=True))
        rows = values.reshape(len(names), *self.value_shape).copy()
        return list(zip(names, rows, strict=True))

    def _check_keys(self, op: str, keys: list[Any]) -> None:
        for key, what in self._reserved.items():
            if key in keys:
                self._fail(op, f"{key!r} is the {what}, which cannot be a key")

    def _require_filled(self, op: str) -> None:
        if not self._filled:
            raise FailedPreconditionError(
                f"{op}: table {self.name!r} is not initialised: it has no entries yet"
            )

    def _require_mutable(self, op: str) -> None:
        if not self.mutable:
            raise UnimplementedError(
                f"{op}: table {self.name!r} is static: its entries cannot change"
            )

    def _fail(self, op: str, problem: str) -> NoReturn:
        raise InvalidArgumentError(f"{op}: {problem}\n  {self!r}")

    def check_types(self, op: str, key_dtype: DType, value_dtype: DType | None = None) -> None:
        """Check that a call has the table's dtypes.

        Raises:
            InvalidArgumentError: the dtypes differ.
        """
        if key_dtype is not self.key_dtype:
            self._fail(op, f"keys must be {self.key_dtype.name}, got {key_dtype.name}")
        if value_dtype is not None and value_dtype is not self.value_dtype:
            self._fail(op, f"values must be {self.value_dtype.name}, got {value_dtype.name}")


_MISSING = object()


def _array(items: list[Any], dtype: DType) -> Array:
    if not dtype.numpy.hasobject:
        return np.array(items, dtype.numpy)
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))


def _equal(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return len(a) == len(b) and all(key in b and _same(value, b[key]) for key, value in a.items())
