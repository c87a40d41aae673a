"""Writes the .json files beside it: random numbers as TensorFlow 2.21 draws them on a CPU.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/random/make.py
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

R = tf.raw_ops
SEEDS = [[0, 0], [1, 2], [-1, 7], [123456789012345, -98765432109876]]
FLOATS = [tf.float16, tf.bfloat16, tf.float32, tf.float64]


def values(tensor: tf.Tensor) -> list[float]:
    """The exact values: every 16- and 32-bit float is a double, and json writes doubles in full."""
    flat = tf.reshape(tensor, [-1])
    if flat.dtype.is_floating:
        flat = tf.cast(flat, tf.float64)
    return flat.numpy().tolist()


def case(op: str, drawn: tf.Tensor, **more: object) -> dict[str, object]:
    """One line of the file."""
    return {"op": op, "dtype": drawn.dtype.name, **more, "values": values(drawn)}


def stateless(seed: list[int]) -> Iterator[dict[str, object]]:
    """Every stateless distribution and dtype for one seed."""
    key, counter = R.StatelessRandomGetKeyCounter(seed=tf.constant(seed, tf.int64))
    start = {"key": key, "counter": counter, "alg": 1}
    yield {"op": "key_counter", "seed": seed, "values": values(tf.concat([key, counter], 0))}
    for dtype in FLOATS:
        for op, raw, count in [
            ("uniform", R.StatelessRandomUniformV2, 21),
            ("normal", R.StatelessRandomNormalV2, 21),
            ("truncated_normal", R.StatelessTruncatedNormalV2, 131),
        ]:
            yield case(op, raw(shape=[count], dtype=dtype, **start), seed=seed)
    for dtype in [tf.int32, tf.int64, tf.uint32, tf.uint64]:
        drawn = R.StatelessRandomUniformFullIntV2(shape=[9], dtype=dtype, **start)
        yield case("uniform_full_int", drawn, seed=seed)
    for dtype in [tf.int32, tf.int64]:  # the kernel supports no other dtypes
        for low, high in [(0, 10), (5, 2**31 - 1), (-7, 4), (dtype.min, dtype.max)]:
            bounds = {"minval": tf.constant(low, dtype), "maxval": tf.constant(high, dtype)}
            drawn = R.StatelessRandomUniformIntV2(shape=[9], **bounds, **start)
            yield case("uniform_int", drawn, seed=seed, low=low, high=high)
        if max(map(abs, seed)) <= dtype.max:
            for data in [0, 5, -3]:
                drawn = tf.random.experimental.stateless_fold_in(
                    tf.constant(seed, dtype), tf.constant(data, dtype)
                )
                yield case("fold_in", drawn, seed=seed, data=data)


def overruns() -> Iterator[dict[str, object]]:
    """A counter whose low half overflows within the draw; the last 21 numbers."""
    counter = [2**64 - 300, 5]
    start = {"key": tf.constant([77], tf.uint64), "counter": tf.constant(counter, tf.uint64)}
    for op, raw, count in [
        ("uniform", R.StatelessRandomUniformV2, 1300),
        ("truncated_normal", R.StatelessTruncatedNormalV2, 21),
    ]:
        drawn = raw(shape=[count], dtype=tf.float32, alg=1, **start)[-21:]
        yield case(op, drawn, key=77, counter=counter, count=count)


def stateful() -> Iterator[dict[str, object]]:
    """Three runs of one op each, in a graph, where seed and seed2 are its attributes."""
    bounds = {"minval": tf.constant(0).numpy(), "maxval": tf.constant(1000).numpy()}
    ops = {
        "uniform": (R.RandomUniform, {"dtype": tf.float32}),
        "normal": (R.RandomStandardNormal, {"dtype": tf.float32}),
        "truncated_normal": (R.TruncatedNormal, {"dtype": tf.float32}),
        "uniform_int": (R.RandomUniformInt, bounds),
        "uniform_double": (R.RandomUniform, {"dtype": tf.float64}),
    }
    for name, (raw, more) in ops.items():
        for seed, seed2 in [(1, 2), (-3, 4), (87654321, 0)]:
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                drawn = raw(shape=[5], seed=seed, seed2=seed2, **more)
                runs = [session.run(drawn).astype("float64").tolist() for _ in range(3)]
            yield {"op": name, "seed": seed, "seed2": seed2, "runs": runs}


FILES = {
    "stateless.json": [c for seed in SEEDS for c in stateless(seed)] + list(overruns()),
    "stateful.json": list(stateful()),
}
for file, cases in FILES.items():
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / file).write_text(f"[\n{lines}\n]\n")
    record(f"random/{file}", script="random/make.py", made_with=f"tensorflow {tf.__version__}")
