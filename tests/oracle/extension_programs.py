"""Extension types, in TensorFlow and in pinnace: results of programs as JSON.

Run as `python extension_programs.py tensorflow|pinnace FOLDER`; see test_extension_types.py.
"""

# ruff: noqa: ARG002, SIM108, T201 (methods that are overridden; code as AutoGraph is to see it)

import importlib
import json
import sys
import tempfile
import typing
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
ex: Any = tf.experimental
D = tf.data.Dataset
RNG = np.random.default_rng(7)
VALUES = RNG.integers(-40, 40, (3, 4)).astype(np.float32) / 4
OTHERS = RNG.integers(1, 40, (3, 4)).astype(np.float32) / 4
MASK = RNG.integers(0, 2, (3, 4)).astype(bool)
WHERE = RNG.integers(0, 2, (3, 4)).astype(bool)


class Masked(ex.BatchableExtensionType):  # type: ignore[misc] # of either library
    """Values with a mask of valid ones."""

    __name__ = "tests.Masked"
    values: tf.Tensor
    mask: tf.Tensor

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def filled(self, default: Any = 0) -> Any:
        return tf.where(self.mask, self.values, tf.cast(default, self.values.dtype))

    class Spec:
        def __init__(self, shape: Any, dtype: Any = tf.float32) -> None:
            self.values = tf.TensorSpec(shape, dtype)
            self.mask = tf.TensorSpec(shape, tf.bool)

        shape = property(lambda self: self.values.shape)
        dtype = property(lambda self: self.values.dtype)


class Plain(ex.ExtensionType):  # type: ignore[misc]
    """Every kind of field."""

    x: tf.Tensor
    rows: tf.RaggedTensor
    inner: Masked
    shape: tf.TensorShape
    dtype: tf.DType
    parts: tuple[tf.Tensor, ...] = ()
    names: typing.Mapping[str, tf.Tensor] = {}
    scale: typing.Union[int, float] = 1  # noqa: UP007 (as older programs write it)
    note: typing.Optional[str] = None  # noqa: UP045


class Network(ex.BatchableExtensionType):  # type: ignore[misc]
    """A type whose batches have ragged edges."""

    work: tf.Tensor
    edges: tf.RaggedTensor
    size: tf.TensorShape = tf.TensorShape([])


class Doubling(ex.ExtensionTypeBatchEncoder):  # type: ignore[misc]
    """A batch encoder that represents a pair by its sum and difference."""

    def batch(self, spec: Any, batch_size: Any) -> Any:
        return Pair.Spec(*[tf.TensorSpec([batch_size, *s.shape], s.dtype) for s in _both(spec)])

    def unbatch(self, spec: Any) -> Any:
        return Pair.Spec(*[tf.TensorSpec(s.shape[1:], s.dtype) for s in _both(spec)])

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        return [value.a + value.b, value.a - value.b]

    def decode(self, spec: Any, encoded: Any) -> Any:
        return Pair((encoded[0] + encoded[1]) / 2, (encoded[0] - encoded[1]) / 2)

    def encoding_specs(self, spec: Any) -> Any:
        return list(_both(spec))


def _both(spec: Any) -> Any:
    return spec.a, spec.b


class Pair(ex.BatchableExtensionType):  # type: ignore[misc]
    a: tf.Tensor
    b: tf.Tensor
    __batch_encoder__ = Doubling()


class Node(ex.ExtensionType):  # type: ignore[misc]
    value: tf.Tensor
    children: typing.Tuple["Node", ...] = ()  # noqa: UP006 (as older programs write it)

    def total(self) -> Any:
        return self.value + sum(child.total() for child in self.children)


class Rational(ex.ExtensionType):  # type: ignore[misc]
    """A type with a constructor, a check and a representation of its own."""

    top: tf.Tensor
    bottom: tf.Tensor

    def __init__(self, top: Any, bottom: Any = 1) -> None:
        self.top = top
        self.bottom = tf.convert_to_tensor(bottom, tf.int32)

    def __validate__(self) -> None:
        self.top.shape.assert_is_compatible_with(self.bottom.shape)

    def __repr__(self) -> str:
        return f"{int(self.top)}/{int(self.bottom)}"

    def __add__(self, other: Any) -> Any:
        return Rational(
            self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom
        )


def masked(rows: Any = slice(None)) -> Any:
    return Masked(VALUES[rows], MASK[rows])


def plain_value() -> Any:
    return Plain(
        [1, 2],
        rows=tf.ragged.constant([[1], [2, 3]]),
        inner=masked(),
        shape=[2, None],
        dtype="int64",
        parts=(tf.constant(1), [2.5]),
        names={"b": [1], "a": "x"},
    )


def plain(x: Any) -> Any:
    """A value in a form for JSON."""
    if isinstance(x, ex.ExtensionType):
        return {"": type(x).__name__, **plain(ex.extension_type.as_dict(x))}
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, (dict, typing.Mapping)):
        return {str(key): plain(item) for key, item in sorted(x.items())}
    if isinstance(x, bytes):
        return x.decode("latin-1")
    if isinstance(x, (tf.RaggedTensor,)):
        return x.to_list()
    if isinstance(x, (tf.TensorShape, tf.DType)):
        return str(x)
    if hasattr(x, "numpy"):
        return [tf.as_dtype(x.dtype).name, plain(x.numpy())]
    return plain(x.tolist()) if hasattr(x, "tolist") else x


def outcome(program: Callable[[], Any]) -> Any:
    """The result of a program, or the class of its error."""
    try:
        return plain(program())
    except Exception as error:
        return f"error: {type(error).__name__}"


def failing(program: Callable[[], Any]) -> str:
    """The class of the error that a program raises."""
    try:
        found = program()
    except Exception as error:
        return type(error).__name__
    return f"gave {type(found).__name__}"


# Values and specs.


def errors_of_values() -> Any:
    def changed() -> None:
        masked().mask = 1

    def deleted() -> None:
        del masked().mask

    return [
        failing(lambda: Masked()),
        failing(lambda: Masked(1, 2, 3)),
        failing(lambda: Masked({}, 2)),
        failing(lambda: Node(1, children=[2])),
        failing(lambda: Rational([1, 2])),
        failing(lambda: ex.ExtensionType()),
        failing(lambda: hash(masked())),
        failing(lambda: Masked.Spec(3.5)),
        failing(lambda: tf.convert_to_tensor(masked()))[-5:],
        failing(changed),
        failing(deleted),
    ]


def errors_of_classes() -> Any:
    def made(base: Any = ex.ExtensionType, annotations: Any = None, **members: Any) -> Any:
        return type(base)("Made", (base,), {"__annotations__": annotations or {}, **members})

    return [
        failing(lambda: made(annotations={"x": list[int]})),
        failing(lambda: made(annotations={"x": object})),
        failing(lambda: made(annotations={"self": int})),
        failing(lambda: made(annotations={"value_type": int})),
        failing(lambda: made(x=3)),
        failing(lambda: made(annotations={"x": int}, x="3")),
        failing(lambda: made(annotations={"x": typing.Mapping[tf.Tensor, int]})),
        failing(lambda: made(Spec=3)),
        failing(lambda: made(annotations={"x": int}, Spec=type("Spec", (), {"x": 1}))),
        failing(lambda: made(__batch_encoder__=Doubling())),
        failing(lambda: made(annotations={"x": int}, x=3).__class__.__name__),
    ]


def specs() -> Any:
    one, wide = Masked.Spec([3, 4]), Masked.Spec([None, 4])
    own = masked()._type_spec
    whole = plain_value()._type_spec
    return [
        one == own,
        hash(one) == hash(own),
        wide.is_compatible_with(masked()),
        one.is_compatible_with(masked(0)),
        one.is_subtype_of(wide),
        wide.is_subtype_of(one),
        str(wide.most_specific_compatible_type(one).shape),
        own.value_type is Masked,
        whole == plain_value()._type_spec,
        whole.is_compatible_with(plain_value()),
        len(tf.nest.flatten(whole, expand_composites=True)),
        failing(lambda: one.most_specific_compatible_type(whole)),
        str(Masked.Spec([None]).dtype),
    ]


def equality() -> Any:
    x = masked()
    return [
        x == masked(),
        x != masked(),
        x == Masked(VALUES + 1, MASK),
        masked(slice(0, 2)) == masked(slice(1, 3)),
        masked(0) == x,
        x == 3,
        tf.function(lambda a, b: (a == b, a != b))(x, masked()),
        Rational(1, 2) == Rational(1, 2),
    ]


def nests() -> Any:
    value = plain_value()
    flat = tf.nest.flatten(value, expand_composites=True)
    again = tf.nest.pack_sequence_as(value, flat, expand_composites=True)
    doubled = tf.nest.map_structure(
        lambda x, y: tf.concat([x, y], 0), masked(0), masked(1), expand_composites=True
    )
    return [
        len(flat),
        again,
        doubled.values,
        len(tf.nest.flatten([value, 1])),
        tf.nest.is_nested(value),
        failing(lambda: tf.nest.assert_same_structure(value, masked(), expand_composites=True)),
    ]


# Functions, control flow, loops.


def functions() -> Any:
    traces = []

    @tf.function
    def twice(x: Any, more: Any = None) -> Any:
        traces.append(1)
        return {"r": Masked(x.values * 2, x.mask), "n": x.filled(-1), "m": more}

    found = [twice(masked()), twice(masked()), twice(masked(0)), twice(masked(), plain_value())]
    concrete = tf.function(lambda x: x.filled(9)).get_concrete_function(Masked.Spec([None, 4]))

    @tf.function(input_signature=[Masked.Spec([None, 4])])
    def signed(x: Any) -> Any:
        return x.filled(1)

    return [
        found[:3],
        found[3]["m"],
        len(traces),
        concrete(masked()),
        concrete(masked(slice(0, 1))),
        signed(masked()),
        failing(lambda: signed(masked(0))),
    ]


def branches() -> Any:
    def choose(x: Any, flag: Any) -> Any:
        if flag:
            x = Masked(x.values + 1, x.mask)
        else:
            x = Masked(-x.values, ~x.mask)
        return x

    traced = tf.function(choose)
    both = [traced(masked(0), tf.constant(flag)) for flag in (True, False)]
    picked = tf.cond(tf.constant(False), lambda: masked(0), lambda: masked(1))
    case = tf.switch_case(tf.constant(1), [lambda: masked(0), lambda: masked(1)])
    return [both, picked, case]


def loops() -> Any:
    def count(x: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < 3,
            lambda i, y: (i + 1, Masked(y.values * 2, ~y.mask)),
            (tf.constant(0), x),
        )

    @tf.function
    def written(x: Any) -> Any:
        for _ in tf.range(3):
            x = Masked(x.values + 1, x.mask)
        return x

    return [count(masked(0)), tf.function(count)(masked(0)), written(masked(1))]


def mapped() -> Any:
    def total(x: Any) -> Any:
        return tf.reduce_sum(x.filled())

    def negative(x: Any) -> Any:
        return Masked(-x.values, x.mask)

    spec = Masked.Spec([4])
    plainly = [
        tf.map_fn(total, masked(), fn_output_signature=tf.float32),
        tf.map_fn(negative, masked(), fn_output_signature=spec),
        tf.map_fn(lambda x: Masked(x, x > 0), VALUES, fn_output_signature=spec),
    ]

    @tf.function
    def traced() -> Any:
        return [
            tf.map_fn(total, masked(), fn_output_signature=tf.float32),
            tf.map_fn(negative, masked(), fn_output_signature=spec),
        ]

    pairs = tf.map_fn(
        lambda p: Pair(p.a * 2, p.b),
        Pair([1.0, 2.0], [3.0, 4.0]),
        fn_output_signature=Pair.Spec(tf.TensorSpec([]), tf.TensorSpec([])),
    )
    return [plainly, traced(), pairs]


def gradients() -> Any:
    x = tf.constant(VALUES)
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = tf.function(lambda v: Masked(v * v, MASK))(x)
        y = tf.reduce_sum(made.filled())
    return tape.gradient(y, x)


def trees() -> Any:
    tree = Node(1, [Node(2), Node(3, [Node(4)])])
    return [tree.total(), tf.function(lambda n: n.total())(tree), tree]


def rationals() -> Any:
    both = tf.function(lambda a, b: a + b)(Rational(1, 2), Rational(2, 3))
    return [repr(both), repr(Rational(3)), ex.extension_type.as_dict(both)]


# Datasets.


def elements() -> Any:
    ds = D.from_tensors(plain_value())
    (back,) = ds
    changed = ds.map(lambda p: (p.inner, p.x + 1))
    return [back, list(changed), ds.element_spec == plain_value()._type_spec]


def batches() -> Any:
    ds = D.from_tensor_slices(masked())
    pairs = D.from_tensor_slices((masked(), [1, 2, 3]))
    batch = ds.batch(2)
    return [
        list(ds),
        list(batch),
        list(batch.unbatch()),
        list(ds.map(lambda m: Masked(m.values + 1, m.mask)).batch(3)),
        list(pairs.batch(2, drop_remainder=True)),
        list(ds.repeat(2).filter(lambda m: m.mask[0]).take(2)),
        ds.reduce(0.0, lambda s, m: s + tf.reduce_sum(m.filled())),
        batch.element_spec == Masked.Spec([None, 4]),
        ds.element_spec == Masked.Spec([4]),
        int(ds.cardinality()),
        tf.function(lambda: next(iter(batch)))(),
    ]


def networks() -> Any:
    ds = D.from_generator(
        lambda: (Network([i, 1], tf.ragged.constant([[i], [1, 2]])) for i in range(3)),
        output_signature=Network.Spec(
            work=tf.TensorSpec([2], tf.int32),
            edges=tf.RaggedTensorSpec([2, None], tf.int32),
            size=tf.TensorShape([]),
        ),
    )
    first, second = ds.batch(2)
    return [first.work, first.edges, first.size, second.edges, list(ds.batch(2).unbatch())]


def encoded() -> Any:
    ds = D.from_tensor_slices(Pair([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    return [list(ds), list(ds.batch(2)), list(ds.batch(2).unbatch())]


# Files.


class Holder(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        self.factor = tf.Variable(3.0)

    @tf.function
    def grow(self, x: Any) -> Any:
        return Masked(x.values * self.factor, x.mask)


def saved() -> Any:
    module = Holder()
    module.grow.get_concrete_function(Masked.Spec([None, 4]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf.saved_model.save(module, folder)
        loaded = tf.saved_model.load(folder)
        return [loaded.grow(masked()), type(loaded.grow(masked(slice(0, 2)))).__name__]


PROGRAMS = {
    "a value of every kind of field": plain_value,
    "as_dict": lambda: sorted(ex.extension_type.as_dict(plain_value())),
    "repr of a value": lambda: repr(Node(1).children),
    "errors of values": errors_of_values,
    "errors of classes": errors_of_classes,
    "specs": specs,
    "equality": equality,
    "nests": nests,
    "functions": functions,
    "branches": branches,
    "loops": loops,
    "map_fn": mapped,
    "gradients": gradients,
    "fields of their own class": trees,
    "a constructor of one's own": rationals,
    "elements of datasets": elements,
    "batches": batches,
    "batches of ragged fields": networks,
    "a batch encoder of one's own": encoded,
    "files": saved,
}

if __name__ == "__main__":
    print(json.dumps({name: outcome(program) for name, program in PROGRAMS.items()}))
