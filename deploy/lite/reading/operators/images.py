"""Image resizing; local response normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.registry import Call, op, reads

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


@reads("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(call: Call) -> Tensor:
    """Images resized to a size that is an input."""
    options = call.options
    name = "ResizeBilinear" if call.kind == "RESIZE_BILINEAR" else "ResizeNearestNeighbor"
    how = {key: bool(options[key]) for key in ("align_corners", "half_pixel_centers")}
    return op(name, call.x(0), call.stored(1), **how)


@reads("LOCAL_RESPONSE_NORMALIZATION")
def local_response(call: Call) -> Tensor:
    """Local response normalisation over neighbouring channels."""
    options = call.options
    return op(
        "LRN",
        call.x(),
        depth_radius=int(options["radius"]),
        bias=float(options["bias"]),
        alpha=float(options["alpha"]),
        beta=float(options["beta"]),
    )
