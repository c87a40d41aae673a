"""Runs of a signature with shapes other than declared.

TensorFlow runs a graph on any shapes. Plans and compiled code here rely on the declared ones, so
other shapes get a separate plan of the same graph without declared shapes.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.framework.shapes import Shape
from pinnace.serving.errors import one_line
from pinnace.serving.running.feeds import misfits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.running.signatures import Arrays

_MOST_PLANS = 8  # per signature; clients choose the shapes


class Reshapeable(Protocol):
    """A function that can be run on arguments of other shapes."""

    def for_shapes(self, shapes: Mapping[str, Shape]) -> Callable[[Arrays], Arrays]:
        """The runner for those shapes."""


class OtherShapes:
    """The runner of a signature on shapes that it does not declare.

    Args:
        inputs: the declared specs.
        function: the signature's function.
    """

    def __init__(self, inputs: Mapping[str, TensorSpec], function: Reshapeable) -> None:
        self._inputs = inputs
        self._function = function
        self._lock = threading.Lock()
        self._plans: dict[tuple[Shape, ...], Callable[[Arrays], Arrays]] = {}

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """Return the outputs for these inputs.

        Raises:
            InvalidArgumentError: an op refuses them; the message also has the declared specs.
        """
        try:
            return self._plan(feeds)(feeds)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(self._refusal(error, feeds)) from error
        except OpError:
            raise
        except (ValueError, IndexError, TypeError) as error:
            # A kernel that relied on shapes being checked: the check's error is clearer.
            exact = {name: Shape(list(array.shape)) for name, array in feeds.items()}
            try:
                self._function.for_shapes(exact)
            except InvalidArgumentError as better:
                raise InvalidArgumentError(self._refusal(better, feeds)) from error
            raise InvalidArgumentError(self._refusal(error, feeds)) from error

    def _refusal(self, error: Exception, feeds: Arrays) -> str:
        return f"{one_line(error)}\n  {misfits(self._inputs, feeds)}"

    def _plan(self, feeds: Arrays) -> Callable[[Arrays], Arrays]:
        shapes = {name: _open(spec, feeds[name].shape) for name, spec in self._inputs.items()}
        key = tuple(shapes.values())
        with self._lock:  # one thread creates a plan; the others wait for it
            found = self._plans.get(key)
            if found is None:
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.pop(next(iter(self._plans)))
                found = self._plans[key] = self._function.for_shapes(shapes)
            return found


def _open(spec: TensorSpec, shape: tuple[int, ...]) -> Shape:
    """The declared shape if it matches, otherwise unknown sizes, so that few plans are created."""
    dims = spec.shape.dims
    if dims is None:
        return spec.shape
    if len(dims) != len(shape):
        return Shape([None] * len(shape))
    return Shape([want if want == size else None for want, size in zip(dims, shape, strict=True)])
