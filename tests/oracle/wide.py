"""Cases only for the oracle: more shapes and attributes than references support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from oracle.calls import Wide
from pinnace.framework import dtypes
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup
from support.opcase import tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable

Drawn: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


def wide(op: str, build: Callable[[st.DrawFn], Drawn], **options: Any) -> Wide:
    """A case of `op` whose inputs and attributes `build` draws together."""
    return Wide(op, st.composite(build)(), lambda *_: None, **options)


def numbers(draw: st.DrawFn, *shape: int, low: float = -8, high: float = 8) -> Any:
    """Numbers of few bits, so that sums of products are exact in float32."""
    seed = draw(st.integers(0, 2**16))
    steps = np.random.default_rng(seed).integers(int(low * 8), int(high * 8) + 1, shape)
    return steps / 8


def window(draw: st.DrawFn, axes: int, *, explicit: bool = False) -> tuple[Any, ...]:
    """Sizes of an input and a kernel; strides, dilations, padding by name or per axis."""
    small = st.integers(1, 3)
    sizes = [draw(st.integers(1, 6)) for _ in range(axes)]
    kernel = [draw(small) for _ in range(axes)]
    # TensorFlow: strides and dilations exclude each other.
    strides = [draw(small) for _ in range(axes)] if draw(st.booleans()) else [1] * axes
    free = explicit and max(strides) == 1
    dilations = [draw(st.integers(1, 2)) for _ in range(axes)] if free else [1] * axes
    padding = draw(st.sampled_from(["SAME", "VALID", *["EXPLICIT"] * explicit]))
    return sizes, kernel, strides, dilations, padding


def around(values: list[int]) -> tuple[int, ...]:
    """1 for the batch, the values, 1 for the channels."""
    return (1, *values, 1)


def out_size(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """The number of windows along an axis."""
    if padding == "SAME":
        return -(-size // stride)
    return max(-(-(size - (kernel - 1) * dilation) // stride), 0)


def fitting(sizes: list[int], kernel: list[int], dilations: list[int]) -> list[int]:
    """Sizes no smaller than a window: otherwise TensorFlow's process may end."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    return [max(pair) for pair in zip(sizes, reach, strict=True)]


def convolution(axes: int) -> Callable[[st.DrawFn], Drawn]:
    def build(draw: st.DrawFn) -> Drawn:
        sizes, kernel, strides, dilations, padding = window(draw, axes, explicit=axes == 2)
        groups = draw(st.integers(1, 2)) if axes == 2 else 1
        depth, filters = draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
        attrs: dict[str, Any] = {
            "strides": around(strides),
            "dilations": around(dilations),
            "padding": padding,
        }
        sizes = fitting(sizes, kernel, dilations)
        if padding == "EXPLICIT":
            pads = [draw(st.integers(0, 2)) for _ in range(4)]
            attrs["explicit_paddings"] = (0, 0, *pads, 0, 0)
        # No empty batch: TensorFlow's oneDNN kernels then return an output with the input's shape.
        x = numbers(draw, draw(st.integers(1, 2)), *sizes, groups * depth)
        return (x, numbers(draw, *kernel, depth, filters)), attrs

    return build


def backward(op: str, axes: int) -> Callable[[st.DrawFn], Drawn]:
    """Inputs of the gradient of a convolution with respect to its input or its filter."""

    def build(draw: st.DrawFn) -> Drawn:
        sizes, kernel, strides, dilations, padding = window(draw, axes)
        depth, filters, batch = (draw(st.integers(1, 3)) for _ in range(3))
        depthwise = op.startswith("Depthwise")
        if depthwise:
            strides = [strides[0]] * axes
        counts = [
            out_size(*facts, padding)
            for facts in zip(sizes, kernel, strides, dilations, strict=True)
        ]
        if min(counts) < 1:  # TensorFlow returns uninitialised memory, or crashes
            sizes, strides, counts = kernel, [1] * axes, [1] * axes
        dy = numbers(draw, batch, *counts, depth * filters if depthwise else filters)
        attrs = {"strides": around(strides), "dilations": around(dilations), "padding": padding}
        if "Input" in op:
            sizes_of = np.array([batch, *sizes, depth], np.int32)
            return (sizes_of, numbers(draw, *kernel, depth, filters), dy), attrs
        sizes_of = np.array([*kernel, depth, filters], np.int32)
        return (numbers(draw, batch, *sizes, depth), sizes_of, dy), attrs

    return build


def depthwise(draw: st.DrawFn) -> Drawn:
    sizes, kernel, strides, dilations, padding = window(draw, 2)
    sizes = fitting(sizes, kernel, dilations)
    depth, multiplier = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    x = numbers(draw, draw(st.integers(1, 2)), *sizes, depth)
    attrs = {"strides": around([strides[0]] * 2), "padding": padding}
    return (x, numbers(draw, *kernel, depth, multiplier)), attrs


def pooling(axes: int) -> Callable[[st.DrawFn], Drawn]:
    def build(draw: st.DrawFn) -> Drawn:
        sizes, kernel, strides, dilations, padding = window(draw, axes)
        sizes = fitting(sizes, kernel, dilations)
        x = numbers(draw, draw(st.integers(1, 2)), *sizes, draw(st.integers(1, 3)))
        attrs = {"ksize": around(kernel), "strides": around(strides), "padding": padding}
        return (x,), attrs

    return build


def pooling_v2(draw: st.DrawFn) -> Drawn:
    (x,), attrs = pooling(2)(draw)
    sizes = tuple(np.array(attrs.pop(name), np.int32) for name in ("ksize", "strides"))
    return (x, *sizes), attrs


def pooled(draw: st.DrawFn) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Distinct numbers, their maxima, other numbers of the same shape, and the windows."""
    (x,), attrs = pooling(2)(draw)
    x = np.random.default_rng(x.size).permutation(x.size).reshape(x.shape) / 8
    y, places = (
        np.asarray(out._array)
        for out in execute(lookup("MaxPoolWithArgmax"), tensors_of((x,))[0], **attrs)
    )
    ddx = numbers(draw, *x.shape)
    return x, y, (ddx, places), attrs


def second_maxima(draw: st.DrawFn) -> Drawn:
    x, y, (ddx, _), attrs = pooled(draw)
    sizes = tuple(np.array(attrs.pop(name), np.int32) for name in ("ksize", "strides"))
    return (x, y, ddx, *sizes), attrs


def second_maxima_at_places(draw: st.DrawFn) -> Drawn:
    x, _, (ddx, places), attrs = pooled(draw)
    return (x, ddx, places), attrs


def row_ids(draw: st.DrawFn) -> Drawn:
    """Rows, indices of some of them, and the segment of each index, sorted."""
    data = numbers(draw, draw(st.integers(1, 5)), draw(st.integers(0, 3)))
    places = draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=6))
    ids = sorted(draw(st.integers(0, 3)) for _ in places)
    return (data, np.array(places, np.int32), np.array(ids, np.int32)), {}


def row_ids_counted(draw: st.DrawFn) -> Drawn:
    inputs, attrs = row_ids(draw)
    return (*inputs, np.array(draw(st.integers(4, 6)), np.int32)), attrs


def sparse(draw: st.DrawFn, *, full: bool = False) -> tuple[Any, Any, Any]:
    """Indices in order, values and shape of a sparse matrix."""
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    places = st.integers(0, shape[0] * shape[1] - 1)
    chosen = sorted(draw(st.sets(places, min_size=1 if full else 0)))
    indices = np.stack(np.unravel_index(np.array(chosen, np.int64), shape), -1).astype(np.int64)
    return indices, numbers(draw, len(chosen)), np.array(shape, np.int64)


def with_dense(draw: st.DrawFn) -> Drawn:
    indices, values, shape = sparse(draw)
    return (indices, values, shape, numbers(draw, *shape.tolist(), low=1)), {}


def sparse_alone(draw: st.DrawFn) -> Drawn:
    return sparse(draw), {}


def sparse_with_axis(draw: st.DrawFn) -> Drawn:
    axes = np.array(draw(st.sampled_from([[], [0], [1], [-1], [0, 1]])), np.int32)
    return (*sparse(draw, full=True), axes), {"keep_dims": draw(st.booleans())}


def sparse_by_dense(draw: st.DrawFn) -> Drawn:
    indices, values, shape = sparse(draw)
    columns = draw(st.integers(1, 3))
    return (indices, values, shape, numbers(draw, int(shape[1]), columns)), {}


def sparse_to_dense(draw: st.DrawFn) -> Drawn:
    indices, values, shape = sparse(draw)
    return (indices, shape, values, np.array(0.5)), {}


def sparse_cut(draw: st.DrawFn) -> Drawn:
    indices, values, shape = sparse(draw)
    start = np.array([draw(st.integers(0, int(n))) for n in shape], np.int64)
    size = np.array([draw(st.integers(0, 4)) for _ in shape], np.int64)
    return (indices, values, shape, start, size), {}


def sparse_rows(draw: st.DrawFn) -> Drawn:
    return (*sparse(draw), np.array(0.25)), {}


def sparse_two(draw: st.DrawFn) -> Drawn:
    indices, values, shape = sparse(draw)
    other = draw(st.permutations(range(len(values))))
    kept = sorted(other[: len(values) // 2])
    return (indices, values, shape, indices[kept], numbers(draw, len(kept)), shape), {}


def sparse_sum_backwards(draw: st.DrawFn) -> Drawn:
    """The gradient of a sum of two sparse tensors; common indices occur once."""
    first, _, shape = sparse(draw)
    second = sparse(draw)[0]
    second = second[(second < shape).all(1)]
    either = {*map(tuple, first.tolist()), *map(tuple, second.tolist())}
    places = np.array(sorted(either), np.int64).reshape(-1, 2)
    return (numbers(draw, len(places)), first, second, places), {}


def sparse_reshaped(draw: st.DrawFn) -> Drawn:
    indices, _, shape = sparse(draw)
    return (indices, shape, np.array(draw(st.sampled_from([[-1], [1, -1]])), np.int64)), {}


def ragged_range(draw: st.DrawFn) -> Drawn:
    count = draw(st.integers(0, 4))
    starts = numbers(draw, count).astype(np.int32)
    limits = numbers(draw, count).astype(np.int32)
    return (starts, limits, np.array(draw(st.sampled_from([1, 2, -1])), np.int32)), {}


def normalization(*, training: bool) -> Callable[[st.DrawFn], Drawn]:
    def build(draw: st.DrawFn) -> Drawn:
        depth = draw(st.integers(1, 4))
        x = numbers(draw, *(draw(st.integers(1, 4)) for _ in range(3)), depth).astype(np.float32)
        scale, offset, mean = (numbers(draw, depth).astype(np.float32) for _ in range(3))
        variance = numbers(draw, depth, low=0.25).astype(np.float32)
        if training:
            mean = variance = np.zeros(0, np.float32)
        epsilon = draw(st.sampled_from([1e-3, 1e-4, 0.5]))
        attrs = {"epsilon": epsilon, "is_training": training}
        return (x, scale, offset, mean, variance), attrs

    return build


def response(draw: st.DrawFn) -> Drawn:
    x = numbers(draw, *(draw(st.integers(1, 3)) for _ in range(3)), draw(st.integers(1, 6)))
    attrs = {
        "depth_radius": draw(st.integers(0, 3)),
        "bias": draw(st.sampled_from([1.0, 2.0])),
        "alpha": draw(st.sampled_from([1.0, 0.25])),
        "beta": draw(st.sampled_from([0.5, 0.75])),
    }
    return (x.astype(np.float32),), attrs


def keyed(kind: str) -> Callable[[st.DrawFn], Drawn]:
    """Inputs of the stateless random ops of version 2."""

    def build(draw: st.DrawFn) -> Drawn:
        word = st.integers(0, 2**63)
        shape = np.array(draw(st.lists(st.integers(0, 4), max_size=3)), np.int32)
        key = np.array([draw(word)], np.uint64)
        algorithm = draw(st.sampled_from([1, 2, 3]))
        words = 1 if algorithm == 2 else 2
        counter = np.array([draw(word) for _ in range(words)], np.uint64)
        given: tuple[Any, ...] = (shape, key, counter, np.array(algorithm, np.int32))
        return _typed(draw, kind, given)

    return build


def seeded(kind: str) -> Callable[[st.DrawFn], Drawn]:
    """Inputs of the stateless random ops of version 1."""

    def build(draw: st.DrawFn) -> Drawn:
        shape = np.array(draw(st.lists(st.integers(0, 4), max_size=3)), np.int32)
        seed = np.array([draw(st.integers(-(2**62), 2**62)) for _ in range(2)], np.int64)
        return _typed(draw, kind, (shape, seed))

    return build


def _typed(draw: st.DrawFn, kind: str, given: tuple[Any, ...]) -> Drawn:
    if kind == "float":
        floats = [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]
        return given, {"dtype": draw(st.sampled_from(floats))}
    if kind == "bits":
        words = [dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64]
        return given, {"dtype": draw(st.sampled_from(words))}
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    low = draw(st.integers(-100, 100))
    high = low + draw(st.integers(1, 1000))
    return (*given, np.array(low, dtype), np.array(high, dtype)), {}


def appended(draw: st.DrawFn, parameters: Any) -> tuple[Any, Any]:
    """A shape that ends in that of the parameters, and a seed."""
    front = draw(st.lists(st.integers(0, 3), max_size=2))
    seed = np.array([draw(st.integers(-(2**62), 2**62)) for _ in range(2)], np.int64)
    return np.array([*front, *parameters.shape], np.int32), seed


def positive(draw: st.DrawFn) -> Any:
    shape = draw(st.sampled_from([(), (3,), (2, 1)]))
    return numbers(draw, *shape, low=0.125).astype(draw(st.sampled_from([np.float32, np.float64])))


def gamma(draw: st.DrawFn) -> Drawn:
    alpha = positive(draw)
    return (*appended(draw, alpha), alpha), {}


def gamma_of_key(draw: st.DrawFn) -> Drawn:
    alpha = positive(draw)
    shape, _ = appended(draw, alpha)
    word = st.integers(0, 2**63)
    key, counter = np.array([draw(word)], np.uint64), [draw(word), draw(word)]
    return (shape, key, np.array(counter, np.uint64), np.array(1, np.int32), alpha), {}


def poisson(draw: st.DrawFn) -> Drawn:
    rate = positive(draw) * draw(st.sampled_from([1, 8]))
    counted = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    return (*appended(draw, rate), rate), {"dtype": draw(st.sampled_from(counted))}


def binomial(draw: st.DrawFn) -> Drawn:
    chances = positive(draw) / 8
    trials = np.array(draw(st.integers(0, 60)), chances.dtype)
    counted = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    return (*appended(draw, chances), trials, chances), {"dtype": draw(st.sampled_from(counted))}


def drawn_classes(draw: st.DrawFn) -> Drawn:
    logits = numbers(draw, draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    seed = np.array([draw(st.integers(0, 2**31)), draw(st.integers(0, 99))], np.int64)
    return (logits.astype(np.float32), np.array(draw(st.integers(0, 5)), np.int32), seed), {}


def shuffled(draw: st.DrawFn) -> Drawn:
    value = numbers(draw, draw(st.integers(0, 6)), 2)
    word = st.integers(0, 2**63)
    counter = np.array([draw(word), draw(word)], np.uint64)
    return (value, np.array([draw(word)], np.uint64), counter, np.array(1, np.int32)), {}


def seed_pair(draw: st.DrawFn) -> Drawn:
    return (np.array([draw(st.integers(-(2**62), 2**62)) for _ in range(2)], np.int64),), {}


def template(draw: st.DrawFn) -> Drawn:
    values = tuple(
        numbers(draw, *draw(st.lists(st.integers(0, 8), max_size=2))).astype(np.int32)
        for _ in range(2)
    )
    return (values,), {"template": "a {} and {}.", "placeholder": "{}", "summarize": 3}


SERIES = "a sample moves as a quotient of series, each good to about 1e-13"
ROUNDED = "sums of squares and roots in another order"
CASES: tuple[Wide, ...] = (
    wide("Conv2D", convolution(2), slack=64.0, reason="up to 54 products"),
    wide("Conv3D", convolution(3), slack=64.0, reason="up to 81 products"),
    wide("DepthwiseConv2dNative", depthwise, slack=64.0, reason="up to 9 products"),
    *(
        wide(f"{op}", backward(op, axes), slack=256.0, reason="sums over the image")
        for op, axes in (
            ("Conv2DBackpropInput", 2),
            ("Conv2DBackpropFilter", 2),
            ("Conv3DBackpropInputV2", 3),
            ("Conv3DBackpropFilterV2", 3),
            ("DepthwiseConv2dNativeBackpropInput", 2),
            ("DepthwiseConv2dNativeBackpropFilter", 2),
        )
    ),
    wide("MaxPool", pooling(2)),
    wide("MaxPool3D", pooling(3)),
    wide("AvgPool", pooling(2)),
    wide("AvgPool3D", pooling(3)),
    *(
        wide(op, normalization(training=training), slack=512.0, reason=ROUNDED)
        for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
        for training in (True, False)
    ),
    wide("MaxPoolV2", pooling_v2),
    wide("MaxPoolGradGradV2", second_maxima),
    wide("MaxPoolGradGradWithArgmax", second_maxima_at_places),
    *(
        wide(f"SparseSegment{kind}", row_ids, slack=64.0, reason=ROUNDED)
        for kind in ("Sum", "Mean", "SqrtN")
    ),
    *(
        wide(f"SparseSegment{kind}WithNumSegments", row_ids_counted, slack=64.0, reason=ROUNDED)
        for kind in ("Sum", "Mean", "SqrtN")
    ),
    wide("SparseDenseCwiseAdd", with_dense),
    wide("SparseDenseCwiseMul", with_dense),
    wide("SparseDenseCwiseDiv", with_dense),
    wide("SparseTensorDenseAdd", with_dense),
    wide("SparseReorder", sparse_alone),
    wide("SparseSoftmax", sparse_alone, slack=64.0, reason=ROUNDED),
    wide("SparseReduceSum", sparse_with_axis, slack=64.0, reason=ROUNDED),
    wide("SparseReduceMax", sparse_with_axis),
    wide("SparseReduceSumSparse", sparse_with_axis, slack=64.0, reason=ROUNDED),
    wide("SparseReduceMaxSparse", sparse_with_axis),
    wide("SparseTensorDenseMatMul", sparse_by_dense, slack=64.0, reason="up to 4 products"),
    wide("SparseToDense", sparse_to_dense),
    wide("SparseSlice", sparse_cut),
    wide("SparseFillEmptyRows", sparse_rows),
    wide("SparseSparseMaximum", sparse_two),
    wide("SparseSparseMinimum", sparse_two),
    wide("SparseAddGrad", sparse_sum_backwards),
    wide("SparseReshape", sparse_reshaped),
    wide("RaggedRange", ragged_range),
    wide("LRN", response, slack=64.0, reason=ROUNDED),
    wide("StatelessRandomUniformV2", keyed("float")),
    wide("StatelessRandomNormalV2", keyed("float")),
    wide("StatelessTruncatedNormalV2", keyed("float")),
    wide("StatelessRandomUniformIntV2", keyed("range")),
    wide("StatelessRandomUniformFullIntV2", keyed("bits")),
    wide("StatelessRandomUniform", seeded("float")),
    wide("StatelessRandomNormal", seeded("float")),
    wide("StatelessTruncatedNormal", seeded("float")),
    wide("StatelessRandomUniformInt", seeded("range")),
    wide("StatelessRandomUniformFullInt", seeded("bits")),
    wide("StatelessRandomGammaV2", gamma, smooth=32.0, reason=SERIES),
    wide("StatelessRandomGammaV3", gamma_of_key, smooth=32.0, reason=SERIES),
    wide("StatelessRandomPoisson", poisson),
    wide("StatelessRandomBinomial", binomial),
    wide("StatelessMultinomial", drawn_classes),
    wide("StatelessShuffle", shuffled),
    wide("StatelessRandomGetKeyCounterAlg", seed_pair),
    wide("StringFormat", template),
)
