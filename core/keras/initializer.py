"""Initializer: the base class of functions that return a weight's initial value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.constructed import Constructed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class Initializer(Constructed):
    """A function from a shape to a weight's initial value: `initializer(shape, dtype=None)`."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """A value of that shape; dtype `floatx()` if None."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(shape, dtype)")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer with a configuration."""
        return cls(**config)

    def clone(self) -> Initializer:
        """A copy with the same configuration."""
        return type(self).from_config(self.get_config())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_config() == self.get_config()

    __hash__ = object.__hash__
