"""`keras.backend`: convolutions, recurrences, losses and the like; see `both`.

python keras_backend_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import os
import sys
from typing import Any

import numpy as np
from reporting import report

os.environ["CUDA_VISIBLE_DEVICES"] = ""
tf: Any = importlib.import_module(sys.argv[1])
K: Any = tf.keras.backend
RNG = np.random.default_rng(3)


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    array = np.asarray(x)
    return [list(array.shape), np.round(array.astype(np.float64), 9).reshape(-1).tolist()]


def told(call: Any) -> Any:
    """The result of a call, or that it fails."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError):
        return "ValueError"


def numbers(*shape: int) -> Any:
    return tf.constant(RNG.normal(size=shape), tf.float32)


def convolutions() -> Any:
    steps, line = numbers(2, 6, 3), numbers(2, 3, 4)
    pictures, window = numbers(2, 6, 5, 3), numbers(3, 2, 3, 4)
    volumes, box = numbers(1, 4, 4, 3, 2), numbers(2, 2, 2, 2, 3)
    deep = tf.transpose(volumes, [0, 4, 1, 2, 3])
    back, depth, point = numbers(3, 2, 4, 3), numbers(2, 2, 3, 2), numbers(1, 1, 6, 5)
    first = tf.transpose(pictures, [0, 3, 1, 2])
    found = [
        K.conv1d(steps, tf.constant(line)),
        K.conv1d(steps, tf.constant(line), 2, "same"),
        K.conv1d(steps, tf.constant(line), padding="causal", dilation_rate=2),
        K.conv1d(tf.transpose(steps, [0, 2, 1]), tf.constant(line), data_format="channels_first"),
        K.conv2d(pictures, window),
        K.conv2d(pictures, window, (2, 1), "same"),
        K.conv2d(first, window, dilation_rate=(1, 2), data_format="channels_first"),
        K.conv3d(volumes, box),
        K.conv3d(deep, box, (2, 1, 1), "same", "channels_first"),
        K.conv2d_transpose(pictures, back, (None, 12, 10, 4), (2, 2), "same"),
        K.conv2d_transpose(pictures, back, (2, 8, 6, 4)),
        K.conv2d_transpose(first, back, (2, 4, 8, 6), data_format="channels_first"),
        K.conv2d_transpose(pictures, back, (2, 10, 7, 4), dilation_rate=(2, 2)),
        K.depthwise_conv2d(pictures, depth),
        K.depthwise_conv2d(first, depth, (2, 2), "same", "channels_first"),
        K.depthwise_conv2d(pictures, depth, dilation_rate=(2, 2)),
        K.separable_conv2d(pictures, depth, point),
        K.separable_conv2d(first, depth, point, padding="same", data_format="channels_first"),
    ]
    return [
        plain(found),
        told(lambda: K.conv2d(pictures, window, padding="other")),
        told(lambda: K.conv2d(pictures, window, data_format="other")),
        told(lambda: K.separable_conv2d(pictures, depth, point, strides=(1,))),
        told(lambda: K.conv2d_transpose(pictures, back, (2, 8, 6, 4), dilation_rate=(1, 2))),
    ]


def pools() -> Any:
    pictures, volumes = numbers(2, 5, 4, 3), numbers(1, 4, 3, 4, 2)
    deep = tf.transpose(volumes, [0, 4, 1, 2, 3])
    first = tf.transpose(pictures, [0, 3, 1, 2])
    methods = ("nearest", "bilinear", "area", "bicubic", "gaussian", "lanczos3", "mitchellcubic")
    found = [
        K.pool2d(pictures, (2, 2)),
        K.pool2d(pictures, (2, 3), (2, 1), "same", pool_mode="avg"),
        K.pool2d(first, (2, 2), (2, 2), data_format="channels_first"),
        K.pool3d(volumes, (2, 2, 2)),
        K.pool3d(deep, (2, 1, 2), (1, 1, 2), "same", "channels_first", "avg"),
        *(K.resize_images(pictures, 2, 3, "channels_last", method) for method in methods),
        K.resize_images(first, 3, 2, "channels_first", "bilinear"),
        K.resize_volumes(volumes, 2, 1, 3, "channels_last"),
        K.resize_volumes(volumes, 2, 1, 3, "channels_first"),
        K.spatial_3d_padding(volumes),
        K.spatial_3d_padding(volumes, ((1, 0), (0, 2), (1, 1)), "channels_first"),
    ]
    return [
        plain(found),
        told(lambda: K.pool2d(pictures, (2, 2), pool_mode="other")),
        told(lambda: K.pool2d(pictures, (2,))),
        told(lambda: K.resize_images(pictures, 2, 2, "other")),
        told(lambda: K.resize_images(pictures, 2, 2, "channels_last", "other")),
        told(lambda: K.spatial_3d_padding(volumes, ((1, 0), (0, 2)))),
    ]


def losses() -> Any:
    truth = RNG.integers(0, 2, (4, 3)).astype(np.float32)
    share = RNG.uniform(0.05, 0.95, (4, 3)).astype(np.float32)
    logits = numbers(4, 3)
    x, mean, var = numbers(2, 3), numbers(3), tf.abs(numbers(3))
    binary, categorical = K.binary_focal_crossentropy, K.categorical_focal_crossentropy
    return [
        plain(binary(truth, share)),
        plain(binary(truth, tf.constant(logits), True, 0.3, 1.5, from_logits=True)),
        plain(categorical(truth, share)),
        plain(categorical(truth, logits, 0.5, 1.0, from_logits=True, axis=0)),
        plain(categorical(truth, logits, [0.1, 0.2, 0.3], from_logits=True)),
        told(lambda: categorical(truth, share[:, :2])),
        plain(K.batch_normalization(x, mean, var, mean, var)),
        plain(K.batch_normalization(x, mean, var, None, None, epsilon=0.5)),
    ]


def speech() -> Any:
    logits = numbers(3, 8, 5).numpy()
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    labels = np.array([[1, 2, 2, 0], [0, 3, 0, 0], [3, 0, 1, 0]], np.int32)
    counts, steps = np.array([[3], [2], [1]]), np.array([[8], [7], [5]])
    sparse = K.ctc_label_dense_to_sparse(tf.constant(labels), tf.constant([3, 2, 1]))
    greedy, score = K.ctc_decode(shares, steps[:, 0])
    found, scores = K.ctc_decode(shares, steps[:, 0], False, beam_width=20, top_paths=2)
    return [
        plain(K.ctc_batch_cost(labels, tf.constant(shares), steps, counts)),
        plain([sparse.indices, sparse.values, sparse.dense_shape]),
        plain([greedy, score, found, scores]),
    ]


def step(x: Any, states: Any) -> Any:
    total = 0.5 * states[0] + x
    return total * 2.0, [total, *([states[1] + 1.0] if len(states) == 2 else [])]


def recurrences() -> Any:
    x, start = numbers(2, 4, 3), [numbers(2, 3)]
    mask = np.array([[1, 1, 0, 1], [0, 1, 1, 0]], bool)
    settings: tuple[dict[str, Any], ...] = (
        *({}, {"go_backwards": True}, {"unroll": True}, {"mask": tf.constant(mask)}),
        {"mask": tf.constant(mask), "unroll": True},
        {"mask": tf.constant(mask), "go_backwards": True},
        {"mask": tf.constant(mask), "zero_output_for_mask": True},
        {"mask": tf.constant(mask), "zero_output_for_mask": True, "unroll": True},
        {"mask": tf.constant(mask[..., None]), "return_all_outputs": False},
        {"return_all_outputs": False},
        {"return_all_outputs": False, "unroll": True},
        {"input_length": tf.constant([4, 2])},
        {"input_length": tf.constant([3, 2]), "go_backwards": True},
        {"input_length": tf.constant([3, 2]), "zero_output_for_mask": True},
        {"input_length": 3},
        {"input_length": 4, "time_major": False},
    )
    found = []
    for setting in settings:
        found.append(plain(K.rnn(step, tf.constant(x), start, **setting)))
        traced = tf.function(lambda v, s=setting: K.rnn(step, v, start, **s), autograph=False)
        found.append(plain(traced(tf.constant(x))))
    turned = K.rnn(step, tf.constant(tf.transpose(x, [1, 0, 2])), start, time_major=True)
    both = K.rnn(
        lambda pair, states: ([pair[0] + states[0], pair[1]], [states[0] + pair[1]]),
        [tf.constant(x), tf.constant(2 * x)],
        start,
    )
    constant = K.rnn(
        lambda v, states: (v * states[1], [states[0] + 1.0]),
        tf.constant(x),
        start,
        constants=[tf.constant(3.0)],
    )
    return [found, plain(turned), plain([both[0], both[1], both[2]]), plain(constant)]


def functions() -> Any:
    x = tf.constant(numbers(4, 2))
    sparse = tf.SparseTensor([[0, 1]], [3.0], [2, 2])

    @tf.function
    def slopes(v: Any) -> Any:
        return K.gradients(tf.reduce_sum(v**3), [v])

    normal = K.random_normal_variable((2, 3), 1.0, 2.0, seed=5)
    return [
        plain(K.map_fn(lambda row: row * 2, x)),
        plain(K.map_fn(lambda row: tf.cast(row > 0, tf.int32), x, dtype=tf.int32)),
        plain(K.foldl(lambda a, row: a * 2 + row, x)),
        plain(K.foldr(lambda a, row: a * 2 + row, x, initializer=tf.constant([1.0, 2.0]))),
        plain(slopes(x)),
        [K.is_sparse(sparse), K.is_sparse(x)],
        plain([K.to_dense(sparse), K.to_dense(x)]),
        [list(normal.shape), tf.as_dtype(normal.dtype).name],
        list(K.random_uniform_variable((4,), 2.0, 3.0, dtype="float64").shape),
        bool(np.all(np.asarray(K.random_uniform_variable((50,), 2.0, 3.0)) >= 2.0)),
    ]


PROGRAMS = {
    "convolutions": convolutions,
    "pools": pools,
    "losses": losses,
    "speech": speech,
    "recurrences": recurrences,
    "functions": functions,
}


if __name__ == "__main__":
    report(PROGRAMS)
