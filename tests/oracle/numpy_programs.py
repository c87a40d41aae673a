"""`tf.experimental.numpy` in TensorFlow and in pinnace: results of programs as JSON.

Run as `python numpy_programs.py tensorflow|pinnace FOLDER`; see test_numpy_names.py. Each program
draws its arrays from a seeded generator, and sets the mode in which it runs.
"""

# ruff: noqa: ARG005, T201 (bodies that need one argument of two)

import importlib
import itertools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

warnings.simplefilter("ignore")
tf: Any = importlib.import_module(sys.argv[1])
tnp: Any = tf.experimental.numpy

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["bfloat16", "float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX]
PYTHON = {"True": True, "3": 3, "2.5": 2.5, "2j": 2j}


def plain(x: Any) -> Any:
    """A value for JSON: a tensor as its dtype, shape and values."""
    if isinstance(x, (tf.Tensor, np.ndarray, np.generic)):
        array = np.asarray(x)
        name = tf.as_dtype(x.dtype).name
        if array.dtype.kind == "O":
            flat = [item.decode() for item in array.reshape(-1)]
        elif array.dtype.kind == "c":
            flat = [[float(n.real), float(n.imag)] for n in array.reshape(-1)]
        elif array.dtype.kind in "biu":
            flat = array.reshape(-1).tolist()
        else:
            flat = array.astype(np.float64).reshape(-1).tolist()
        return {"dtype": name, "shape": list(array.shape), "values": flat}
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, dict):
        return {str(key): plain(item) for key, item in x.items()}
    if isinstance(x, (tf.TensorShape, tf.DType, np.dtype, type)):
        return getattr(x, "name", str(x))
    return [x.real, x.imag] if isinstance(x, complex) else x


def attempt(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The result of a call, or that it raises."""
    try:
        return plain(function(*args, **options))
    except Exception:
        return "error"


def draw(rng: Any, dtype: str, shape: tuple[int, ...], low: int = -6, high: int = 7) -> Any:
    """A tensor of this dtype: fractions for floats, no value too large for 8 bits."""
    if dtype == "bool":
        return tf.constant(rng.integers(0, 2, shape).astype(bool))
    if dtype in UNSIGNED:
        low = max(low, 0)
    numbers = rng.integers(low, high, shape)
    if dtype in FLOATS:
        return tf.cast(tf.constant(numbers / 4), dtype)
    if dtype in COMPLEX:
        return tf.cast(tf.constant(numbers / 4 + 1j * rng.integers(-6, 7, shape) / 4), dtype)
    return tf.constant(numbers.astype(dtype))


def numpy_rules(prefer_float32: bool = False, mode: str = "legacy") -> None:
    tnp.experimental_enable_numpy_behavior(prefer_float32, mode)


def result_types() -> Any:
    """Every pair of dtypes, Python numbers and types, with both preferences, and triples."""
    found = {}
    for prefer in (False, True):
        numpy_rules(prefer)
        sides = {**{name: tf.as_dtype(name) for name in DTYPES}, **PYTHON, "float": float}
        sides |= {"int": int, "array": np.ones(2, np.int16), "number": np.float64(1)}
        sides |= {"list": [1, 2.5], "nothing": []}
        for (a, x), (b, y) in itertools.product(sides.items(), repeat=2):
            found[f"{prefer} {a} {b}"] = attempt(tnp.result_type, x, y)
        for names in itertools.combinations(["3", "2.5", "int8", "float32", "complex64"], 3):
            values = [sides[name] for name in names]
            found[f"{prefer} {' '.join(names)}"] = attempt(tnp.result_type, *values)
        found[f"{prefer} none"] = attempt(tnp.result_type)
    for a, b in itertools.product([*DTYPES, float, int, bool], repeat=2):
        found[f"promote {a} {b}"] = attempt(
            tnp.promote_types, *[tf.as_dtype(x) if isinstance(x, str) else x for x in (a, b)]
        )
    numpy_rules()
    return found


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "<": lambda x, y: x < y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    ">=": lambda x, y: x >= y,
    "&": lambda x, y: x & y,
    "^": lambda x, y: x ^ y,
    "@": lambda x, y: x @ y,
    "**": lambda x, y: x**y,
}


def operators() -> Any:
    """Every pair of dtypes, and each with Python numbers and lists on either side."""
    found = {}
    rng = np.random.default_rng(1)
    x = {name: draw(rng, name, (2, 2), 1, 5) for name in DTYPES}
    y = {name: draw(rng, name, (2, 2), 1, 4) for name in DTYPES}
    for prefer in (False, True):
        numpy_rules(prefer)
        for (sign, function), a in itertools.product(BINARY.items(), DTYPES):
            for b in DTYPES:
                found[f"{prefer} {a} {sign} {b}"] = attempt(function, x[a], y[b])
            if sign != "@":
                for text, number in {**PYTHON, "list": [2, 3], "array": np.ones(2)}.items():
                    found[f"{prefer} {a} {sign} {text}"] = attempt(function, x[a], number)
                    if text != "array":
                        found[f"{prefer} {text} {sign} {a}"] = attempt(function, number, x[a])
    numpy_rules(mode="off")
    found["off"] = attempt(lambda: x["int32"] + x["float32"])
    found["off alike"] = attempt(lambda: x["int32"] + x["int32"])
    numpy_rules()
    variable = tf.Variable([1.5, 2.0])
    found["variable"] = plain([variable + 1, 2 * variable, variable + x["float64"][0]])
    found["words"] = plain([tf.constant("a") == tf.constant("a")])
    found["none"] = [tf.constant(1) == None, tf.constant(1) != None]  # noqa: E711
    return found


def unary() -> Any:
    """Each function of one array, of every dtype and several shapes."""
    numpy_rules()
    found = {}
    rng = np.random.default_rng(2)
    for name, dtype, shape in itertools.product(section("unary"), DTYPES, [(), (4,), (2, 3)]):
        x = draw(rng, dtype, shape)
        found[f"{name} {dtype} {shape}"] = attempt(getattr(tnp, name), x)
    special = tf.constant([np.nan, np.inf, -np.inf, -0.0, 2.5, -2.5])
    for name in section("unary"):
        if name not in {"argmax", "argmin", "argsort", "sort", "empty_like"}:  # NaN has no order
            found[f"{name} special"] = attempt(getattr(tnp, name), special)
        for text, number in {**PYTHON, "list": [1, 2], "floats": [[0.5, 2.0]]}.items():
            found[f"{name} {text}"] = attempt(getattr(tnp, name), number)
    for value in (3, 2.5, [1, 2.5], np.float32(2), "word", b"word", [], [[1], [2]], 2**40, 2j):
        found[f"array {value}"] = attempt(tnp.array, value)
    for decimals, dtype in itertools.product((-1, 1), DTYPES):
        x = draw(rng, dtype, (4,), -100, 100)
        found[f"around {decimals} {dtype}"] = attempt(tnp.around, x, decimals)
    found["deg"] = attempt(tnp.angle, tf.constant([1j, -1 + 0j]), deg=True)
    return found


def pairs() -> Any:
    """Each function of two arrays, of every pair of dtypes."""
    numpy_rules()
    found = {}
    rng = np.random.default_rng(3)
    for name, a in itertools.product(section("pairs"), DTYPES):
        x = draw(rng, a, (3,), 1, 7)
        for b in DTYPES:
            found[f"{name} {a} {b}"] = attempt(getattr(tnp, name), x, draw(rng, b, (3,), 1, 4))
        for text, number in {**PYTHON, "0": 0, "0.0": 0.0}.items():
            if text[0] != "0" or name in {"maximum", "minimum", "add", "heaviside"}:
                found[f"{name} {a} {text}"] = attempt(getattr(tnp, name), x, number)
    return found


def shapes_of_pairs() -> Any:
    """Functions of two arrays of several shapes, and with their options."""
    numpy_rules()
    found: dict[str, Any] = {}
    rng = np.random.default_rng(7)
    x, y = tf.constant([1.0, np.nan, np.inf, 0.0]), tf.constant([1.0 + 1e-6, np.nan, np.inf, 1e-9])
    for options in ({}, {"equal_nan": True}, {"rtol": 1e-9}, {"atol": 0.0}):
        found[f"isclose {options}"] = attempt(tnp.isclose, x, y, **options)
        found[f"allclose {options}"] = attempt(tnp.allclose, x[:1], y[:1], **options)
    shapes = [((), (2,)), ((2,), ()), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), ())]
    shapes += [((2, 1, 3), (2, 3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)), ((2, 3), (4, 3))]
    for name, (m, n) in itertools.product(["dot", "inner", "matmul", "kron", "outer"], shapes):
        x, y = draw(rng, "float32", m), draw(rng, "int32", n)
        found[f"{name} {m} {n}"] = attempt(getattr(tnp, name), x, y)
    for axes in (0, 1, 2, [[0], [1]], [[0, 1], [1, 0]]):
        x, y = draw(rng, "float64", (2, 2)), draw(rng, "int8", (2, 2))
        found[f"tensordot {axes}"] = attempt(tnp.tensordot, x, y, axes)
    for m, n in itertools.product([(3,), (2,), (4, 3), (4, 2)], repeat=2):
        x, y = draw(rng, "float32", m), draw(rng, "float32", n)
        found[f"cross {m} {n}"] = attempt(tnp.cross, x, y)
    x, y = draw(rng, "float32", (3, 4)), draw(rng, "float32", (3, 4))
    found["cross axes"] = [
        attempt(tnp.cross, x, y, axis=0),
        attempt(tnp.cross, x, tf.transpose(y), axisa=0, axisc=0),
    ]
    for low, high in ((1, None), (None, 2.5), (-1, 3), (tf.constant([0, 1, 2]), 4), (None, None)):
        for dtype in ("int32", "float32", "uint8"):
            found[f"clip {low} {high} {dtype}"] = attempt(
                tnp.clip, draw(rng, dtype, (2, 3)), low, high
            )
    found["gcd"] = [
        attempt(tnp.gcd, tf.constant([12, -18, 0, 7]), tf.constant([[8], [0], [2**30]])),
        attempt(tnp.lcm, tf.constant([12, -18, 0, 7]), tf.constant([[8], [0], [21]])),
    ]
    found["einsum"] = [
        attempt(tnp.einsum, "ij,jk->ik", np.ones((2, 3)), np.ones((3, 2), np.int32)),
        attempt(tnp.einsum, "ij->j", np.ones((2, 3)), casting="no", optimize="optimal"),
        attempt(tnp.einsum, "ij->j", np.ones((2, 3)), casting="same"),
        attempt(tnp.einsum, "ij->j", np.ones((2, 3)), optimize="best"),
    ]
    return found


def reductions() -> Any:
    """Reductions over every choice of axes, with every option."""
    numpy_rules()
    found = {}
    rng = np.random.default_rng(4)
    names = ["sum", "prod", "mean", "std", "var", "amax", "min", "ptp", "all", "any"]
    for name, axis, keepdims, dtype in itertools.product(
        names, (None, 0, -1, (0, 2), (1,)), (False, True), ("bool", "int8", "float32", "complex64")
    ):
        x = draw(rng, dtype, (2, 3, 2))
        found[f"{name} {axis} {keepdims} {dtype}"] = attempt(
            getattr(tnp, name), x, axis=axis, keepdims=keepdims
        )
    for name, a, b in itertools.product(
        ["sum", "prod", "mean", "var", "nansum", "nanprod", "nanmean", "cumsum", "cumprod"],
        ("bool", "int32", "uint8", "float32"),
        (bool, "int8", "int64", "float16", float),
    ):
        found[f"{name} {a} as {b}"] = attempt(getattr(tnp, name), draw(rng, a, (2, 3)), dtype=b)
    x = tf.constant([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]])
    for name, axis in itertools.product(["nansum", "nanprod", "nanmean"], (None, 0, 1)):
        found[f"{name} {axis}"] = attempt(getattr(tnp, name), x, axis=axis)
    for name, axis, dtype in itertools.product(
        ["cumsum", "cumprod", "argmax", "argmin", "count_nonzero", "sort", "argsort", "diff"],
        (None, 0, -1, 2),
        ("int8", "float32"),
    ):
        found[f"{name} {axis} {dtype}"] = attempt(
            getattr(tnp, name), draw(rng, dtype, (2, 3)), axis=axis
        )
    for ddof, dtype, axis in itertools.product((0, 1), (None, "float32"), (None, 1, 0)):
        found[f"var {ddof} {dtype} {axis}"] = attempt(
            tnp.var, draw(rng, "float64", (3, 4)), axis=axis, ddof=ddof, dtype=dtype or "float64"
        )
    for weights, axis, returned in itertools.product(
        (None, [1, 2, 3], [[1.0, 2, 3], [4, 5, 6]]), (None, 0, 1), (False, True)
    ):
        for dtype in ("int32", "float32"):
            found[f"average {weights} {axis} {returned} {dtype}"] = attempt(
                tnp.average, draw(rng, dtype, (2, 3)), axis, weights, returned
            )
    found["diff"] = [attempt(tnp.diff, [1, 4, 9, 16], n) for n in (0, 1, 2, -1)]
    found["order"] = [attempt(tnp.sort, [2, 1], kind="heapsort"), attempt(tnp.argsort, [2j])]
    found["out"] = [attempt(tnp.mean, [1.0], out=1), attempt(tnp.sign, [1.0], out=1)]
    return found


def section(name: str) -> list[str]:
    """The lines of a section of numpy_calls.txt."""
    text = Path(__file__).with_name("numpy_calls.txt").read_text("utf-8")
    _, _, after = text.partition(f"[{name}]\n")
    return after.partition("\n\n")[0].splitlines()


def calls(name: str) -> Any:
    """The results of the calls in a section of numpy_calls.txt."""
    numpy_rules()
    rng = np.random.default_rng(5)
    names = {
        "tnp": tnp,
        "tf": tf,
        "np": np,
        "v": draw(rng, "int32", (4,)),
        "m": draw(rng, "float32", (3, 4)),
        "c": draw(rng, "int64", (2, 3, 4)),
        "b": draw(rng, "bool", (4,)),
        "s": draw(rng, "float64", ()),
        "q": tf.constant([[0.5, 2.5], [1.5, -3.0]]),
    }
    return {line: attempt(eval, line, dict(names)) for line in section(name)}


def traced() -> Any:
    """Calls inside functions with unknown sizes."""
    numpy_rules()
    rng = np.random.default_rng(6)
    x, y = draw(rng, "float32", (3, 4)), draw(rng, "int32", (4,))
    bodies: dict[str, Callable[[Any, Any], Any]] = {
        "operators": lambda a, b: a * b + 2.5,
        "index": lambda a, b: [a[:, [0, -1]], a[[0, 1], [1, 2]], a[a > 0], a[1:, None]],
        "reduce": lambda a, b: [tnp.sum(b), tnp.mean(a, 0), tnp.var(a, ddof=1, dtype="float32")],
        "shape": lambda a, b: [tnp.atleast_3d(a), tnp.ravel(a), a.T, tnp.tile(a, (2, 1)), a.size],
        "stack": lambda a, b: [tnp.vstack([a, b]), tnp.append(a, b), tnp.stack([b, b])],
        "choose": lambda a, b: [tnp.take(b, [1]), tnp.diag(a), tnp.where(a > 0, a, 0)],
        "products": lambda a, b: [tnp.dot(a, b), tnp.outer(b, b), tnp.kron(a, b), a @ b],
        "along": lambda a, b: tnp.take_along_axis(a, tnp.argsort(a, 1), 1),
        "divide": lambda a, b: [tnp.gcd(b, 6), tnp.lcm(b, 4), tnp.array_equal(a, b[:3])],
        "equal": lambda a, b: [tnp.array_equal(b, b), tnp.array_equal(b, b[1:])],
        "average": lambda a, b: tnp.average(a, 1, b + 10),
        "swap": lambda a, b: [tnp.swapaxes(a, 0, 1), tnp.moveaxis(a, 0, 1), tnp.flip(a)],
        "size": lambda a, b: [tnp.size(a), tnp.full_like(a, 2), tnp.broadcast_arrays(a, b)],
    }
    specs = [tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.int32)]
    return {
        f"{name} {bool(given)}": attempt(tf.function(body, input_signature=given), x, y)
        for name, body in bodies.items()
        for given in (None, specs)
    }


def gradients() -> Any:
    """Gradients through functions, promotion, indices and methods."""
    numpy_rules()
    x = tf.constant([[0.5, 2.5, 1.0], [1.5, -3.0, 0.0]])
    bodies: dict[str, Callable[[Any], Any]] = {
        "promoted": lambda a: a * tf.constant([1, 2, 3]) + tf.constant(2.5, tf.float64),
        "index": lambda a: a[[0, 1], [1, -1]] * 3,
        "mixed": lambda a: a[:, [0, 0, 2]],
        "mask": lambda a: a[a > 0],
        "relu": lambda a: tnp.maximum(a, 0),
        "methods": lambda a: (a.T.reshape(-1).clip(-1, 2) ** 2).mean(),
        "logaddexp": lambda a: tnp.logaddexp(a, 1),
        "var": lambda a: tnp.var(a, 1),
        "cross": lambda a: tnp.cross(a, [1.0, 2, 3]),
        "kron": lambda a: tnp.kron(a, a),
        "along": lambda a: tnp.take_along_axis(a, [[0], [2]], 1),
        "average": lambda a: tnp.average(a, 1, [1, 2, 3]),
        "where": lambda a: tnp.where(a > 0, a, 2 * a),
    }
    found = {}
    for name, body in bodies.items():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(body(x) * 1.5)
        found[name] = plain(tape.gradient(y, x))
    return found


def chance() -> Any:
    """The random numbers after a seed."""
    numpy_rules()
    lines = ["randn(2, 3)", "randn()", "standard_normal(3)", "standard_normal()", "random((2, 2))"]
    lines += ["random()", "rand(3)", "rand()", "uniform(1, 2, (3,))", "uniform([0.0, 5], [1, 9])"]
    lines += ["randint(5, size=4)", "randint(2, 7, (2, 2), tnp.int32)", "randint(3)"]
    lines += ["randint(3, dtype=float)", "poisson(2.0, 3)", "poisson()", "seed('a')", "seed([])"]
    found = {}
    for line in lines:
        tnp.random.seed(11)
        found[line] = attempt(eval, f"tnp.random.{line}", {"tnp": tnp})
    return found


def preferring() -> Any:
    """What a preference for float32 changes, and what it does not."""
    numpy_rules(prefer_float32=True)
    names = {"tnp": tnp, "tf": tf}
    found = {line: attempt(eval, line, names) for line in section("preferring")}
    numpy_rules()
    return found


PROGRAMS = {
    "result_types": result_types,
    "operators": operators,
    "unary": unary,
    "pairs": pairs,
    "shapes_of_pairs": shapes_of_pairs,
    "reductions": reductions,
    "making": lambda: calls("making"),
    "shaping": lambda: calls("shaping"),
    "choosing": lambda: calls("choosing"),
    "indexing": lambda: calls("indexing"),
    "methods": lambda: calls("methods"),
    "traced": traced,
    "gradients": gradients,
    "chance": chance,
    "preferring": preferring,
}

if __name__ == "__main__":
    print(json.dumps({name: program() for name, program in PROGRAMS.items()}))
