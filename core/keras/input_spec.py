"""InputSpec: requirements for a layer's input, checked before each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping


class InputSpec:
    """Requirements on the rank, dtype and sizes of a layer's input.

    Args:
        dtype: accepted for Keras' sake; dtypes are not checked.
        shape: a shape that it must be compatible with.
        ndim: the rank.
        max_ndim: the highest rank.
        min_ndim: the lowest rank.
        axes: axis -> size.
        allow_last_axis_squeeze: whether a last axis of size 1 may be missing or too many.
        name: accepted for Keras' sake.
        optional: accepted for Keras' sake.
    """

    __slots__ = ("axes", "dtype", "max_ndim", "min_ndim", "name", "ndim", "shape", "squeeze")

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        ignored(
            "InputSpec",
            "optional inputs that are left out are not checked",
            False,
            optional=optional,
        )
        self.dtype = dtype
        self.shape = None if shape is None else Shape(shape)
        self.ndim = self.shape.rank if self.shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        self.squeeze = allow_last_axis_squeeze
        self.name = name

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "dtype": self.dtype,
            "shape": None if self.shape is None else self.shape.dims,
            "ndim": self.ndim,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """The spec with that configuration."""
        return cls(**config)

    def problem(self, shape: Shape) -> str | None:
        """The fault in an input of that shape; None if it fits."""
        dims = shape.dims
        if dims is None:
            return None
        dims = self._squeezed(dims)
        rank = len(dims)
        if self.ndim is not None and rank != self.ndim:
            return f"must have rank {self.ndim}"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"must have rank at most {self.max_ndim}"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f"must have rank at least {self.min_ndim}"
        for axis, size in self.axes.items():
            if size is not None and -rank <= axis < rank and dims[axis] not in {size, None}:
                return f"must have size {size} on axis {axis}"
        if self.shape is not None and not self.shape.is_compatible_with(dims):
            return (
                f"must have shape {self.shape.text} (expected shape={tuple(self.shape)}, "
                f"found shape={tuple(dims)})"
            )
        return None

    def _squeezed(self, dims: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The sizes, with a last axis of size 1 dropped or added if they fit then."""
        if not self.squeeze or self.shape is None or not self.shape.dims:
            return dims
        wanted = self.shape.dims
        if len(dims) == len(wanted) + 1 and dims[-1] == 1:
            return dims[:-1]
        if len(dims) == len(wanted) - 1 and wanted[-1] == 1:
            return (*dims, 1)
        return dims

    def __repr__(self) -> str:
        given = {key: value for key, value in self.get_config().items() if value}
        return f"InputSpec({', '.join(f'{key}={value}' for key, value in given.items())})"


def check_inputs(spec: Any, inputs: Any, layer: str) -> None:
    """Raise for inputs that a layer does not accept.

    Args:
        spec: an InputSpec, or a structure of them.
        inputs: tensors, in a structure.
        layer: how the message calls the layer: `Dense 'dense_1'`.

    Raises:
        ValueError: an input does not fit, or their number is wrong.
    """
    specs = structure.flatten(spec)
    found = structure.flatten(inputs)
    if len(specs) != len(found):
        raise ValueError(f"{layer} takes {len(specs)} inputs, got {len(found)}")
    for index, (one, x) in enumerate(zip(specs, found, strict=True)):
        if one is None or not hasattr(x, "shape"):
            continue
        problem = one.problem(Shape(x.shape))
        if problem:
            which = "its input" if len(specs) == 1 else f"input {index}"
            kind = getattr(x.dtype, "name", x.dtype)
            raise ValueError(
                f"{layer}: {which} is incompatible with the layer: it {problem}, "
                f"got {kind}{Shape(x.shape).text}"
            )
