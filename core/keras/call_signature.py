"""What `call` and `build` of a layer's class take: read off their signatures once per class."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable


class CallSignature:
    """The parameters of a `call` method, `self` left out.

    Attributes:
        names: of the parameters that can be given by position.
        training: place of `training` among them; -1 if it is a keyword, None if there is none.
        training_default: its default.
        mask: whether there is a parameter `mask`.
    """

    __slots__ = ("mask", "names", "training", "training_default")

    def __init__(self, method: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(plain(method)).parameters.values())[1:]
        by_position = [
            p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
        ]
        names = [p.name for p in parameters]
        self.names = tuple(by_position)
        self.training: int | None = None
        self.training_default: Any = None
        if "training" in names:
            self.training = by_position.index("training") if "training" in by_position else -1
            default = parameters[names.index("training")].default
            self.training_default = None if default is inspect.Parameter.empty else default
        self.mask = "mask" in names


def plain(method: Any) -> Callable[..., Any]:
    """The Python function behind a method that may be decorated with `function`."""
    while hasattr(method, "python_function"):
        method = method.python_function
    return method  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1024)
def build_parameters(build: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a `build` method, `self` left out."""
    parameters = list(inspect.signature(inspect.unwrap(build)).parameters.values())[1:]
    return tuple(
        p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
    )


def takes_shape(parameter: str) -> bool:
    """Whether `build` wants shapes there, as Keras gives them, rather than TensorSpecs."""
    return parameter.endswith(("shape", "shapes"))


def as_specs(value: Any, dtype: str) -> Any:
    """Shapes, tensors and TensorSpecs, in any structure, as TensorSpecs.

    Args:
        value: a list or tuple of sizes is a shape.
        dtype: of what has only a shape.
    """
    if value is None or isinstance(value, TensorSpec):
        return value
    if isinstance(value, Shape) or _is_shape(value):
        return TensorSpec(value, dtype)
    if isinstance(value, dict):
        return {key: as_specs(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [as_specs(item, dtype) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return TensorSpec(Shape(value.shape), as_dtype(value.dtype))
    return value


def as_shapes(value: Any) -> Any:
    """TensorSpecs, in any structure, as Shapes."""
    return structure.map_structure(
        lambda item: item.shape if isinstance(item, TensorSpec) else item, value
    )


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        size is None or (isinstance(size, int) and not isinstance(size, bool)) for size in value
    )
