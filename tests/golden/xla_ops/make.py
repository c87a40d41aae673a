"""Writes model/ and io.npz beside it: signatures with TensorFlow's XLA ops, and results.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/xla_ops/make.py
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as gen
from tensorflow.compiler.tf2xla.python import xla
from tensorflow.compiler.xla import xla_data_pb2 as messages

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

RNG = np.random.default_rng(3)
F = tf.float32


def scalar(function: Any, count: int = 2, kind: Any = F) -> Any:
    """A function of scalars, like a region."""
    specs = [tf.TensorSpec((), kind)] * count
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def add(x: Any, y: Any) -> Any:
    return x + y


def dots(x: Any, y: Any) -> Any:
    numbers = messages.DotDimensionNumbers()
    numbers.lhs_contracting_dimensions.append(2)
    numbers.rhs_contracting_dimensions.append(1)
    numbers.lhs_batch_dimensions.append(0)
    numbers.rhs_batch_dimensions.append(0)
    return {
        "dot": xla.dot_general(x, y, numbers),
        "wide": xla.dot_general(x, y, numbers, preferred_element_type=tf.float64),
        "einsum": gen.xla_einsum(x, y, equation="bij,bjk->bki"),
    }


def convolutions(x: Any, kernel: Any) -> Any:
    numbers = messages.ConvolutionDimensionNumbers()
    numbers.input_batch_dimension, numbers.input_feature_dimension = 0, 3
    numbers.output_batch_dimension, numbers.output_feature_dimension = 0, 3
    numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension = 2, 3
    for side in (numbers.input_spatial_dimensions, numbers.output_spatial_dimensions):
        side.extend([1, 2])
    numbers.kernel_spatial_dimensions.extend([0, 1])
    return {
        "plain": xla.conv(x, kernel, (2, 1), ((1, 0), (0, 2)), (1, 1), (1, 1), numbers),
        "spread": xla.conv(x, kernel, (1, 1), ((1, 1), (2, 2)), (2, 2), (1, 2), numbers),
    }


def gathers(x: Any, rows: Any) -> Any:
    numbers = messages.GatherDimensionNumbers()
    numbers.offset_dims.append(1)
    numbers.collapsed_slice_dims.append(0)
    numbers.start_index_map.append(0)
    numbers.index_vector_dim = 1
    return {"rows": xla.gather(x, rows, numbers, [1, 4])}


def scatters(x: Any, rows: Any, new: Any) -> Any:
    numbers = messages.ScatterDimensionNumbers()
    numbers.update_window_dims.append(1)
    numbers.inserted_window_dims.append(0)
    numbers.scatter_dims_to_operand_dims.append(0)
    numbers.index_vector_dim = 1

    def put(function: Any) -> Any:
        return gen.xla_scatter(
            x,
            rows,
            new,
            update_computation=scalar(function),
            dimension_numbers=numbers.SerializeToString(),
            indices_are_sorted=False,
        )

    return {"added": put(add), "replaced": put(lambda _, y: tf.identity(y))}


def pads(x: Any, value: Any) -> Any:
    return {"pad": xla.pad(x, value, [1, -1], [0, 2], [2, 0])}


def reductions(x: Any, start: Any) -> Any:
    two = tf.function(
        lambda a, b, c, d: (tf.maximum(a, c), tf.where(a >= c, b, d)), autograph=False
    ).get_concrete_function(*[tf.TensorSpec((), F)] * 4)
    both = gen.xla_variadic_reduce_v2(
        inputs=[x, -x], init_values=[start, start], dimensions_to_reduce=[1], reducer=two
    )
    return {
        "sum": xla.reduce(x, start, [0], scalar(add)),
        "own": xla.reduce(x, start, [1], scalar(lambda a, b: tf.maximum(a * 0.5, b) + 0 * a)),
        "first": both[0],
        "second": both[1],
        "window": xla.reduce_window(x, start, scalar(tf.maximum), [2, 2], [1, 2]),
        "sums": xla.reduce_window(x, start, scalar(add), [2, 3], [2, 1], padding=[[1, 0], [1, 1]]),
    }


def scattered(x: Any, source: Any, start: Any) -> Any:
    return {
        "chosen": gen.xla_select_and_scatter(
            x, [2, 2], [2, 2], [[0, 0], [0, 0]], source, start,
            select=scalar(lambda a, b: a >= b), scatter=scalar(add),
        )
    }  # fmt: skip


def sorts(x: Any, y: Any) -> Any:
    down = tf.function(lambda a, b, *_: a > b, autograph=False).get_concrete_function(
        *[tf.TensorSpec((), F)] * 4
    )
    keys, values = gen.xla_key_value_sort(x, y)
    first, second = gen.xla_variadic_sort([x, y], 0, comparator=down, is_stable=True)
    whole = gen.xla_sort(x)
    return {"sorted": whole, "keys": keys, "values": values, "first": first, "second": second}


def windows(x: Any, new: Any, at: Any) -> Any:
    return {
        "part": gen.xla_dynamic_slice(x, at, tf.constant([2, 3])),
        "whole": gen.xla_dynamic_update_slice(x, new, at),
    }


def small(x: Any, row: Any) -> Any:
    left, right = gen.xla_broadcast_helper(x, row, tf.constant([0], tf.int64))
    return {
        "sum": left + right,
        "rounded": gen.xla_reduce_precision(x, exponent_bits=5, mantissa_bits=4),
        "same": gen.xla_optimization_barrier([gen.xla_sharding(x)])[0],
    }


def flows(x: Any, n: Any) -> Any:
    spec = [tf.TensorSpec((), tf.int32), tf.TensorSpec((3, 4), F)]
    less = tf.function(lambda i, _: i < 4, autograph=False).get_concrete_function(*spec)
    grow = tf.function(lambda i, y: (i + 1, y * 1.5 + 1), autograph=False)
    return {"grown": gen.xla_while([n, x], cond=less, body=grow.get_concrete_function(*spec))[1]}


def branches(x: Any, n: Any) -> Any:
    """TensorFlow runs it only inside an XLA program: the results are those of `tf.cond`."""
    if tf.inside_function():
        spec = tf.TensorSpec((3, 4), F)
        yes = tf.function(lambda y: y + 1, autograph=False).get_concrete_function(spec)
        no = tf.function(lambda y: y * 2, autograph=False).get_concrete_function(spec)
        chosen = gen.xla_if(n > 2, [x], then_branch=yes, else_branch=no, Tout=[F])[0]
        return {"chosen": chosen}
    return {"chosen": tf.cond(n > 2, lambda: x + 1, lambda: x * 2)}


def decomposed(x: Any) -> Any:
    square = tf.matmul(x, x, transpose_b=True)
    w, v = gen.xla_self_adjoint_eig(square, lower=True, max_iter=100, epsilon=1e-6)
    s, u, t = gen.xla_svd(x, max_iter=100, epsilon=1e-6, precision_config="")
    # Vectors are determined up to their signs.
    return {
        "values": w,
        "singular": s,
        "again": tf.matmul(v * w[None], v, transpose_b=True),
        "product": tf.matmul(u * s[None], t, transpose_b=True),
    }


def bits(state: Any) -> Any:
    found = {}
    for name, number in (("philox", 1), ("threefry", 2)):
        key, words = gen.xla_rng_bit_generator(number, state, [3, 4], dtype=tf.uint32)
        found |= {f"{name}_key": key, name: words}
    return found


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


ROWS = np.array([[4], [0], [9], [2]], np.int32)
GROUPS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dots": (dots, (draw(2, 3, 4), draw(2, 4, 5))),
    "convolutions": (convolutions, (draw(2, 7, 6, 3), draw(3, 2, 3, 4))),
    "gathers": (gathers, (draw(6, 4), ROWS)),
    "scatters": (scatters, (draw(6, 4), np.array([[4], [0], [3]], np.int32), draw(3, 4))),
    "pads": (pads, (draw(3, 4), np.float32(7))),
    "reductions": (reductions, (draw(4, 6), np.float32(0))),
    "scattered": (scattered, (draw(4, 6), draw(2, 3), np.float32(0))),
    "sorts": (sorts, (draw(9), draw(9))),
    "windows": (windows, (draw(4, 5), draw(2, 3), np.array([3, -2], np.int32))),
    "small": (small, (draw(3, 4), draw(3))),
    "flows": (flows, (draw(3, 4), np.int32(1))),
    "branches": (branches, (draw(3, 4), np.int32(1))),
    "decomposed": (decomposed, (draw(4, 4),)),
    "bits": (bits, (np.array([5, 6], np.uint64),)),
}


def main() -> None:
    module, signatures, arrays = tf.Module(), {}, {}
    for name, (function, inputs) in GROUPS.items():
        specs = [
            tf.TensorSpec(np.shape(x), np.asarray(x).dtype, f"x{i}") for i, x in enumerate(inputs)
        ]
        made = tf.function(function, input_signature=specs, autograph=False)
        try:
            answer = function if function is branches else made
            found = answer(*map(tf.constant, inputs))
        except (tf.errors.OpError, TypeError, ValueError) as error:
            raise SystemExit(f"{name}: {str(error)[-1500:]}") from None
        signatures[name] = made
        arrays |= {f"{name}/in/x{i}": np.asarray(x) for i, x in enumerate(inputs)}
        arrays |= {f"{name}/out/{key}": value.numpy() for key, value in found.items()}
    tf.saved_model.save(module, str(HERE / "model"), signatures=signatures)
    np.savez_compressed(HERE / "io.npz", **arrays)
    for part in ("model", "io.npz"):
        record(
            f"xla_ops/{part}",
            script="xla_ops/make.py",
            made_with=f"tensorflow {tf.__version__}",
        )


if __name__ == "__main__":
    main()
