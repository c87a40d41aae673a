"""`keras.ops` of SparseTensors and IndexedSlices, as programs that both run: see `both`.

python keras_sparse_ops_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
ops = keras.ops

KEEPING = [
    *("abs", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conj", "copy", "expm1", "floor"),
    *("imag", "log1p", "negative", "real", "round", "sign", "sin", "sinh", "sqrt", "square"),
    *("tan", "tanh"),
]
FILLING = ["arccos", "cos", "cosh", "exp", "isfinite", "log", "log10", "log2", "reciprocal"]
PAIRS = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
FIRST = [[0.5, 0, -0.25], [0, 0.75, 0]]
SECOND = [[2.0, 0, 0], [4.0, 8.0, 0]]
DENSE = [[1.0, 2.0, 0.0], [0.0, 4.0, 5.0]]


def sparse(x: Any, dtype: str = "float32") -> Any:
    made = tf.sparse.from_dense(x)
    return tf.SparseTensor(made.indices, tf.cast(made.values, dtype), made.dense_shape)


def slices(x: Any, rows: Any, dtype: str = "float32") -> Any:
    whole = tf.cast(tf.constant(x), dtype)
    return tf.IndexedSlices(tf.gather(whole, rows), tf.constant(rows), tf.shape(whole))


def plain(x: Any) -> Any:
    return np.asarray(x).astype("float64").tolist()


def told(x: Any) -> Any:
    """Kind, dtype, shape and values of a result."""
    if isinstance(x, tf.SparseTensor):
        return ["sparse", x.dtype.name, plain(x.indices), plain(x.values), plain(x.dense_shape)]
    if isinstance(x, tf.IndexedSlices):
        return ["slices", x.dtype.name, plain(x.indices), plain(x.values), plain(x.dense_shape)]
    return ["dense", x.dtype.name, x.shape.as_list(), plain(x)]


def traced(function: Any, *given: Any) -> Any:
    return told(tf.function(function, autograph=False)(*given))


def alone(names: Any) -> Any:
    found = {}
    for name in names:
        function = getattr(ops, name)
        found[name] = [
            *(told(function(sparse(FIRST))), told(function(slices(FIRST, [1])))),
            traced(function, sparse(FIRST)),
            # TensorFlow has no reciprocal of integers.
            told(function(sparse(SECOND, "float32" if name == "reciprocal" else "int32"))),
        ]
    return found


def pairs() -> Any:
    x, y = sparse(FIRST), sparse(SECOND)
    a, b = slices(FIRST, [0]), slices(SECOND, [0, 1])
    operands = [
        *((x, y), (y, x), (x, DENSE), (DENSE, x), (x, 2.0), (2.0, x), (x, x), (a, b), (b, a)),
        *((a, DENSE), (DENSE, a), (a, 2.0), (a, a), (a, slices(SECOND, [1]))),
    ]
    found = {}
    for name in PAIRS:
        function = getattr(ops, name)
        for at, pair in enumerate(operands):
            one, other = (tf.constant(z) if isinstance(z, list) else z for z in pair)
            if at not in {9, 10, 11} or name != "divide":
                found[f"{name} {at}"] = told(function(one, other))
    return found


def quotients() -> Any:
    """Quotients also exist where a divisor is 0 or NaN."""
    a = slices(FIRST, [0])
    return [
        told(ops.divide(sparse(FIRST), tf.constant([[1.0, np.nan, 2.0], [4.0, 0.0, 2.0]]))),
        told(ops.divide(sparse(FIRST), tf.constant([[1.0, 1.0, 2.0], [4.0, 1.0, 2.0]]))),
        told(ops.divide(a, 2.0)),
        told(ops.divide(a, tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))),
        told(ops.divide(a, tf.constant([[1.0, 2.0, 3.0], [0.0, 5.0, 6.0]]))),
        traced(ops.divide, sparse(FIRST), tf.constant(DENSE)),
        traced(ops.multiply, sparse(FIRST), sparse(SECOND)),
    ]


def shaped() -> Any:
    x = sparse(FIRST)
    long = tf.sparse.expand_dims(x, 1)
    return [
        *(told(ops.expand_dims(x, axis)) for axis in (0, 1, -1)),
        *(told(ops.reshape(x, shape)) for shape in ((3, 2), (-1,), (1, 6))),
        *(told(ops.squeeze(long, axis)) for axis in (None, 1, -2)),
        *(told(ops.transpose(x)), told(ops.transpose(long, (2, 0, 1)))),
        *(told(ops.concatenate([x, sparse(SECOND)], axis=axis)) for axis in (0, 1, -1)),
        told(ops.concatenate([x, tf.constant(DENSE)], axis=0)),
        told(ops.matmul(x, tf.transpose(tf.constant(DENSE)))),
        told(ops.matmul(tf.constant(DENSE), ops.transpose(x))),
        told(ops.matmul(x, ops.transpose(sparse(SECOND)))),
    ]


def reduced() -> Any:
    x = tf.sparse.expand_dims(sparse(FIRST), 1)
    a = slices([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], [1])
    axes = (None, 0, 1, -1, (0, 1), (1, 2), (0, 2))
    return [
        *(told(ops.sum(x, axis=axis)) for axis in axes if axis is not None),
        *(told(ops.sum(x, axis=axis, keepdims=True)) for axis in axes),
        *(told(ops.mean(a, axis=axis)) for axis in axes),
        *(told(ops.mean(a, axis=axis, keepdims=True)) for axis in axes),
    ]


def taken() -> Any:
    x = np.arange(12, dtype="float32").reshape(3, 4)
    at = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], (2, 3))
    return [told(ops.take(x, at, axis=axis)) for axis in (None, 0, 1)]


def symbolic() -> Any:
    """Symbolic results: their kind, dtype and shape."""
    x = keras.KerasTensor((None, 3), sparse=True)
    y = keras.KerasTensor((None, 3))
    results = {
        "sin": ops.sin(x),
        "exp": ops.exp(x),
        "add": ops.add(x, x),
        "add dense": ops.add(x, y),
        "multiply": ops.multiply(x, y),
        "divide": ops.divide(x, y),
        "divide sparse": ops.divide(y, x),
        "transpose": ops.transpose(x),
        "reshape": ops.reshape(x, (3, -1)),
        "expand_dims": ops.expand_dims(x, 1),
        "sum": ops.sum(x, axis=1),
        "sum kept": ops.sum(x, axis=1, keepdims=True),
        "concatenate": ops.concatenate([x, x], axis=1),
        "matmul": ops.matmul(x, keras.KerasTensor((3, 2))),
        "squeeze": ops.squeeze(keras.KerasTensor((None, 1, 3), sparse=True)),
    }
    return {name: [list(one.shape), one.sparse] for name, one in results.items()}


def trained() -> Any:
    """A layer of a model on sparse inputs whose call multiplies and adds them."""

    class Weighed(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(shape[-1], 2), initializer="ones")

        def call(self, x: Any) -> Any:
            return ops.matmul(ops.multiply(x, 2.0), self.w)

    model = keras.Sequential([Weighed()])
    model.compile("sgd", "mse")
    model.fit(sparse(FIRST), np.ones((2, 2), "float32"), batch_size=2, epochs=2, verbose=0)
    return plain(model.layers[0].w.numpy())


PROGRAMS = {
    "keeping_zero": lambda: alone(KEEPING),
    "filling": lambda: alone(FILLING),
    "pairs": pairs,
    "quotients": quotients,
    "shaped": shaped,
    "reduced": reduced,
    "taken": taken,
    "symbolic": symbolic,
    "trained": trained,
}


if __name__ == "__main__":
    np.seterr(all="ignore")
    report(PROGRAMS)
