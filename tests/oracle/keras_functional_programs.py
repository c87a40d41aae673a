"""Control flow, draws, trees and result types of Keras, as programs that both run: see `both`.

python keras_functional_programs.py tensorflow|pinnace FOLDER
"""

import collections
import importlib
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
ops, tree, draws = keras.ops, keras.tree, keras.random

X = (np.arange(12).reshape(4, 3) / 8 - 0.5).astype("float32")
KINDS = [
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("bfloat16", "float16", "float32", "float64", "complex64", "complex128"),
]
Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 (what trees are asked about)
NEST = {
    "b": [1, (2, None)],
    "a": collections.OrderedDict([("z", 4), ("y", Point(5, 6))]),
    "c": collections.deque([7]),
    "d": (),
}


def plain(x: Any) -> Any:
    """A form that JSON can represent."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple, collections.deque)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.astype("float64").tolist()]


def both_ways(program: Any, *arguments: Any) -> Any:
    """The result of a program, eagerly and in a traced function."""
    return [program(*arguments), tf.function(program)(*map(tf.constant, arguments))]


def step(carry: Any, x: Any) -> Any:
    return carry * 0.5 + x, {"sum": carry + x, "first": x[0]}


def joined(a: Any, b: Any) -> Any:
    return {"v": a["v"] + b["v"] * a["w"][:, :1], "w": a["w"] * b["w"]}


@ops.custom_gradient
def cubed(x: Any) -> Any:
    """The cube, with twice its gradient."""

    def gradient(*args: Any, upstream: Any = None) -> Any:
        upstream = args[0] if upstream is None else upstream
        return upstream * 6 * x * x

    return x * x * x, gradient


def sloped() -> Any:
    x = tf.constant([2.0, -1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cubed(x)
    return [y, tape.gradient(y, x)]


def refused(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def drawn(name: str, *arguments: Any, **options: Any) -> Any:
    """Draws from a number as seed, and twice from a generator."""
    draw = getattr(draws, name)
    generator = draws.SeedGenerator(5)
    return [
        draw(*arguments, seed=1234, **options),
        draw(*arguments, seed=generator, **options),
        draw(*arguments, seed=generator, **options),
    ]


def spectrum() -> Any:
    signal = np.sin(np.arange(64) / 3).astype("float32")
    found = []
    for options in ({}, {"window": "hamming"}, {"center": False, "window": None}, {"length": 50}):
        length = options.pop("length", None)
        pieces = ops.stft(signal, 16, 4, 20, **options)
        found.append(ops.istft(pieces, 16, 4, 20, length=length, **options))
    return found


def decompositions() -> Any:
    """Products of the factors, which do not depend on their signs."""
    matrix = np.array([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]], "float32")
    q, r = ops.qr(X)
    full = ops.qr(X, mode="complete")
    u, s, v = ops.svd(X)
    few = ops.svd(X, full_matrices=False)
    values, vectors = ops.eigh(matrix)
    numbers, columns = ops.eig(matrix)
    return [
        [q @ r, abs(r), list(full[0].shape), list(full[1].shape)],
        [s, list(u.shape), list(v.shape), (few[0] * few[1]) @ few[2], ops.svd(X, compute_uv=False)],
        [values, (vectors * values) @ ops.transpose(vectors)],
        [str(np.asarray(columns).dtype), np.sort(np.asarray(numbers).real)],
    ]


def masked() -> Any:
    """The mask of a KerasTensor is a tensor of the model like any other."""
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(10, 2, mask_zero=True)(inputs)
    x = keras.layers.Dropout(0.25)(x)
    mask = x._keras_mask
    counts = ops.sum(ops.cast(mask, "float32"), axis=1)
    model = keras.Model(inputs, [keras.layers.LSTM(3)(x), counts])
    words = np.array([[1, 2, 0], [3, 0, 0]])
    path = str(Path(sys.argv[2]) / "masked.keras")
    model.save(path)
    none = keras.layers.Dense(2)(keras.Input((3,)))
    return [
        [list(mask.shape), keras.backend.standardize_dtype(mask.dtype), x._keras_mask is mask],
        [hasattr(none, "_keras_mask"), hasattr(keras.layers.LSTM(3)(x), "_keras_mask")],
        [model(words)[1], model.predict(words, verbose=0)[1]],
        keras.models.load_model(path)(words)[1],
        keras.models.clone_model(model)(words)[1],
        len(model.layers),
    ]


class Two(keras.Model):
    """A model whose call needs two arguments and may have a third."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2, kernel_initializer="ones")

    def build(self, x_shape: Any, y_shape: Any) -> None:
        del y_shape
        self.dense.build(x_shape)
        self.built = True

    def call(self, x: Any, y: Any, scale: Any = None) -> Any:
        z = self.dense(x) + y
        return z if scale is None else z * scale


def exported() -> Any:
    """Exports with a signature of all required arguments, by position or by name."""
    x, y = np.ones((3, 4), "float32"), np.arange(6, dtype="float32").reshape(3, 2)
    found = []
    for place, (args, options) in enumerate((((x, y), {}), ((x,), {"y": y}))):
        model = Two()
        model(*args, **options)
        path = str(Path(sys.argv[2]) / f"two_{place}")
        model.export(path, verbose=False)
        again = tf.saved_model.load(path)
        signature = again.signatures["serving_default"]
        specs = signature.structured_input_signature[1]
        found += [
            {name: spec.shape.as_list() for name, spec in specs.items()},
            signature(**dict(zip(sorted(specs), map(tf.constant, (x, y)), strict=True))),
            again.serve(tf.constant(x), tf.constant(y)),
            list(again.serve(tf.ones((5, 4)), tf.ones((5, 2))).shape),
        ]
    return found


def shapes() -> Any:
    """The shape of a KerasTensor is a tuple."""
    x = keras.Input((None, 3))
    tensors = [x, keras.layers.Dense(2)(x), x + 1, ops.sum(x, axis=(0, 1)), keras.KerasTensor(())]
    return [
        *([type(y.shape).__name__, list(y.shape), len(y.shape), y.ndim] for y in tensors),
        list(x.shape + (1,)),  # noqa: RUF005 (what is asked)
        [2, *x.shape[1:]],
        x.shape == (None, None, 3),
        json.dumps(x.shape),
        keras.tree.flatten({"shape": x.shape}),
    ]


def histories() -> Any:
    """The call that created a KerasTensor."""
    x = keras.Input((3,), name="first")
    layer = keras.layers.Dense(2, name="second")
    tensors = [x, layer(x), layer(x + 1), *ops.split(keras.Input((4,)), 2, 1)]
    found = [
        [type(one.operation).__name__, one.node_index, one.tensor_index, len(one)]
        for one in (y._keras_history for y in tensors)
    ]
    return [found, tensors[1]._keras_history[0] is layer]


def refusals() -> Any:
    """Errors for sizes that are not square, integer or scalar."""
    some = keras.KerasTensor((2, None, 3))
    calls = {
        "cholesky": lambda: ops.linalg.cholesky(some),
        "det": lambda: ops.linalg.det(some),
        "inv": lambda: ops.linalg.inv(some),
        "argpartition": lambda: ops.argpartition(keras.KerasTensor((2, 3)), (1, 2)),
        "eye": lambda: ops.eye(3.0),
        "eye of columns": lambda: ops.eye(3, 2.0),
        "eye of a tensor": lambda: ops.eye(tf.constant(2.0)),
    }

    def told(call: Any) -> str:
        try:
            call()
        except (TypeError, ValueError) as error:
            return "TypeError" if isinstance(error, TypeError) else "ValueError"
        return "taken"

    return {name: told(call) for name, call in calls.items()}


PROGRAMS = {
    "histories": histories,
    "refusals": refusals,
    "masked": masked,
    "shapes": shapes,
    "exported": exported,
    "result_types": lambda: [
        [refused_or(lambda a=a, b=b: keras.backend.result_type(a, b)) for b in [*KINDS, int, float]]
        for a in [*KINDS, int, float]
    ],
    "result_types_of_three": lambda: [
        keras.backend.result_type(*kinds)
        for kinds in itertools.combinations(
            ["bool", "uint8", "int8", "float16", "bfloat16", int], 3
        )
    ],
    "result_type_alone": lambda: [
        keras.backend.result_type(),
        *map(keras.backend.result_type, KINDS),
    ],
    "cond": lambda: both_ways(lambda x: ops.cond(ops.sum(x) > 0, lambda: x + 1, lambda: x - 1), X),
    "switch": lambda: [
        both_ways(lambda x, i=i: ops.switch(i, [lambda a: a + 1, lambda a: a * 2], x), X)
        for i in (-1, 0, 1, 5)
    ],
    "while_loop": lambda: [
        both_ways(
            lambda x: ops.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 2), (0, x)), X
        ),
        both_ways(lambda x: ops.while_loop(lambda v: ops.sum(v) < 50, lambda v: v + 1, x), X),
        ops.while_loop(lambda _: True, lambda v: v + 1, tf.constant(1), maximum_iterations=4),
    ],
    "fori_loop": lambda: both_ways(
        lambda x: ops.fori_loop(1, 4, lambda i, v: v + ops.cast(i, "float32"), x), X
    ),
    "map": lambda: [
        both_ways(lambda x: ops.map(lambda row: {"s": ops.sum(row), "r": row * 2}, x), X),
        ops.map(lambda rows: rows[0] + rows[1], (X, X * 2)),
    ],
    "vectorized_map": lambda: both_ways(
        lambda x: ops.vectorized_map(lambda r: ops.sum(r * r), x), X
    ),
    "scan": lambda: [
        both_ways(lambda x: ops.scan(lambda c, r: (c * 0.5 + r, c), tf.zeros(3), x), X),
        both_ways(
            lambda x: ops.scan(lambda c, r: (c * 0.5 + r, c), tf.zeros(3), x, reverse=True), X
        ),
        ops.scan(lambda c, _: (c * 2, c), tf.constant(1.0), length=5),
    ],
    "associative_scan": lambda: (
        [
            both_ways(
                lambda x, n=n: ops.associative_scan(lambda a, b: a + b, x[:n]), np.vstack([X, X])
            )
            for n in range(1, 9)
        ]
        + [
            ops.associative_scan(lambda a, b: a * b + b, X, reverse=True),
            ops.associative_scan(lambda a, b: a + b, X, axis=-1),
            ops.associative_scan(joined, {"v": X, "w": X + 1}),
        ]
    ),
    "custom_gradient": sloped,
    "jvp": lambda: [
        ops.jvp(lambda x, y: ops.sin(x) * y, (tf.constant(X), tf.constant(X + 1)), (X * 0 + 1, X)),
        ops.jvp(lambda x: (x * x, x + 1), (tf.constant(X),), (X,), has_aux=True),
    ],
    "istft": spectrum,
    "decompositions": decompositions,
    "inquiries": lambda: [
        [ops.dtype(x) for x in (tf.constant(X), keras.Input((3,)), tf.Variable([1]))],
        [ops.ndim(x) for x in (X, tf.constant(1), [[1]])],
        [ops.is_tensor(x) for x in (tf.constant(1), X, [1], keras.Input((2,)))],
    ],
    "scatter_multiplied": lambda: ops.scatter_update(
        tf.constant([1.0, 2.0, 3.0]), [[0], [2], [0]], tf.constant([2.0, 3.0, 5.0]), reduction="mul"
    ),
    "normal": lambda: drawn("normal", (3, 2), 1.0, 2.0),
    "normal_of_halves": lambda: drawn("normal", (5,), dtype="float16"),
    "truncated_normal": lambda: drawn("truncated_normal", (9,), 1.0, 2.0),
    "uniform": lambda: drawn("uniform", (9,), -1.0, 2.0),
    "randint": lambda: [
        drawn("randint", (9,), -5, 20, kind) for kind in ("int32", "uint8", "int64")
    ],
    "categorical": lambda: drawn("categorical", X, 8),
    "dropout": lambda: [
        drawn("dropout", X + 1, 0.4),
        drawn("dropout", X + 1, 0.4, (None, 1)),
        drawn("dropout", X, 0.0),
        drawn("dropout", X, 1.0),
    ],
    "shuffle": lambda: [drawn("shuffle", X), drawn("shuffle", X, 1)],
    "refused_draws": lambda: [
        refused(lambda: draws.uniform((2,), seed="one")),
        refused(lambda: draws.randint((2,), 0, 3, dtype="float32")),
        refused(lambda: draws.categorical(X[0], 2)),
        refused(lambda: draws.dropout(X, 1.5)),
    ],
    "tree": lambda: [
        tree.flatten(NEST),
        tree.flatten_with_path(NEST),
        tree.map_structure(lambda x: x if x is None else x + 1, NEST),
        tree.map_structure(lambda x, y: [x, y], {"b": 1, "a": (2,)}, {"a": (3,), "b": 4}),
        tree.map_structure(lambda x: x + 1, [1, None], none_is_leaf=False),
        tree.map_structure_up_to([1, (2,)], len, [[1, 1], ((3, 4),)]),
        tree.pack_sequence_as(NEST, "abcdefg"),
        tree.lists_to_tuples([1, [2, {"a": [3]}]]) == (1, (2, {"a": (3,)})),
        tree.map_shape_structure(len, {"a": (1, None), "b": [(2, 3, 4), ()]}),
        [tree.is_nested(x) for x in (1, None, "ab", [], (), {}, X, Point(1, 2))],
    ],
    "traversed": lambda: [
        tree.traverse(lambda x: sum(x) if x == [1, 2] else None, [[1, 2], (3, [1, 2])]),
        tree.traverse(lambda x: tree.MAP_TO_NONE if x == 3 else None, [[1, 2], (3,)]),
        tree.traverse(
            lambda x: len(x) if isinstance(x, list) else None, [[1], [2]], top_down=False
        ),
    ],
    "different_trees": lambda: [
        refused(lambda: tree.assert_same_structure([1, 2], (1, 2))),
        refused(lambda: tree.assert_same_structure({"a": 1}, collections.OrderedDict(a=2))),
        refused(lambda: tree.assert_same_structure({"a": 1}, {"b": 1})),
        refused(lambda: tree.assert_same_structure([1], [[1]])),
        refused(lambda: tree.assert_same_paths([1, 2], (3, 4))),
        refused(lambda: tree.assert_same_paths([1, 2], (3,))),
        refused(lambda: tree.pack_sequence_as([1, 2], [3])),
        refused(lambda: tree.pack_sequence_as([1, 2], 3)),
        refused(lambda: tree.map_structure(1, [2])),
        refused(lambda: tree.map_structure(max, [1, 2], [3])),
        refused(lambda: tree.map_structure(max)),
    ],
}


def refused_or(call: Any) -> Any:
    try:
        return call()
    except ValueError:
        return "refused"


if __name__ == "__main__":
    report(PROGRAMS, plain)
