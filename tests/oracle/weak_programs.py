"""Weak promotion in TensorFlow and in pinnace: results of programs as JSON.

Run as `python weak_programs.py tensorflow|pinnace FOLDER`; see test_weak_promotion.py. All of them
run in one process, in which each sets its mode.
"""

# ruff: noqa: T201

import importlib
import itertools
import json
import sys
import warnings
from typing import Any

import numpy as np

warnings.simplefilter("ignore")
tf: Any = importlib.import_module(sys.argv[1])
tnp: Any = tf.experimental.numpy

STRONG = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)),
    *("bfloat16", "float16", "float32", "float64", "complex64", "complex128"),
]
CALLS = """
tf.constant(5)
tf.constant([5.0, 10.0, 3])
tf.constant(True)
tf.constant("a")
tf.constant(2**40)
tf.constant(5, tf.int32)
tf.constant(np.arange(3))
tf.constant(5) + tf.constant(5.5)
5 - tf.constant(5.5)
tf.constant(1) < tf.constant(1.5)
tf.constant(1) == tf.constant(1.0)
tf.constant(1) != tf.constant(1.0)
-tf.constant(5)
abs(tf.constant(-5))
tf.constant(5) & tf.constant(3, tf.int8)
tf.constant(True) * tf.constant(False)
tf.constant(5) // 2
tf.constant(7) % tf.constant(4, tf.uint8)
2 ** tf.constant(5.0)
tf.constant(5, tf.int16) - tf.constant(1, tf.float32)
tf.constant(1, tf.int64) + tf.constant(3.2, tf.float16)
np.array(3.2, np.float16) + tf.constant(1, tf.int8) + tf.constant(50)
tf.add(tf.add(np.array(1, np.int8), tf.constant(1)), np.array(1, np.float16))
tf.add(tf.add(tf.constant(1), np.array(1, np.int8)), np.array(1, np.float16))
tf.constant(1j) + tf.constant(1, tf.float16)
tf.reduce_sum([1, 2, 3])
tf.reduce_mean(tf.constant([1.0, 2]))
tf.reduce_max([1, 2], axis=0)
tf.math.sqrt(2.0)
tf.math.abs([100.0, 4.0])
tf.maximum(tf.constant(1), 2.5)
tf.concat([tf.constant([1]), tf.constant([2])], 0)
tf.cast(tf.constant(1), tf.float16)
tf.constant([[1, 2], [3, 4]]) @ [[1.5], [2]]
tf.constant("a") + "b"
list(tf.constant([1, 2]))
tf.identity(3)
tf.reshape([1, 2], [2, 1])
tf.squeeze([[1.5]])
tf.transpose([[1, 2]])
tf.zeros_like([1])
tf.zeros_like([1], tf.int8)
tf.clip_by_value([1.0, 5.0], 2, 3)
tf.linalg.matmul([[1]], [[1.5]])
tf.linalg.diag([1, 2])
tf.expand_dims(1, 0)
tf.math.scalar_mul(2, tf.constant([1.5], tf.float16))
tf.math.scalar_mul(2, [1.5])
tf.abs(np.float64(-1))
tf.nn.relu([-1.0, 2])
tf.nn.gelu([-1.0, 2])
tf.nn.log_softmax([-1.0, 2])
tf.constant(tf.constant(10, tf.int16), tf.float32)
tf.constant(tf.constant(10), tf.float64)
tf.constant(tf.constant(10.0, tf.float32), tf.int16)
tf.Variable(10).assign_add(tf.constant(5, tf.int16))
tf.Variable(10).assign_sub(5)
tf.Variable(10.0).assign(2)
tf.Variable(10).assign(2.5)
tf.Variable(10, dtype=tf.int8).assign_add(tf.constant(1, tf.int16))
tf.Variable(1.5) + 1
tf.Variable(1.5) + tf.constant(1, tf.float64)
tnp.array(1)
tnp.array([1.5, 2])
tnp.array(np.arange(3))
tnp.array(1, tnp.int8)
tnp.zeros(3)
tnp.ones([2])
tnp.full([2], 3)
tnp.arange(3)
tnp.linspace(0, 1, 3)
tnp.eye(2)
tnp.sum([1, 2])
tnp.sum(tf.constant([1, 2], tf.int8))
tnp.prod(tf.constant([True, False]))
tnp.mean([1, 2])
tnp.var([1, 2])
tnp.cumsum([1, 2])
tnp.cumprod(tf.constant([1, 2], tf.int16))
tnp.argsort([3, 1])
tnp.add(1, 2.5)
tnp.add(tf.constant(1, tf.int32), tf.constant(1.5, tf.float32))
tnp.maximum(tf.constant(1, tf.int32), 1.5)
tnp.matmul([[1]], [[2.5]])
tnp.where([True], 1, 2.5)
tnp.concatenate([[1], [2.5]])
tnp.arccosh(2.0)
tnp.sqrt(2)
tnp.flip([1, 2])
tnp.result_type(1, np.int8)
tnp.result_type(1, 2.5)
tnp.result_type(float)
""".strip().splitlines()


def plain(x: Any) -> Any:
    """A value for JSON; for a tensor its dtype, whether it is weak, and its values."""
    if isinstance(x, list):
        return [plain(item) for item in x]
    if isinstance(x, tf.DType):
        return x.name
    weak = "weak=True" in repr(x)
    array = np.asarray(x.numpy())
    values = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=True)
    flat = values.reshape(-1)
    return {
        "dtype": tf.as_dtype(x.dtype).name,
        "weak": weak,
        "shape": list(array.shape),
        "values": flat.view(np.float64).tolist(),
    }


def attempt(call: Any) -> Any:
    """The result of a call, or the class of the exception."""
    try:
        found = call()
    except OverflowError:
        return "OverflowError"
    except Exception:
        return "error"
    if getattr(found, "dtype", None) == tf.string:
        return str(found.numpy())
    return plain(found)


def mode(name: str) -> None:
    tnp.experimental_enable_numpy_behavior(dtype_conversion_mode=name)


def sums() -> Any:
    """The kind of the sum for all pairs of kinds, strong and weak, in both modes."""
    found = {}
    for name in ("all", "safe"):
        mode(name)
        values = {kind: tf.cast(1, kind) for kind in STRONG}
        values |= {"int*": tf.constant(1), "float*": tf.constant(1.5), "complex*": tf.constant(1j)}
        wide = tf.constant(1, tf.uint32) * 1  # a weak float64 results from an integer and a float
        values["double*"] = wide + tf.constant(1.5) if name == "all" else values["float*"]
        for (a, x), (b, y) in itertools.product(values.items(), repeat=2):
            found[f"{name} {a} + {b}"] = attempt(lambda x=x, y=y: tf.multiply(x, y))
    return found


def calls() -> Any:
    found = {}
    for name in ("all", "safe"):
        mode(name)
        for call in CALLS:
            found[f"{name}: {call}"] = attempt(lambda call=call: eval(call))
    return found


def back() -> Any:
    """The other modes, set after these."""
    found = {}
    for name in ("all", "legacy"):
        mode(name)
    for call in ("tf.constant(5)", "tf.constant(1) + tf.constant(1.5)", "tf.math.abs([1.5])"):
        found[call] = attempt(lambda call=call: eval(call))
    return found


def gradients() -> Any:
    mode("all")
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x + tf.sin(x) * tf.constant(2)
    found = {"eager": float(tape.gradient(y, x))}
    half = tf.Variable(1.5, dtype=tf.float16)

    @tf.function
    def step(z: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = half * tf.constant(2.0) + z
        return loss, tape.gradient(loss, half)

    loss, slope = step(tf.constant(1, tf.int8))
    return found | {"loss": plain(loss), "slope": plain(slope)}


PROGRAMS = {"sums": sums, "calls": calls, "back": back, "gradients": gradients}

if __name__ == "__main__":
    print(json.dumps({name: program() for name, program in PROGRAMS.items()}))
