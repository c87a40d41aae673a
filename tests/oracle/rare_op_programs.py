"""Rare ops: Sobol points, glimpses, protobuf fields and the like; see `both`.

python rare_op_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
Field = descriptor_pb2.FieldDescriptorProto


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.hex()
    if isinstance(x, float):  # JSON has no infinity
        return x if np.isfinite(x) else str(x)
    if x is None or isinstance(x, (str, bool, int)):
        return x
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), plain(array.reshape(-1).tolist())]


def told(call: Any) -> Any:
    """The result of a call, or the class of its error."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError):
        return "ValueError"  # here the second class derives from the first
    except (tf.errors.OpError, LookupError, RuntimeError, TypeError) as error:
        return type(error).__name__


def sobol() -> Any:
    sample = tf.math.sobol_sample
    everything = np.asarray(sample(21200, 200, 5))
    wrong = ((0, 1, 0), (21201, 1, 0), (1, 0, 0), (1, 1, -1), (1, 2**31 - 1, 5))
    return [
        *(told(lambda a=a: sample(*a)) for a in ((5, 6), (3, 100, 77, tf.float64), (40, 9, 2**29))),
        [everything.sum(0, np.float64)[::131].tolist(), everything[-1, ::17].tolist()],
        told(lambda: tf.function(lambda n: sample(n, 3))(tf.constant(4))),
        *(told(lambda a=a: sample(*a)) for a in wrong),
    ]


def glimpses() -> Any:
    x = np.random.default_rng(0).normal(size=(3, 5, 7, 2)).astype(np.float32)
    places = ([[0, 0]] * 3, [[0.4, -0.3], [-0.9, 0.9], [3, 3]], [[1, 2], [-1.5, 2.7], [0.5, -0.5]])
    found = []
    for offsets in places:
        for centered in (True, False):
            for normalized in (True, False):
                for size in ((2, 3), (9, 9), (5, 2)):
                    options = {"centered": centered, "normalized": normalized, "noise": "zero"}
                    given = {"input": x, "size": size, "offsets": np.float32(offsets), **options}
                    found.append(told(lambda given=given: tf.image.extract_glimpse(**given)))
                    given["uniform_noise"] = False
                    found.append(told(lambda given=given: tf.raw_ops.ExtractGlimpse(**given)))
    noisy = [
        np.asarray(tf.image.extract_glimpse(x, (40, 40), [[0.0, 0.0]] * 3, noise=noise))
        for noise in ("uniform", "gaussian")
    ]
    # Noise is between the image's smallest and largest value.
    inside = [bool((n >= x.min()).all() and (n <= x.max()).all()) for n in noisy]
    wrong = ({"noise": "other"}, {"offsets": [[0.0, 0.0]]}, {"size": (1, 2, 3)})
    good = {"input": x, "size": (2, 2), "offsets": [[0.0, 0.0]] * 3}
    return [
        found,
        inside,
        *(told(lambda w=w: tf.image.extract_glimpse(**{**good, **w})) for w in wrong),
        told(lambda: tf.raw_ops.ExtractGlimpse(**good, uniform_noise=True, noise="zero")),
    ]


def truncated() -> Any:
    draw = tf.random.stateless_parameterized_truncated_normal
    infinity = float("inf")
    ranges = (
        *({}, {"minvals": -1.0, "maxvals": 1.0}, {"minvals": 3.0, "maxvals": infinity}),
        {"minvals": [-1.0, 0.0, -infinity], "maxvals": [2.0, 0.5, -2.0]},
        {"means": 1.0, "stddevs": 2.0, "minvals": 0.0, "maxvals": 20.0},
        {"minvals": 2.0, "maxvals": 30.0},
        {"minvals": -0.5, "maxvals": -0.4, "means": [[0.0], [1.0]]},
    )
    found = []
    for options in ranges:
        for dtype in (np.float32, np.float64):
            named = {"means": 0.0, "stddevs": 1.0, "minvals": -2.0, "maxvals": 2.0, **options}
            typed = {key: np.array(value, dtype) for key, value in named.items()}
            found.append(told(lambda t=typed: draw([4, 2, 3], [7, 17], **t)))
    parameters = [
        tf.Variable(value) for value in ([0.0, 1.0, 0.5], 1.5, [[-1.0], [-0.5]], [2.0, 1.5, 3.0])
    ]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(draw([4, 2, 3], [3, 4], *parameters) ** 2)
    wrong = (
        *({"stddevs": 0.0}, {"minvals": 3.0}, {"minvals": -infinity, "maxvals": infinity}),
        *({"means": [0.0, 1.0]}, {"means": [0.0, 1.0], "stddevs": [1.0, 1.0, 1.0]}),
    )
    return [
        found,
        plain(tape.gradient(loss, parameters)),
        *(told(lambda w=w: draw([4, 3], [1, 2], **w)) for w in wrong),
    ]


def filling() -> Any:
    fill = tf.ragged_fill_empty_rows
    values = tf.Variable([1.0, 2.0, 3.0])
    default = tf.Variable(-1.0)
    with tf.GradientTape() as tape:
        found = fill([2, 0, 2], values, 5, default)
        loss = tf.reduce_sum(found[1] * tf.range(6.0))
    grad = tf.ragged_fill_empty_rows_grad
    return [
        plain(list(found)),
        plain(tape.gradient(loss, [values, default])),
        told(lambda: list(fill([0, 1], ["a", "b"], 2, "c"))),
        told(lambda: list(fill(np.zeros(0, np.int64), np.zeros(0, np.int32), 2, 7))),
        told(lambda: list(fill([5], [1], 5, 0))),
        told(lambda: list(fill([-1], [1], 5, 0))),
        told(lambda: list(fill([0, 0], [1], 5, 0))),
        told(lambda: list(grad([1, 0], [1.0, 2.0, 4.0]))),
        told(lambda: list(grad([9], [1.0]))),
    ]


def stacking() -> Any:
    x, y = tf.constant([1, 4]), tf.constant([2, 5])
    return [
        told(lambda: tf.parallel_stack([x, y])),
        told(lambda: tf.function(lambda: tf.parallel_stack([x, y, [3, 6]]))()),
        told(lambda: tf.function(lambda: tf.parallel_stack([x, [[1], [2]]]))()),
    ]


def quantized() -> Any:
    rng = np.random.default_rng(2)
    found = []
    for kind, wire in ((tf.quint8, np.uint8), (tf.qint32, np.int32)):
        info = np.iinfo(wire)
        # Not the ends of the range, at which TensorFlow's quantize overflows the dtype.
        parts = [
            rng.integers(info.min // 2, info.max // 2, sizes, wire) for sizes in ((4, 5), (3, 5))
        ]
        values = [tf.bitcast(tf.constant(part), kind) for part in parts]

        def joined(axis: int, lows: Any, highs: Any, values: Any = values, wire: Any = wire) -> Any:
            out, low, high = tf.quantization.quantized_concat(axis, values, lows, highs)
            return [tf.cast(tf.bitcast(out, wire), tf.int64), low, high]

        for lows, highs in (
            ([-2.0, -1.1], [6.0, 1.3]),  # no ties, whose rounding depends on the processor
            ([-1.0, -1.0], [1.0, 1.0]),
            ([0.5, 0.0], [2.0, 3.0]),
        ):
            found.append(told(lambda j=joined, a=lows, b=highs: j(0, a, b)))
        found.append(told(lambda j=joined: j(1, [-1.0, -1.0], [1.0, 1.0])))
        found.append(told(lambda j=joined: j(0, [-1.0], [1.0, 1.0])))
    return found


_TYPES = {
    1: "float64",
    2: "float32",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "uint64",
    7: "uint32",
    8: "bool",
    9: "string",
    10: "string",
    11: "string",
    12: "string",
    13: "uint32",
    14: "int32",
    15: "int32",
    16: "int64",
    17: "int32",
    18: "int64",
}
_WIDER = {"float32": "float64", "int32": "int64", "uint32": "uint64"}
_DEFAULTS = {
    1: "1.5",
    2: "-2.5",
    5: "-7",
    8: "true",
    9: "d\u00e9",
    12: "x\\001",
    14: "B",
}


def descriptors(packed: bool) -> bytes:
    """A message with an optional and a repeated field of each type."""
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="test", syntax="proto2")
    message = file.message_type.add(name="M")
    for number, (kind, label) in enumerate((k, n) for k in _TYPES for n in (1, 3)):
        field = message.field.add(
            name=f"f{kind}_{label}", number=3 * number + 3, type=kind, label=label
        )
        if kind in {10, 11}:
            field.type_name = ".test.N"
        if kind == 14:
            field.type_name = ".test.E"
        if label == 3 and kind not in {9, 10, 11, 12}:
            field.options.packed = packed
        if label == 1 and kind in _DEFAULTS:
            field.default_value = _DEFAULTS[kind]
    inner = file.message_type.add(name="N")
    inner.field.add(name="a", number=1, type=Field.TYPE_INT32, label=Field.LABEL_OPTIONAL)
    values = file.enum_type.add(name="E").value
    values.add(name="A", number=0)
    values.add(name="B", number=-5)
    return b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def drawn_values(rng: Any, kind: int, shape: Any) -> Any:
    name = _TYPES[kind]
    if name == "string":
        out = np.empty(shape, object)
        for at in np.ndindex(*shape):
            text = bytes(rng.integers(97, 120, rng.integers(0, 4)).tolist())
            inside = [b"", b"\x08\x05", b"\x08\xff\x01"][rng.integers(3)]
            out[at] = inside if kind in {10, 11} else text
        return out
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind == 14:
        return rng.integers(-5, 3, shape).astype(np.int32)
    dtype = np.dtype(name)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    wide = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, wide, wide % 100).astype(dtype)


def protos() -> Any:
    found = []
    for packed in (False, True):
        rng, source = np.random.default_rng(int(packed)), descriptors(packed)
        kinds = [(k, n) for k in _TYPES for n in (1, 3)]
        kinds = [kinds[place] for place in rng.permutation(len(kinds))]
        names = [f"f{kind}_{label}" for kind, label in kinds]
        values = [drawn_values(rng, kind, (2, 3, label)) for kind, label in kinds]
        sizes = np.stack([rng.integers(0, label + 1, (2, 3)) for _, label in kinds], -1)
        tensors = [tf.constant(value) for value in values]
        coded = tf.io.encode_proto(sizes.astype(np.int32), tensors, names, "test.M", source)
        found.append(plain(coded))
        types = [_TYPES[kind] for kind, _ in kinds]
        found.append(plain(list(tf.io.decode_proto(coded, "test.M", names, types, source))))
        # TensorFlow loses the sign of these when they are packed.
        wide = [
            (n, t)
            for n, t in zip(names, types, strict=True)
            if t in _WIDER and not (packed and n in {"f5_3", "f15_3", "f17_3"})
        ]
        wide = [(n, _WIDER[t]) for n, t in wide if not n.startswith("f14")]
        asked = [list(part) for part in zip(*wide, strict=True)]
        found.append(plain(list(tf.io.decode_proto(coded, "test.M", *asked, source))))
        traced = tf.function(
            lambda x, s=source: tf.io.decode_proto(x, "test.M", ["f5_3"], ["int32"], s)
        )
        found.append(plain(list(traced(coded))))
    return found


def proto_errors() -> Any:
    source = descriptors(packed=False)

    def of(data: Any, field: str = "a", kind: Any = "int32", *more: Any, **named: Any) -> Any:
        named = {"descriptor_source": source, **named}
        return list(tf.io.decode_proto(data, "test.N", [field], [kind], *more, **named))

    five = [b"\x08\x05"]
    read = (
        *(lambda: of(b"\x08\x05"), lambda: of([b"\x08\x05\x08\x06"]), lambda: of([b""])),
        *(lambda: of([b"\xff"]), lambda: of([b"\x0d\x01\x02\x03\x04\x10\x01"])),
        *(lambda: of([b"\x0b\x08\x01\x0c\x08\x07"]), lambda: of([b"\x0c"])),
        *(lambda: of([b"\x0a\x7f"]), lambda: of(["a: 4", "a:-1"], message_format="text")),
        *(lambda: of(["b: 4"], message_format="text"), lambda: of(five, message_format="x")),
        *(lambda: of(five, kind="float32"), lambda: of(five, "b"), lambda: of(np.zeros(0, object))),
        lambda: of(five, descriptor_source=b"bytes://abc"),
        *(lambda: of(five, descriptor_source="/nowhere"), lambda: of(five, sanitize=True)),
        lambda: tf.io.decode_proto(five, "test.X", ["a"], ["int32"], source),
        lambda: tf.io.decode_proto(five, "test.N", ["a"], ["int32", "int32"], source),
    )
    floats = tf.constant([[1.5, 2.0]], tf.float32)

    def to(sizes: Any, values: Any) -> Any:
        return tf.io.encode_proto(sizes, values, ["value"], "tensorflow.FloatList")

    numbers = tf.train.Int64List(value=[1, 2, -3]).SerializeToString()
    written = (
        *(lambda: to([[2]], [floats]), lambda: to([[4]], [floats]), lambda: to([[1, 1]], [floats])),
        *(lambda: to([1], [floats[0]]), lambda: to([[2]], [tf.cast(floats, tf.float64)])),
        lambda: to([[2]], [tf.cast(floats, tf.int32)]),
        lambda: list(tf.io.decode_proto(numbers, "tensorflow.Int64List", ["value"], ["int64"])),
    )
    return [told(call) for call in (*read, *written)]


def batches() -> Any:
    weights = tf.Variable([[2.0]])
    batched = tf.nondifferentiable_batch_function

    @batched(1, 10, 5)
    def layer(a: Any, b: Any) -> Any:
        return {"x": a @ weights, "y": (b, a * 2)}

    def split(*numbers: Any, **options: Any) -> Any:
        return told(lambda: batched(*numbers, **options)(lambda a: a + 1)(tf.ones([3])))

    return [
        told(lambda: tf.nest.flatten(layer(tf.ones([3, 1]), tf.range(3)))),
        told(lambda: tf.nest.flatten(tf.function(layer)(tf.ones([3, 1]), tf.range(3)))),
        told(lambda: layer(tf.constant(1.0), tf.constant(1))),
        told(lambda: layer(tf.ones([3, 1]), tf.range(2))),
        split(1, 2, 5, enable_large_batch_splitting=True),
        *(split(1, 2, 5, [2, 1]), split(1, 4, 5, [1, 2], enable_large_batch_splitting=False)),
        told(lambda: batched(1, 4, 5)(tf.reduce_sum)(tf.ones([2]))),
    ]


def passing_on() -> Any:
    """Ops that return their input, and add information."""
    raw, x = tf.raw_ops, tf.constant([[1.5, -2.0], [0.0, 3.0]])
    bad = tf.constant([1.0, np.nan, -np.inf, np.inf])
    features = {"a": tf.io.FixedLenFeature([1], tf.int64)}
    fields = ['{"features": {"feature": {"a": {"int64List": {"value": ["3"]}}}}}']
    return [
        *(plain(raw.DeepCopy(x=x)), plain(raw.GuaranteeConst(input=x))),
        plain(raw.CheckNumericsV2(tensor=x, message="all is well")),
        told(lambda: raw.CheckNumericsV2(tensor=bad, message="of bad numbers")),
        told(lambda: raw.CheckNumericsV2(tensor=bad[:2], message="of one bad number")),
        *(plain(raw.Empty(shape=s, dtype=tf.float32, init=True)) for s in ([2, 3], [0], [])),
        told(lambda: raw.Empty(shape=[-1], dtype=tf.int32, init=True)),
        told(lambda: raw.Empty(shape=[[2]], dtype=tf.int32, init=True)),
        # Not the bytes, since repeated numbers may be packed.
        plain(tf.io.parse_example(raw.DecodeJSONExample(json_examples=fields), features)),
        told(lambda: raw.DecodeJSONExample(json_examples=["{"])),
        bool(raw.Timestamp() > 1.6e9),
        str(raw.Timestamp().dtype),
    ]


PROGRAMS = {
    "passing on": passing_on,
    "sobol": sobol,
    "glimpses": glimpses,
    "truncated": truncated,
    "filling": filling,
    "stacking": stacking,
    "quantized": quantized,
    "protos": protos,
    "proto errors": proto_errors,
    "batches": batches,
}


if __name__ == "__main__":
    report(PROGRAMS)
