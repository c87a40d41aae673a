"""Operators on a KerasVariable and a value of another dtype, as programs that both run: see `both`.

python keras_operator_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import operator
import os
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras

DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool")
ARITHMETIC = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
}
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}
LOGIC = {name: getattr(operator, name) for name in ("and_", "or_", "xor")}
FUNCTIONS = {
    "add": tf.add,
    "multiply": tf.multiply,
    "matmul": tf.matmul,
    "maximum": tf.maximum,
    "divide": tf.divide,
    "pow": tf.pow,
    "add_n": lambda x, y: tf.add_n([x, y]),
    "concat": lambda x, y: tf.concat([x, y], 0),
    "einsum": lambda x, y: tf.einsum("ij,jk->ik", x, y),
}
FIRST = [[2, 3], [1, 4]]
SECOND = [[1, 2], [2, 1]]


def told(function: Any, *operands: Any) -> Any:
    """Dtype and values of the result, or that it was refused."""
    try:
        made = function(*operands)
    except Exception:  # with whichever class
        return "refused"
    dtype = getattr(made.dtype, "name", made.dtype)
    if not tf.executing_eagerly():
        return [dtype]
    return [dtype, np.asarray(made).astype("float64").tolist()]


def variable(dtype: str) -> Any:
    return keras.Variable(np.array(FIRST), dtype=dtype)


def tensor(dtype: str) -> Any:
    return tf.cast(tf.constant(SECOND), dtype)


def grid(functions: Any, make: Any, first: bool = True, last: bool = True) -> Any:
    """Each function of each pair of dtypes, with the variable as first and second operand."""
    found = {}
    for one in ("float16", "float32", "int32", "bool"):
        held = variable(one)
        for other in DTYPES:
            x = make(other)
            for name, function in functions.items():
                case = f"{one} {name} {other}"
                if first:
                    found[case] = told(function, held, x)
                # TensorFlow's bool tensors treat any variable as a bool.
                if last and not (other == "bool" and name in {"mul", "mod", "and_", "or_", "xor"}):
                    found[f"{case}, reflected"] = told(function, x, held)
    return found


def in_a_layer(functions: Any, make: Any, traced: bool = False, **options: Any) -> Any:
    """The same where weights are read as float16."""
    found = {}

    class Asking(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            if not traced:
                found.update(grid(functions, make, **options))
            elif not found:
                for (one, other), held in variables.items():
                    for name, function in functions.items():
                        found[f"{one} {name} {other}"] = told(function, held, make(other))
                        if other != "bool":
                            reflected = told(function, make(other), held)
                            found[f"{one} {name} {other}, reflected"] = reflected
            return x

    kinds = ("float16", "float32", "int32")
    variables = {(one, other): variable(one) for one in kinds for other in DTYPES}
    layer = Asking(dtype="mixed_float16")
    call = tf.function(layer, autograph=False) if traced else layer
    call(tf.ones((2, 2)))
    return found


def numbers() -> Any:
    found = {}
    for dtype in ("float16", "float32", "int32", "bool"):
        held = variable(dtype)
        for x in (2, 1.5, [1, 2], [1.5, 2]):
            for name, function in {**ARITHMETIC, **COMPARISONS, **LOGIC}.items():
                if name != "matmul" or isinstance(x, list):
                    found[f"{dtype} {name} {x}"] = told(function, held, x)
                    found[f"{dtype} {name} {x}, reflected"] = told(function, x, held)
    return found


def alone() -> Any:
    one = {"neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert}
    one |= {"round": round, "rounded": lambda x: round(x / 8, 2), "row": lambda x: x[0]}
    return {
        f"{name} {dtype}": told(function, variable(dtype))
        for name, function in one.items()
        for dtype in ("float16", "float32", "int32")
    }


class Weighing(keras.layers.Layer):
    """A layer whose weights report the dtype in which they are read."""

    def build(self, _: Any) -> None:
        self.read = self.add_weight(shape=(2,), name="read")
        self.kept = self.add_weight(shape=(2,), name="kept", autocast=False, initializer="zeros")
        self.count = self.add_weight(shape=(), dtype="int32", name="count", trainable=False)

    def call(self, x: Any) -> Any:
        self.count.assign_add(1)
        self.kept.assign(self.kept + 1)
        weights = (self.read, self.kept, self.count)
        self.seen = [getattr(w.dtype, "name", w.dtype) for w in weights]
        return tf.cast(x, self.read.dtype) * self.read


def weighed(policy: str) -> Any:
    layer = Weighing(dtype=policy)
    layer.build((None, 2))
    layer.read.assign([0.5, 2.0])
    y = layer(tf.ones((1, 2)))
    kinds = [getattr(w.dtype, "name", w.dtype) for w in layer.weights]
    return [layer.seen, kinds, told(lambda: y), layer.kept.numpy().tolist()]


class Other:
    """A class that is not a number and defines its own operators."""


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "xor"):
    setattr(Other, f"__r{_name}__", lambda *_, name=_name: name)


def asked() -> Any:
    operators = {**ARITHMETIC, "and": operator.and_, "xor": operator.xor}
    found = {}
    for x in (tf.ones((2, 2)), tf.Variable(tf.ones((2, 2))), tf.constant([1, 2])):
        for name, function in operators.items():
            found[f"{name} {x.dtype.name} {len(found)}"] = function(x, Other())
    return found


def quotients() -> Any:
    x, y = tf.constant([3, 2]), tf.constant([2.0, 4.0])
    found = [told(tf.divide, 1, 2), told(tf.divide, [1.0, 2.0], 2), told(tf.divide, x, 2)]
    try:
        tf.truediv(x, y)
    except TypeError as error:
        words = "`x` and `y` must have the same dtype, got tf.int32 != tf.float32"
        found.append(words in str(error))
    return found


def whole_numbers() -> Any:
    found = {}
    for dtype in ("uint8", "uint16", "uint32", "int8", "int16", "int32", "int64", "bool"):
        x, y = tf.cast([[3, 2]], dtype), tf.cast([[2], [3]], dtype)
        for name in ("matmul", "mod", "power"):
            function = getattr(keras.ops, name)
            if name == "mod" or dtype not in {"bool", "int8", "int16"} or name == "matmul":
                found[f"{name} {dtype}"] = told(function, x, y)
            if name != "matmul":
                found[f"{name} {dtype} 2"] = told(function, x, 2)
                found[f"{name} {dtype} 2.5"] = told(function, x, 2.5)
                found[f"2 {name} {dtype}"] = told(function, 2, x)
    return found


PROGRAMS = {
    "arithmetic": lambda: grid(ARITHMETIC, tensor),
    "comparisons": lambda: grid(COMPARISONS, tensor),
    "logic": lambda: grid(LOGIC, tensor, last=False),
    "two_variables": lambda: grid({**ARITHMETIC, **COMPARISONS, **LOGIC}, variable),
    "arrays": lambda: grid(ARITHMETIC, lambda d: np.array(SECOND).astype(d), last=False),
    "functions": lambda: grid(FUNCTIONS, tensor),
    "arithmetic_in_a_layer": lambda: in_a_layer(ARITHMETIC, tensor),
    "comparisons_in_a_layer": lambda: in_a_layer(COMPARISONS, tensor),
    "functions_in_a_layer": lambda: in_a_layer(FUNCTIONS, tensor),
    "arithmetic_traced": lambda: in_a_layer(ARITHMETIC, tensor, traced=True),
    "comparisons_traced": lambda: in_a_layer(COMPARISONS, tensor, traced=True),
    "functions_traced": lambda: in_a_layer(FUNCTIONS, tensor, traced=True),
    "numbers": numbers,
    "alone": alone,
    "weights_of_a_plain_layer": lambda: weighed("float32"),
    "weights_of_a_mixed_layer": lambda: weighed("mixed_float16"),
    "operators_of_another_class": asked,
    "quotients": quotients,
    "whole_numbers": whole_numbers,
}


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found = {}
    for name, program in PROGRAMS.items():
        try:
            found[name] = program()
        except Exception as error:  # returned, and compared
            found[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
