"""The values of a layer or optimizer in a weights file: its variables, or as its class defines."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import ResourceExhaustedError
from pinnace.keras.layer import Layer
from pinnace.keras.layers.adapted import AdaptableLayer
from pinnace.keras.optimizers.optimizer import Optimizer
from pinnace.keras.saving import hdf5_checksum, hdf5_files

if TYPE_CHECKING:
    from pinnace.framework.variable import Variable

# Arrays of unknown shape: the most that HDF5 may expand them, from this size on.
_TIMES = 1000
_FREE = 64 << 20


class Store(MutableMapping[str, Any]):
    """The argument of `save_own_variables` and `load_own_variables`: a file's group, as a dict.

    Args:
        group: a group of an HDF5 file; None stands for an empty one, and nothing is written.
    """

    def __init__(self, group: Any) -> None:
        self._group = group

    def __getitem__(self, key: str) -> Any:
        data = None if self._group is None else hdf5_files.entry(self._group, key)
        if data is None:
            raise KeyError(key)
        if not hdf5_files.is_plain(data):
            raise ValueError(f"{key!r} is not a plain array in the file")
        if data.nbytes > max(_FREE, data.id.get_storage_size() * _TIMES):
            raise ResourceExhaustedError(
                f"load_own_variables: {key!r} would grow from {data.id.get_storage_size()} bytes "
                f"to {data.nbytes}"
            )
        return hdf5_files.values(data, data.dtype)

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self:
            del self._group[key]
        hdf5_checksum.put(self._group, key, storable(value))

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        del self._group[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group or ())

    def __len__(self) -> int:
        return 0 if self._group is None else len(self._group)

    def __contains__(self, key: object) -> bool:
        return self._group is not None and key in self._group


def storable(value: Any) -> Any:
    """A value that HDF5 supports: it has no bfloat16.

    Raises:
        ValueError: no numbers.
    """
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"save_own_variables: values must be numbers or bools, got {array.dtype} {value!r}"
        )
    return array


def says_itself(owner: Layer | Optimizer) -> bool:
    """Whether the class defines what is saved or how it is loaded."""
    base: Any = Layer if isinstance(owner, Layer) else Optimizer
    if isinstance(owner, AdaptableLayer) and not owner._is_adapted:
        base = AdaptableLayer
    return any(
        getattr(type(owner), name) is not getattr(base, name)
        for name in ("save_own_variables", "load_own_variables")
    )


def values_of(owner: Layer | Optimizer, group: Any) -> list[tuple[Variable, Any]]:
    """The variables with their values after `load_own_variables` of their class.

    The variables keep their values: the caller assigns, once the whole file is known to fit.

    Raises:
        ValueError: the class does not take what the group has.
    """
    before = [(variable, variable.numpy()) for variable in owner.variables]
    try:
        owner.load_own_variables(Store(group))
        return [(variable, variable.numpy()) for variable in owner.variables]
    except Exception as error:
        raise ValueError(f"load_own_variables: {type(error).__name__}: {error}") from error
    finally:
        for variable, value in before:
            variable.assign(value)
