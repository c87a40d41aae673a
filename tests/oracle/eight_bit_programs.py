"""Layers of networks in eight bits: integers with a range, or with a scale; see `both`.

python eight_bit_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
raw = tf.raw_ops
KINDS = {
    "quint8": (np.uint8, tf.uint8, tf.quint8),
    "qint8": (np.int8, tf.int8, tf.qint8),
    "qint32": (np.int32, tf.int32, tf.qint32),
}
PLAIN = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32}


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if getattr(x, "dtype", None) in PLAIN:
        x = tf.bitcast(x, PLAIN[x.dtype])
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.reshape(-1).tolist()]


def told(call: Any) -> Any:
    """What a call gives, or that it refuses."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        return "refused"


def drawn(kind: str, shape: Any, seed: int, most: int | None = None) -> Any:
    number, plain_kind, quantized = KINDS[kind]
    info = np.iinfo(number)
    low, high = (info.min, info.max) if most is None else (-most, most)
    numbers = np.random.default_rng(seed).integers(low, high, shape, endpoint=True)
    return tf.bitcast(tf.constant(numbers.astype(number), plain_kind), quantized)


def bounds(names: str, *pairs: tuple[float, float]) -> Any:
    found = {}
    for name, (low, high) in zip(names.split(), pairs, strict=True):
        found[name.format("min")] = tf.constant(low, tf.float32)
        found[name.format("max")] = tf.constant(high, tf.float32)
    return found


RANGES = ((-1.0, 1.0), (0.0, 6.0), (-3.25, 7.5), (-10.0, 0.5), (0.1, 2.0))


def products() -> Any:
    found = []
    for seed, a in enumerate(RANGES):
        for b in RANGES[seed:]:
            x, y = drawn("quint8", (3, 5), seed), drawn("quint8", (5, 4), seed + 9)
            limits = bounds("{}_a {}_b", a, b)
            found.append(told(lambda x=x, y=y, k=limits: raw.QuantizedMatMul(a=x, b=y, **k)))
            flipped = {"transpose_a": True, "transpose_b": True}
            x, y = drawn("quint8", (5, 3), seed), drawn("quint8", (4, 5), seed + 9)
            found.append(
                told(lambda x=x, y=y, k={**limits, **flipped}: raw.QuantizedMatMul(a=x, b=y, **k))
            )
    wrong = drawn("quint8", (3, 4), 1)
    limits = bounds("{}_a {}_b", RANGES[0], RANGES[1])
    found.append(told(lambda: raw.QuantizedMatMul(a=wrong, b=wrong, **limits)))
    limits["min_a"] = tf.constant([1.0, 2.0])
    found.append(told(lambda: raw.QuantizedMatMul(a=drawn("quint8", (4, 3), 1), b=wrong, **limits)))
    return found


def convolutions() -> Any:
    found = []
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            for size in ((1, 1), (2, 3), (3, 3)):
                x = drawn("quint8", (2, 6, 7, 3), stride)
                w = drawn("quint8", (*size, 3, 4), stride + 5)
                limits = bounds("{}_input {}_filter", (-1.5, 2.0), (-0.5, 0.75))
                found.append(
                    told(
                        lambda x=x, w=w, k=limits, s=stride, p=padding: raw.QuantizedConv2D(
                            input=x, filter=w, **k, strides=[1, s, s, 1], padding=p
                        )
                    )
                )
    x, w = drawn("quint8", (1, 4, 4, 2), 1), drawn("quint8", (2, 2, 3, 1), 1)
    limits = bounds("{}_input {}_filter", (-1.5, 2.0), (-0.5, 0.75))
    options = {"padding": "SAME", "strides": [1, 1, 1, 1]}
    found.append(told(lambda: raw.QuantizedConv2D(input=x, filter=w, **limits, **options)))
    return found


def sums() -> Any:
    found = []
    for kind in ("quint8", "qint8"):
        for op in (raw.QuantizedAdd, raw.QuantizedMul) if kind == "quint8" else ():
            for shapes in (((6,), (6,)), ((3, 4), (4,)), ((), (5,)), ((4,), (2, 4))):
                for a, b in zip(RANGES[:4], reversed(RANGES[:4]), strict=True):
                    x, y = drawn(kind, shapes[0], 1), drawn(kind, shapes[1], 2)
                    limits = bounds("{}_x {}_y", a, b)
                    found.append(
                        told(lambda o=op, x=x, y=y, k=limits: o(x=x, y=y, **k, Toutput=tf.qint32))
                    )
        for a, b in zip(RANGES, reversed(RANGES), strict=True):
            x, y = drawn(kind, (2, 3, 4), 3), drawn(kind, (4,), 4)
            limits = bounds("{}_input {}_bias", a, b)
            found.append(
                told(
                    lambda x=x, y=y, k=limits: raw.QuantizedBiasAdd(
                        input=x, bias=y, **k, out_type=tf.qint32
                    )
                )
            )
    x = drawn("quint8", (3,), 3)
    limits = bounds("{}_x {}_y", (1.0, 1.0), (0.0, 1.0))
    return [*found, told(lambda: raw.QuantizedAdd(x=x, y=x, **limits, Toutput=tf.qint32))]


def activations() -> Any:
    found = []
    for a in RANGES:
        x = drawn("quint8", (4, 7), 5)
        limits = bounds("{}_features", a)
        limits["out_type"] = tf.quint8
        found += [
            told(lambda o=op, x=x, k=limits: o(features=x, **k))
            for op in (raw.QuantizedRelu, raw.QuantizedRelu6)
        ]
    return found


def pooling() -> Any:
    found = []
    for op, kinds in (
        (raw.QuantizedMaxPool, ("quint8", "qint8")),
        (raw.QuantizedAvgPool, ("quint8", "qint8")),
    ):
        for kind in kinds:
            for padding in ("SAME", "VALID"):
                for size, stride in ((2, 2), (3, 1), (3, 2)):
                    x = drawn(kind, (2, 6, 7, 3), size)
                    limits = bounds("{}_input", (-1.5, 2.0))
                    window = {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1]}
                    found.append(
                        told(
                            lambda o=op, x=x, k=limits, w=window, p=padding: o(
                                input=x, **k, **w, padding=p
                            )
                        )
                    )
    return found


def narrowing() -> Any:
    found = []
    for seed, a in enumerate(((-100.0, 100.0), (-3e4, 3e4), (-1.0, 9.0), (0.0, 50.0))):
        for most in (None, 1000, 1 << 20):
            x = drawn("qint32", (5, 8), seed, most)
            limits = {"input_min": tf.constant(a[0]), "input_max": tf.constant(a[1])}
            found.append(
                told(
                    lambda x=x, k=limits: raw.QuantizeDownAndShrinkRange(
                        input=x, **k, out_type=tf.quint8
                    )
                )
            )
            found.append(told(lambda x=x, k=limits: raw.RequantizationRange(input=x, **k)))
            for low, high, kind in (
                *((-2.0, 3.0, tf.quint8), (0.0, 6.0, tf.quint8), (-1.0, -0.5, tf.quint8)),
                *((1.0, 2.0, tf.quint8), (0.0, -1.0, tf.quint8), (-2.0, 3.0, tf.qint8)),
            ):
                found.append(
                    told(
                        lambda x=x, k=limits, a=low, b=high, d=kind: raw.Requantize(
                            input=x,
                            **k,
                            requested_output_min=tf.constant(a),
                            requested_output_max=tf.constant(b),
                            out_type=d,
                        )
                    )
                )
    return found


def shapes() -> Any:
    x = drawn("quint8", (4, 6), 1)
    limits = {"input_min": tf.constant(-1.0), "input_max": tf.constant(2.0)}
    return [
        told(lambda: raw.QuantizedReshape(tensor=x, shape=[3, -1], **limits)),
        told(lambda: raw.QuantizedReshape(tensor=x, shape=[5, -1], **limits)),
    ]


def normalization() -> Any:
    found, normalize = [], raw.QuantizedBatchNormWithGlobalNormalization
    for scaled in (True, False):
        for seed in range(3):
            parts = {"t": drawn("quint8", (2, 3, 2, 4), seed)}
            limits = {"t": (-4.0, 6.0), "m": (-1.0, 1.0), "v": (0.1, 3.0), "beta": (-2.0, 2.0)}
            limits["gamma"] = (0.0, 2.0)
            for place, name in enumerate(("m", "v", "beta", "gamma")):
                parts[name] = drawn("quint8", (4,), 10 * seed + place)
            given = {f"{name}_min": tf.constant(low) for name, (low, _) in limits.items()}
            given |= {f"{name}_max": tf.constant(high) for name, (_, high) in limits.items()}
            found.append(
                told(
                    lambda p=parts, k=given, s=scaled: normalize(
                        **p,
                        **k,
                        out_type=tf.qint32,
                        variance_epsilon=1e-3,
                        scale_after_normalization=s,
                    )
                )
            )
    return found


def limited(prefix: str, axis: int = -1, bits: int = 8) -> Any:
    most = (1 << (bits - 1)) - 1
    return {
        f"{prefix}quantization_axis": axis,
        f"{prefix}quantization_min_val": -most - 1,
        f"{prefix}quantization_max_val": most,
    }


def uniform() -> Any:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=18) * 3, np.arange(-3, 3) * 0.125]).astype(np.float32)
    x = x.reshape(4, 6)
    one = {"scales": tf.constant(0.25), "zero_points": tf.constant(3)}
    each = {
        "scales": tf.constant([0.25, 0.1, 0.5, 0.03]),
        "zero_points": tf.constant([3, -5, 0, 9]),
    }
    found = []
    for steps, axis in ((one, -1), (each, 0)):
        for kind, bits in (("qint8", 8), ("qint32", 32)):
            k = {**steps, **limited("", axis, bits)}
            found.append(
                told(lambda k=k, d=KINDS[kind][2]: raw.UniformQuantize(input=x, Tout=d, **k))
            )
            y = drawn(kind, (4, 6), 3, 100)
            found.append(
                told(lambda k=k, y=y: raw.UniformDequantize(input=y, Tout=tf.float32, **k))
            )
    for a, b in ((one, one), (one, each), (each, one), (each, each)):
        for old, new in (("qint8", "qint8"), ("qint32", "qint8")):
            y = drawn(old, (4, 6), 3, 120)
            found.append(
                told(
                    lambda a=a, b=b, y=y, o=old, n=new: raw.UniformRequantize(
                        input=y,
                        input_scales=a["scales"],
                        input_zero_points=a["zero_points"],
                        output_scales=b["scales"] * 1.75,
                        output_zero_points=b["zero_points"],
                        Tout=KINDS[n][2],
                        **limited("input_", -1 if a is one else 0, int(o[4:])),
                        **limited("output_", -1 if b is one else 0, int(n[4:])),
                    )
                )
            )
    return found


def uniform_products() -> Any:
    found = []
    lhs, rhs = drawn("qint8", (3, 5), 1), drawn("qint8", (5, 4), 2)
    x = np.random.default_rng(4).normal(size=(3, 5)).astype(np.float32)
    for axis, scales, zeros in ((-1, 0.02, 3), (1, [0.02, 0.5, 0.1, 0.03], [1, -2, 3, 0])):
        side = {"rhs_scales": tf.constant(scales), "rhs_zero_points": tf.constant(zeros)}
        found.append(
            told(
                lambda k=side, a=axis: raw.UniformQuantizedDot(
                    lhs=lhs,
                    rhs=rhs,
                    lhs_scales=tf.constant(0.3),
                    lhs_zero_points=tf.constant(-7),
                    **k,
                    output_scales=tf.constant(0.05),
                    output_zero_points=tf.constant(11),
                    Tout=tf.qint32,
                    **limited("lhs_"),
                    **limited("rhs_", a),
                    **limited("output_", -1, 32),
                )
            )
        )
        found.append(
            told(
                lambda k=side, a=axis: raw.UniformQuantizedDotHybrid(
                    lhs=x, rhs=rhs, **k, Tout=tf.float32, **limited("rhs_", a)
                )
            )
        )
    a, b = drawn("qint32", (3, 4), 5, 5000), drawn("qint32", (4,), 6, 5000)
    found.append(
        told(
            lambda: raw.UniformQuantizedAdd(
                lhs=a,
                rhs=b,
                lhs_scales=tf.constant(0.3),
                lhs_zero_points=tf.constant(-7),
                rhs_scales=tf.constant(0.2),
                rhs_zero_points=tf.constant(2),
                output_scales=tf.constant(0.05),
                output_zero_points=tf.constant(11),
                **limited("lhs_", -1, 32),
                **limited("rhs_", -1, 32),
                **limited("output_", -1, 32),
            )
        )
    )
    low, high = (tf.bitcast(tf.constant(n), tf.qint32) for n in (-1000, 2000))
    steps = {"scales": tf.constant(0.3), "zero_points": tf.constant(-7)}
    found.append(
        told(
            lambda: raw.UniformQuantizedClipByValue(
                operand=a, min=low, max=high, **steps, **limited("", -1, 32)
            )
        )
    )
    return found


def refused(call: Any) -> Any:
    """As `told`; TensorFlow's processors lack kernels that its signatures promise."""
    try:
        return told(call)
    except tf.errors.NotFoundError:
        return "refused"


# Shapes of both, without flips.
PAIRS = (((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)))
FLIPS = ("none", "transpose_a", "transpose_b", "adjoint_a", "adjoint_b")


def flipped(kind: str, shape: Any, seed: int, flips: bool) -> Any:
    number = np.int8 if kind == "int8" else np.uint8
    info = np.iinfo(number)
    shape = (*shape[:-2], shape[-1], shape[-2]) if flips else shape
    numbers = np.random.default_rng(seed).integers(info.min, info.max, shape, endpoint=True)
    numbers.reshape(-1)[:3] = info.max, info.min, info.max  # sums that eight bits do not hold
    return tf.constant(numbers.astype(number))


def sums_of_bytes() -> Any:
    """`output_type` of plain bytes: eager, and in a function that knows no shape."""
    found = {}
    for first in ("int8", "uint8"):
        for second in ("int8", "uint8"):
            for pair in PAIRS:
                for flip in FLIPS:
                    x = flipped(first, pair[0], 1, flip.endswith("_a"))
                    y = flipped(second, pair[1], 2, flip.endswith("_b"))
                    chosen = {} if flip == "none" else {flip: True}

                    def call(x: Any, y: Any, chosen: Any = chosen) -> Any:
                        return tf.matmul(x, y, output_type=tf.int32, **chosen)

                    traced = tf.function(
                        call,
                        input_signature=[
                            tf.TensorSpec(None, x.dtype),
                            tf.TensorSpec(None, y.dtype),
                        ],
                    )
                    where = f"{first} {second} {pair} {flip}"
                    found[where] = [told(lambda: call(x, y)), told(lambda: traced(x, y))]  # noqa: B023 - called at once
    return found


def output_types() -> Any:
    """Which products of integers there are, and which are refused."""
    kinds = ("int8", "uint8", "int16", "int32", "int64")
    found = {}
    for first in kinds:
        for second in kinds:
            for wanted in ("int16", "int32", "int64", "float32", "bfloat16"):
                if first == second == wanted == "int16":
                    continue  # a plain product, of which there is none in TensorFlow
                x, y = tf.ones([2, 3], first) * 100, tf.ones([3, 2], second) * 100
                where = f"{first} {second} {wanted}"
                found[where] = refused(lambda: tf.matmul(x, y, output_type=wanted))  # noqa: B023 - called at once
    return found


def sums_of_arrays() -> Any:
    """NumPy's arrays, beside tensors and each other."""
    x, y = np.array([[-56, 127]], np.int8), np.array([[255], [254]], np.uint8)
    return [
        told(lambda: tf.matmul(tf.constant(x), tf.constant(y), output_type=tf.int32)),
        told(lambda: tf.matmul(x, tf.constant(y), output_type=tf.int32)),
        told(lambda: tf.matmul(y.T, tf.constant(x.T), output_type="int32")),
        told(lambda: tf.matmul(tf.constant(x), [[3], [4]], output_type=tf.int32)),
    ]


PROGRAMS = {
    "products": products,
    "sums of bytes": sums_of_bytes,
    "output types": output_types,
    "sums of arrays": sums_of_arrays,
    "convolutions": convolutions,
    "sums": sums,
    "activations": activations,
    "pooling": pooling,
    "narrowing": narrowing,
    "shapes": shapes,
    "normalization": normalization,
    "uniform": uniform,
    "uniform products": uniform_products,
}


def main() -> None:
    warnings.simplefilter("ignore")
    found = {}
    for name, program in PROGRAMS.items():
        try:
            found[name] = program()
        except Exception as error:
            found[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write(json.dumps(found) + "\n")


main()
