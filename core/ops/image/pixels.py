"""The dtypes of pixels, and their ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype
from pinnace.ops.array import casting, identities, saturation
from pinnace.ops.math import arithmetic, division

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["convert_image_dtype"]


def convert_image_dtype(
    image: TensorLike, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Pixels in another dtype: floats range from 0 to 1, integers from 0 to the largest.

    Args:
        image: any shape, a real type.
        dtype: a real type.
        saturate: whether values outside of an integer type's range are clamped; else they wrap.
        name: name of the node while tracing.

    Raises:
        AttributeError: a type that is neither integer nor floating point.
    """
    x = convert_to_tensor(image)
    kind = as_dtype(dtype)
    for one in (kind, x.dtype):
        if not (one.is_floating or one.is_integer):
            raise AttributeError(
                f"convert_image_dtype: pixels are integers or floats, not {one.name}"
            )
    if kind is x.dtype:
        return identities.identity(x, name)
    cast = saturation.saturate_cast if saturate else casting.cast
    if x.dtype.is_integer and kind.is_integer:
        if x.dtype.max > kind.max:
            scale = (x.dtype.max + 1) // (kind.max + 1)
            return cast(division.floordiv(x, convert_to_tensor(scale, x.dtype)), kind, name)
        scale = (kind.max + 1) // (x.dtype.max + 1)
        return arithmetic.multiply(cast(x, kind), convert_to_tensor(scale, kind), name)
    if x.dtype.is_floating and kind.is_floating:
        return casting.cast(x, kind, name)
    if x.dtype.is_integer:
        return arithmetic.multiply(casting.cast(x, kind), 1.0 / x.dtype.max, name)
    # TensorFlow truncates, so half a step is added.
    return cast(arithmetic.multiply(x, kind.max + 0.5), kind, name)
