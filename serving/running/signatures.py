"""Runnable signatures, from named arrays to named arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy.typing as npt

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec

DEFAULT_SIGNATURE = "serving_default"

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]
Guard: TypeAlias = Callable[[Callable[[Arrays], Arrays]], Callable[[Arrays], Arrays]]


class Runnable(Protocol):
    """A signature: named arrays in, named arrays out. Many threads may run it at once."""

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """The specs of the inputs."""

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """The specs of the outputs."""

    @property
    def is_pure(self) -> bool:
        """Whether a run changes nothing, so that it may be repeated, or joined with other rows."""

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """Return the outputs for these inputs."""
