"""Files that TFLiteConverter of TensorFlow 2.21.0 wrote: one for each group of operators.

Run with TensorFlow importable: python make.py FOLDER [NAME ...]. The tests get the files' results
from LiteRT's interpreter.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

L = tf.keras.layers
DRAW = np.random.default_rng(3)
PICTURE = np.random.default_rng(5).standard_normal((2, 2, 1, 3)).astype(np.float32)


def spec(*shape, dtype=tf.float32, name="x"):
    return tf.TensorSpec(shape, dtype, name)


def drawn(*shape):
    return DRAW.standard_normal(shape).astype(np.float32) / 2


def function(*specs):
    return lambda f: tf.function(f, input_signature=list(specs), autograph=False)


def of_function(traced, owner=None):
    return tf.lite.TFLiteConverter.from_concrete_functions(
        [traced.get_concrete_function()], owner or tf.Module()
    )


def of_keras(*layers, sizes, batch=None):
    model = tf.keras.Sequential([tf.keras.Input(sizes, batch_size=batch, name="x"), *layers])
    for weight in model.weights:
        value = drawn(*weight.shape)
        weight.assign(np.abs(value) + 0.5 if "variance" in weight.path else value)
    return tf.lite.TFLiteConverter.from_keras_model(model)


def conv_layers():
    return [
        L.Conv2D(4, 3, strides=2, padding="same", activation="relu6"),
        L.BatchNormalization(),
        L.DepthwiseConv2D(3, depth_multiplier=2, activation="relu"),
        L.MaxPooling2D(2, padding="same"),
        L.GlobalAveragePooling2D(),
        L.Dense(5),
        L.Softmax(),
    ]


def convolutions():
    return of_keras(*conv_layers(), sizes=(9, 9, 3))


def dense():
    return of_keras(
        L.Dense(6, activation="tanh"), L.Dense(4, use_bias=False), L.Dense(2), sizes=(5,)
    )


def dense_of_rows():
    return of_keras(L.Dense(6, activation="gelu"), L.LayerNormalization(), sizes=(3, 5), batch=1)


def transposed():
    return of_keras(
        L.Conv2DTranspose(3, 3, strides=2, padding="same", activation="relu"),
        L.Conv2D(2, 3, dilation_rate=2, padding="same"),
        L.UpSampling2D(2, interpolation="bilinear"),
        L.PReLU(shared_axes=[1, 2]),
        sizes=(4, 4, 2),
        batch=1,
    )


def solids():
    return of_keras(
        L.Conv3D(3, 2, padding="same", activation="relu"),
        L.Conv3DTranspose(2, 2, strides=2),
        sizes=(3, 4, 4, 2),
        batch=1,
    )


def lstm():
    return of_keras(L.LSTM(4), sizes=(6, 3), batch=1)


def gru():
    return of_keras(L.GRU(4), sizes=(5, 3), batch=2)


def elements():
    @function(spec(None, 4), spec(4, name="y"))
    def f(x, y):
        z = tf.abs(y) + 0.5 + tf.zeros_like(x)
        parts = [
            *(x + y, x - y, x * y, x / z, tf.math.floordiv(x, z), tf.math.floormod(x, z)),
            *(tf.pow(z, x), tf.maximum(x, y), tf.minimum(x, y), tf.math.squared_difference(x, y)),
            *(tf.exp(x), tf.math.log(z + x * x), tf.sqrt(z), tf.math.rsqrt(z), tf.sin(x)),
            *(tf.cos(x), tf.floor(x), tf.math.ceil(x), tf.round(x), tf.square(x), tf.sign(x)),
            *(tf.nn.elu(x), tf.nn.relu(x), tf.nn.relu6(x), tf.nn.leaky_relu(x, 0.1)),
            *(tf.sigmoid(x), tf.tanh(x), tf.nn.gelu(x, approximate=True), -x, tf.atan2(x, z)),
            *(x * tf.nn.relu6(x + 3) / 6, tf.nn.log_softmax(x), tf.nn.softmax(x * 2)),
            tf.where(tf.logical_and(x > y, tf.logical_not(x < 0.0)), x, y + x),
            tf.where(tf.logical_or(tf.equal(x, y), tf.not_equal(x, x)), x, -x),
        ]
        return {"out": tf.add_n([p + tf.zeros_like(x) for p in parts]), "parts": tf.stack(parts, 1)}

    return of_function(f)


def whole_numbers():
    @function(spec(3, 4, dtype=tf.int32), spec(4, dtype=tf.int32, name="y"))
    def f(x, y):
        y = tf.maximum(y, 1)
        return {
            "a": tf.math.floordiv(x, y) + tf.math.floormod(x, y) * x - y,
            "b": tf.bitwise.bitwise_xor(x, y),
            "c": tf.cast(x, tf.float32) / tf.cast(y, tf.float32),
            "d": tf.cast(x >= y, tf.int32) + tf.reduce_prod(y),
            "e": tf.cast(tf.reduce_any(x <= y, 0), tf.int64),
            "f": tf.reduce_all(x <= y, 1),
            "g": tf.bitwise.right_shift(x, tf.ones_like(x)),
        }

    return of_function(f)


def shapes():
    @function(spec(None, 4, 6))
    def f(x):
        n = tf.shape(x)[0]
        flat = tf.reshape(x, [n, 24])
        first, second = tf.split(x, 2, axis=2)
        a, b, c = tf.split(x, [1, 2, 3], axis=-1)
        return {
            "flat": flat,
            "turned": tf.transpose(x, [2, 0, 1]),
            "slices": x[:, 1:4:2, ::-1],
            "one": x[:, -1, tf.newaxis, 2:],
            "padded": tf.pad(x, [[0, 0], [1, 2], [0, 1]]),
            "filled": tf.pad(x, [[0, 0], [1, 0], [0, 1]], constant_values=2.5),
            "mirrored": tf.pad(x, [[0, 0], [1, 2], [2, 1]], "REFLECT"),
            "joined": tf.concat([second, first, a, b * 2, c], 2),
            "tiled": tf.tile(x, [1, 2, 1]),
            "stacked": tf.stack(tf.unstack(x, axis=1)[::-1], 2),
            "spread": tf.broadcast_to(x[:, :1], tf.stack([n, 3, 6])),
            "reversed": tf.reverse(x, [1]),
            "sliced": tf.slice(x, [0, 1, 2], [-1, 2, -1]),
            "squeezed": tf.squeeze(tf.expand_dims(x, 1), 1),
            "sums": tf.cumsum(x, 1, exclusive=True),
            "range": tf.range(n) + tf.rank(x),
            "ones": tf.fill([n, 2], 7.0),
        }

    return of_function(f)


def choices():
    @function(spec(3, 5), spec(3, 2, dtype=tf.int32, name="i"))
    def f(x, i):
        values, places = tf.math.top_k(x, 3)
        return {
            "rows": tf.gather(x, i[:, 0]),
            "columns": tf.gather(x, i, axis=1, batch_dims=1),
            "cells": tf.gather_nd(x, i),
            "values": values,
            "places": places,
            "most": tf.argmax(x, 1),
            "least": tf.argmin(x, 0, tf.int32),
            "hot": tf.one_hot(i, 4, 2.0, -1.0),
            "hot_first": tf.one_hot(i, 3, axis=0),
            "where": tf.where(x > 0),
            "scattered": tf.scatter_nd(i[:, :1], x, [4, 5]),
            "sum": tf.reduce_sum(x, 1, keepdims=True),
            "mean": tf.reduce_mean(x, [0, 1]),
            "max": tf.reduce_max(x, 0),
            "min": tf.reduce_min(x, -1),
            "segments": tf.math.segment_sum(x, tf.constant([0, 0, 1])),
            "unsorted": tf.math.unsorted_segment_sum(x, i[:, 0], 3),
            "diagonal": tf.linalg.diag(x),
            "set": tf.linalg.set_diag(x, x[:, 0]),
            "turned": tf.reverse_sequence(x, i[:, 0], seq_axis=1),
            "once": tf.unique(tf.reshape(i, [-1]))[0],
        }

    return of_function(f)


def pictures():
    @function(spec(1, 4, 6, 4))
    def f(x):
        v1 = tf.compat.v1.image
        return {
            "plain": v1.resize_bilinear(x, [7, 9]),
            "corners": v1.resize_bilinear(x, [7, 9], align_corners=True),
            "half": v1.resize_bilinear(x, [7, 9], half_pixel_centers=True),
            "near": v1.resize_nearest_neighbor(x, [7, 9]),
            "near_corners": v1.resize_nearest_neighbor(x, [7, 9], align_corners=True),
            "near_half": v1.resize_nearest_neighbor(x, [7, 9], half_pixel_centers=True),
            "depth": tf.nn.space_to_depth(x, 2),
            "space": tf.nn.depth_to_space(x, 2),
            "batches": tf.space_to_batch(x, [2, 3], [[0, 0], [0, 0]]),
            "lrn": tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.75),
            "norm": tf.nn.l2_normalize(x, -1),
            "mean": tf.nn.avg_pool2d(x, 3, 2, "SAME"),
            "max": tf.nn.max_pool2d(x, 2, 1, "VALID"),
        }

    return of_function(f)


def products():
    @function(spec(None, 3, 4), spec(None, 4, 5, name="y"))
    def f(x, y):
        return {
            "xy": tf.matmul(x, y),
            "turned": tf.matmul(y, x, transpose_a=True, transpose_b=True),
            "const": tf.matmul(x, tf.constant(drawn(4, 2))),
        }

    return of_function(f)


def control():
    @function(spec(4), spec(dtype=tf.int32, name="n"))
    def f(x, n):
        def turn(i, y):
            return i + 1, tf.cond(tf.reduce_sum(y) > 1.0, lambda: y * 0.5, lambda: y + x)

        _, y = tf.while_loop(lambda i, _: i < n, turn, [0, x])
        return {"y": y, "z": tf.cond(n > 3, lambda: x * 2.0, lambda: x - 1.0)}

    return of_function(f)


def variables():
    module = tf.Module()
    module.total = tf.Variable(drawn(3))
    traced = tf.function(lambda x: {"total": module.total.assign_add(x)}, input_signature=[spec(3)])
    converter = of_function(traced, module)
    converter.experimental_enable_resource_variables = True
    return converter


def tables():
    class Words(tf.Module):
        def __init__(self):
            start = tf.lookup.KeyValueTensorInitializer(
                tf.constant(["a", "b", "sea"]), tf.constant([4, 5, 6], tf.int64)
            )
            self.table = tf.lookup.StaticHashTable(start, -1)

    module = Words()
    traced = tf.function(
        lambda word: {"number": module.table.lookup(word)},
        input_signature=[spec(3, dtype=tf.string, name="word")],
    )
    return of_function(traced, module)


def signatures():
    class Two(tf.Module):
        def __init__(self):
            self.w = tf.Variable(drawn(3, 2))

        @tf.function(input_signature=[spec(None, 3)])
        def encode(self, x):
            return {"code": tf.matmul(x, self.w)}

        @tf.function(input_signature=[spec(None, 2, name="code")])
        def decode(self, code):
            return {"x": tf.matmul(code, self.w, transpose_b=True)}

    module = Two()
    folder = "/tmp/lite_signatures"
    tf.saved_model.save(module, folder, {"encode": module.encode, "decode": module.decode})
    return tf.lite.TFLiteConverter.from_saved_model(folder, ["encode", "decode"])


def without_signature():
    @function(spec(1, 3, name="first"))
    def f(x):
        return tf.nn.relu(x) + 1.0

    graph = f.get_concrete_function()
    return tf.lite.TFLiteConverter.from_concrete_functions([graph])


def detection():
    @function(spec(1, 6, 4, name="boxes"), spec(6, name="scores"))
    def f(boxes, scores):
        kept, count = tf.image.non_max_suppression_padded(
            boxes[0], scores, 4, 0.5, 0.1, pad_to_max_output_size=True
        )
        picked, soft = tf.image.non_max_suppression_with_scores(boxes[0], scores, 4, 0.5, 0.1, 0.5)
        return {"kept": kept, "count": count, "picked": picked, "soft": soft}

    return of_function(f)


def spectra():
    @function(spec(2, 8))
    def f(x):
        return {"size": tf.abs(tf.signal.rfft(x)), "real": tf.math.real(tf.signal.rfft(x))}

    return of_function(f)


def fused_lstm():
    """A function that Keras 2 marks as an LSTM: TFLiteConverter converts it to one operator."""

    def lstm(x, h, c, kernel, recurrent_kernel, bias):
        hs = []
        for part in tf.unstack(x, axis=1):
            gates = tf.matmul(part, kernel) + tf.matmul(h, recurrent_kernel) + bias
            entry, forget, new, out = tf.split(gates, 4, 1)
            c = tf.sigmoid(forget) * c + tf.sigmoid(entry) * tf.tanh(new)
            h = tf.sigmoid(out) * tf.tanh(c)
            hs.append(h)
        return h, tf.stack(hs, 1), h, c, tf.constant(1.0)

    marks = {"api_implements": "lstm_1", "api_preferred_device": "CPU"}
    marks |= {"time_major": False, "go_backwards": False}
    layer = tf.function(lstm, experimental_attributes=marks, autograph=False)
    weights = [tf.constant(drawn(*shape)) for shape in ((3, 16), (4, 16), (16,))]

    @function(spec(1, 6, 3))
    def f(x):
        zeros = tf.zeros([1, 4])
        return {"out": layer(x, zeros, zeros, *weights)[1]}

    return of_function(f)


def lstm_int8():
    return quantised(fused_lstm(), (1, 6, 3))


def of_stablehlo(*specs):
    def install(f):
        converter = of_function(function(*specs)(f))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.EXPERIMENTAL_STABLEHLO_OPS]
        return converter

    return install


def stablehlo():
    """StableHLO ops that LiteRT's interpreter supports."""

    whole = [spec(2, 1, dtype=tf.int32, name="i"), spec(3, dtype=tf.int32, name="n")]

    @of_stablehlo(spec(4, 3), *whole)
    def f(x, i, n):
        y = tf.maximum(tf.minimum(x + x, x * x), x)
        return {
            "elements": y,
            "added": tf.tensor_scatter_nd_add(x, i, tf.constant(drawn(2, 3))),
            "set": tf.tensor_scatter_nd_update(x, i, tf.constant(drawn(2, 3))),
            "most": tf.tensor_scatter_nd_max(x, i, tf.constant(drawn(2, 3))),
            "padded": tf.pad(x, [[1, 2], [0, 1]]),
            "shifted": tf.bitwise.left_shift(n, n),
            "rows": tf.gather(x, n),
        }

    return f


def others(x, y, n):
    """Functions that become StableHLO ops which LiteRT's interpreter does not support."""
    z = tf.abs(y) + 0.5
    kept = tf.logical_or(x > 0.5, tf.logical_and(y < 0.0, x >= y))
    return {
        "joined": tf.concat([x, y[:, 1:3]], 1)[:, ::2],
        "product": tf.matmul(x, y, transpose_b=True),
        "convolved": tf.nn.conv2d(x[tf.newaxis, :, :, tf.newaxis], PICTURE, 1, "SAME"),
        "chosen": tf.where(kept, x, -y),
        "elements": tf.tanh(x) + tf.sigmoid(y) + tf.exp(x) - tf.math.log(z) / tf.math.rsqrt(z),
        "more": tf.cos(x) + tf.floor(y) * tf.pow(z, x) + tf.clip_by_value(x, -0.3, 0.4),
        "sum": tf.reduce_sum(x, 1) + tf.reduce_max(y, 1),
        "counted": tf.cast(tf.range(3), tf.float32)[:, tf.newaxis] + x,
        "turned_over": tf.transpose(x, [1, 0]),
        "cells": tf.slice(tf.reshape(x, [2, 6]), n - 1, [1, 2]),
        "whole": tf.math.floormod(n, 3) - tf.cast(x[0, :2], tf.int32),
    }


def stablehlo_others():
    specs = spec(3, 4), spec(3, 4, name="y"), spec(2, dtype=tf.int32, name="n")
    given = {"x": drawn(3, 4), "y": drawn(3, 4), "n": np.array([1, 5], np.int32)}
    results = {f"out/{name}": value.numpy() for name, value in others(**given).items()}
    file = Path(sys.argv[1], "stablehlo_others.npz")
    np.savez(file, **{f"in/{name}": value for name, value in given.items()}, **results)
    return of_stablehlo(*specs)(others)


def stablehlo_case():
    @of_stablehlo(spec(4), spec(dtype=tf.int32, name="n"))
    def f(x, n):
        return {"out": tf.switch_case(n, [lambda: x + x, lambda: x * x, lambda: tf.maximum(x, 0)])}

    return f


def stablehlo_pool():
    return of_stablehlo(spec(1, 5, 4, 2))(
        lambda x: {
            "most": tf.nn.max_pool2d(x, 2, 2, "SAME"),
            "all": tf.nn.max_pool2d(x, 2, 1, "VALID"),
        }
    )


def flex():
    @function(spec(3, 3))
    def f(x):
        return {"y": tf.linalg.inv(x + 4.0 * tf.eye(3))}

    converter = of_function(f)
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    return converter


def quantised(converter, shape, kind="int8", ends=None, by_channel=True):
    def examples():
        draw = np.random.default_rng(4)
        for _ in range(20):
            yield [draw.standard_normal(shape).astype(np.float32)]

    ops = tf.lite.OpsSet
    wide = ops.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = examples
    converter.target_spec.supported_ops = [wide if kind == "int16" else ops.TFLITE_BUILTINS_INT8]
    if not by_channel:
        converter._experimental_disable_per_channel = True
    if ends is not None:
        converter.inference_input_type = converter.inference_output_type = ends
    return converter


def conv_int8():
    return quantised(of_keras(*conv_layers(), sizes=(9, 9, 3)), (1, 9, 9, 3), ends=tf.int8)


def conv_uint8():
    return quantised(of_keras(*conv_layers(), sizes=(9, 9, 3)), (1, 9, 9, 3), ends=tf.uint8)


def conv_int16():
    return quantised(of_keras(*conv_layers(), sizes=(9, 9, 3)), (1, 9, 9, 3), "int16")


def conv_by_tensor():
    return quantised(of_keras(*conv_layers(), sizes=(9, 9, 3)), (1, 9, 9, 3), by_channel=False)


def elements_int8():
    @function(spec(2, 4, 4))
    def f(x):
        a = tf.sigmoid(x) * x - tf.tanh(x)
        b = tf.concat([tf.nn.relu(x), tf.pad(a, [[0, 0], [0, 0], [1, 0]])[:, :, :4]], 2)
        c = tf.reduce_mean(b, 1)[:, :4] + tf.reduce_max(b, 2)
        return {"a": a, "b": b, "c": tf.nn.softmax(c), "d": tf.matmul(a, x, transpose_b=True)}

    return quantised(of_function(f), (2, 4, 4))


def dense_int8():
    layers = [L.Dense(6, activation="relu"), L.Dense(4, use_bias=False), L.Dense(2)]
    return quantised(of_keras(*layers, sizes=(5,)), (1, 5), ends=tf.int8)


def dynamic_range():
    converter = of_keras(L.Dense(64, activation="relu"), L.Dense(8), sizes=(32,))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter


def float16():
    converter = of_keras(*conv_layers(), sizes=(9, 9, 3))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.float16]
    return converter


MAKERS = {
    one.__name__: one
    for one in (
        *(convolutions, dense, dense_of_rows, transposed, solids, lstm, gru, elements),
        *(whole_numbers, shapes, choices, pictures, products, control, variables, tables),
        *(signatures, without_signature, detection, spectra, flex, conv_int8, conv_uint8),
        *(conv_int16, conv_by_tensor, elements_int8, dense_int8, dynamic_range, float16),
        *(fused_lstm, lstm_int8, stablehlo, stablehlo_pool, stablehlo_case, stablehlo_others),
    )
}

if __name__ == "__main__":
    for name in sys.argv[2:] or MAKERS:
        Path(sys.argv[1], f"{name}.tflite").write_bytes(MAKERS[name]().convert())
