"""The maximum of each window: MaxPool, and the ops of its first and second gradient."""

from collections.abc import Callable
from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.dtypes import FLOATS, REAL, float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor
from pinnace.ops import flops
from pinnace.ops.array import constants
from pinnace.ops.execute import execute
from pinnace.ops.kernels import pooling as kernels
from pinnace.ops.nn import image_rows
from pinnace.ops.nn.pooling.windows import (
    Windows,
    inferred,
    like_input,
    like_output,
    passed_on,
    pooled_shape,
    pooling_attrs,
)
from pinnace.ops.opdef import InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import define, same_as_input

_V2_ATTRS = {
    name: definition
    for name, definition in pooling_attrs(2).items()
    if name not in {"ksize", "strides"}
}

# The dtypes of MaxPool3D: those of TensorFlow's CPU kernels, and float64.
_POOLED = REAL - {dtypes.uint32, dtypes.uint64}

_VOLUME_FLOATS = FLOATS | {float64}


def _max(x: Array, windows: Windows) -> Array:
    x = windows.last(x)
    y = kernels.max_pool(x, windows.ksize, windows.strides, windows.pads(x.shape))
    return windows.given(y)


def _to_grad(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    """The gradient of a maximum by `op`, from input, output and dy."""

    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        x, *rest = call.inputs
        options = passed_on(call, op())
        dx = execute(op(), x, call.outputs[0], dy, *rest, **options)
        return (dx, *(None for _ in rest))

    return gradient


def _max_pool_kernel(
    input: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    explicit_paddings: tuple[int, ...] = (),
) -> Array:
    return _max(input, Windows(ksize, strides, padding, data_format, explicit_paddings))


MAX_POOL: OpDef = define(
    name="MaxPool",
    signature="input: T -> output: T",
    types={"T": typed(_POOLED, float32)},
    attrs=pooling_attrs(2, explicit=True),
    infer=inferred,
    wide=True,
    kernel=_max_pool_kernel,
    gradient=_to_grad(lambda: MAX_POOL_GRAD),
    batch=image_rows.FOLDED,
    flops=flops.pooling,
)


def max_gradient(
    x: Array,
    y: Array,
    dy: Array,
    windows: Windows,
    ties: kernels.Ties,
    rectified: bool = False,
    out: Array | None = None,
) -> Array:
    """The gradient of a maximum; see `kernels.pooling.max_pool_gradient`.

    Args:
        x: images, or volumes, in the format of the windows.
        y: their maxima.
        dy: gradient of y.
        windows: the windows of the op.
        ties: which of several maxima gets the gradient.
        rectified: only where x is positive.
        out: filled if given; channels last, float32, C-contiguous.

    Returns:
        The shape of x, dtype of dy.
    """
    x, y, dy = windows.last(x), windows.last(y), windows.last(dy)
    pads = windows.pads(x.shape)
    given = windows.ksize, windows.strides, pads
    dx = kernels.max_pool_gradient(x, y, dy, *given, ties, rectified, out)
    return windows.given(dx)


def _to_other(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    """The gradient of a maximum's gradient, linear in its third input; indices are constant."""

    def gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        x, y, _, *rest = call.inputs
        options = passed_on(call, op())
        return (
            constants.zeros_like(x),
            constants.zeros_like(y),
            execute(op(), x, y, ddx, *rest, **options),
            *(None for _ in rest),
        )

    return gradient


def _max_pool_grad_kernel(
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    explicit_paddings: tuple[int, ...] = (),
) -> Array:
    windows = Windows(ksize, strides, padding, data_format, explicit_paddings)
    # TensorFlow: in volumes every maximum of a window gets the gradient, in images the first one.
    ties: kernels.Ties = "first" if grad.ndim == 4 else "every"
    return max_gradient(orig_input, orig_output, grad, windows, ties)


MAX_POOL_GRAD: OpDef = define(
    name="MaxPoolGrad",
    signature="orig_input: T, orig_output: T, grad: T -> output: T",
    types={"T": typed(REAL, float32)},
    attrs=pooling_attrs(2, explicit=True),
    infer=like_input,
    wide=True,
    kernel=_max_pool_grad_kernel,
    gradient=_to_other(lambda: MAX_POOL_GRAD_GRAD),
)


def _at_maxima(x: Array, values: Array, windows: Windows) -> Array:
    """`values`, in the shape of x, at the positions of maxima, in the output's shape."""
    x, values = windows.last(x), windows.last(values)
    pads = windows.pads(x.shape)
    _, places = kernels.max_pool_with_argmax(
        x, windows.ksize, windows.strides, pads, include_batch_in_index=True
    )
    return windows.given(values.reshape(-1)[places])


def _max_pool_grad_grad_kernel(
    orig_input: Array,
    orig_output: Array,  # noqa: ARG001 (the places follow from the input)
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _at_maxima(orig_input, grad, Windows(ksize, strides, padding, data_format))


MAX_POOL_GRAD_GRAD: OpDef = define(
    name="MaxPoolGradGrad",
    signature="orig_input: T, orig_output: T, grad: T -> output: T",
    types={"T": REAL},
    attrs=pooling_attrs(2),
    infer=like_output,
    kernel=_max_pool_grad_grad_kernel,
    gradient=_to_other(lambda: MAX_POOL_GRAD),
)


def _windows_of(op: str, ksize: Array, strides: Array, padding: str, data_format: str) -> Windows:
    """The windows, from the values of input tensors."""
    for name, values in (("ksize", ksize), ("strides", strides)):
        if values.shape != (len(data_format),):
            raise InvalidArgumentError(
                f"{op}: {name} must have {len(data_format)} entries, got {values.tolist()}"
            )
        if values[0] != 1 or values.min() < 1:
            raise InvalidArgumentError(
                f"{op}: {name} must be positive, and 1 for the batch, got {values.tolist()}"
            )
    return Windows(ksize.tolist(), strides.tolist(), padding, data_format)


def _max_pool_grad_grad_v2_kernel(
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
    data_format: str,
) -> Array:
    windows = _windows_of("MaxPoolGradGradV2", ksize, strides, padding, data_format)
    found = _at_maxima(orig_input, grad, windows)
    if found.shape != orig_output.shape:
        raise InvalidArgumentError(
            f"MaxPoolGradGradV2: orig_output must have shape {list(found.shape)}, which pooling "
            f"orig_input gives, got {list(orig_output.shape)}"
        )
    return found


MAX_POOL_GRAD_GRAD_V2: OpDef = define(
    name="MaxPoolGradGradV2",
    signature="orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    types={"T": REAL},
    attrs=_V2_ATTRS,
    infer=like_output,
    kernel=_max_pool_grad_grad_v2_kernel,
    gradient=_to_other(lambda: MAX_POOL_GRAD_V2),
)


def _max_pool_grad_v2_kernel(
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
    data_format: str,
) -> Array:
    windows = _windows_of("MaxPoolGradV2", ksize, strides, padding, data_format)
    return max_gradient(orig_input, orig_output, grad, windows, "first")


MAX_POOL_GRAD_V2: OpDef = define(
    name="MaxPoolGradV2",
    signature="orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    types={"T": typed(REAL, float32)},
    attrs=_V2_ATTRS,
    infer=same_as_input,
    kernel=_max_pool_grad_v2_kernel,
    gradient=_to_other(lambda: MAX_POOL_GRAD_GRAD_V2),
)


def _max_pool_v2_kernel(
    input: Array, ksize: Array, strides: Array, *, padding: str, data_format: str
) -> Array:
    return _max(input, _windows_of("MaxPoolV2", ksize, strides, padding, data_format))


def _infer_v2(call: InferCall) -> Shape:
    ksize, strides = call.constant(1), call.constant(2)
    if ksize is None or strides is None:
        return Shape([call.spec(0).shape[0], None, None, None])
    return pooled_shape(call, tuple(ksize.tolist()), tuple(strides.tolist()))


MAX_POOL_V2: OpDef = define(
    name="MaxPoolV2",
    signature="input: T, ksize: int32, strides: int32 -> output: T",
    types={"T": typed(_POOLED, float32)},
    attrs=_V2_ATTRS,
    infer=_infer_v2,
    kernel=_max_pool_v2_kernel,
    gradient=_to_grad(lambda: MAX_POOL_GRAD_V2),
)


MAX_POOL_3D: OpDef = define(
    name="MaxPool3D",
    signature="input: T -> output: T",
    types={"T": _VOLUME_FLOATS},
    attrs=pooling_attrs(3),
    infer=inferred,
    wide=True,
    kernel=_max_pool_kernel,
    gradient=_to_grad(lambda: MAX_POOL_3D_GRAD),
    flops=flops.pooling,
)


MAX_POOL_3D_GRAD: OpDef = define(
    name="MaxPool3DGrad",
    signature="orig_input: TInput, orig_output: TInput, grad: T -> output: T",
    types={"T": typed(_VOLUME_FLOATS, float32), "TInput": typed(_VOLUME_FLOATS, float32)},
    attrs=pooling_attrs(3),
    infer=like_input,
    wide=True,
    kernel=_max_pool_grad_kernel,
    gradient=_to_other(lambda: MAX_POOL_3D_GRAD_GRAD),
)
MAX_POOL_3D_GRAD_GRAD: OpDef = define(
    name="MaxPool3DGradGrad",
    signature="orig_input: T, orig_output: T, grad: T -> output: T",
    types={"T": REAL},
    attrs=pooling_attrs(3),
    infer=like_output,
    kernel=_max_pool_grad_grad_kernel,
    gradient=_to_other(lambda: MAX_POOL_3D_GRAD),
)
