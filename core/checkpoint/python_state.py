"""Python objects in a checkpoint, as bytes that they serialize themselves."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.tensor import Tensor, wrap
from pinnace.framework.trackable import Trackable

_KEY = "py_state"


class PythonState(Trackable):
    """A mixin for Python state: the string of `serialize` is saved and passed to `deserialize`."""

    @abstractmethod
    def serialize(self) -> bytes | str:
        """The bytes to save."""

    @abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Restore the saved state."""

    def _serialize_to_tensors(self) -> dict[str, Tensor]:
        value = self.serialize()
        array = np.empty((), object)
        array[()] = value.encode() if isinstance(value, str) else bytes(value)
        return {_KEY: wrap(array, dtypes.string)}

    def _restore_from_tensors(self, tensors: dict[str, Any]) -> None:
        self.deserialize(bytes(np.asarray(tensors[_KEY], object)[()]))
