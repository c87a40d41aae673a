"""Random networks: sequences of layers with odd sizes, whose plan is one table."""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnace as tf

_ACTIVATIONS = [
    None,
    tf.nn.relu,
    tf.nn.relu6,
    tf.nn.silu,
    tf.tanh,
    tf.sigmoid,
    lambda x: tf.nn.gelu(x),
    lambda x: tf.nn.gelu(x, approximate=True),
    tf.nn.elu,
    tf.nn.selu,
    tf.nn.leaky_relu,
    lambda x: tf.nn.relu6(x + 3.0) * x * (1.0 / 6.0),
    lambda x: x * (tf.nn.relu6(x + 3.0) / 6.0),
    lambda x: (tf.nn.relu6(x + 3.0) * (1.0 / 6.0)) * x,
    lambda x: tf.maximum(x * 0.1, x),
    lambda x: tf.abs(x) - tf.sqrt(tf.square(x) + 1.0),
]


class Drawn:
    """A network of some layers.

    Args:
        seed: selects the network.
        times: factor of the seed's number of images.

    Attributes:
        function: from images to results.
        x: images for it.
        variables: its weights.
    """

    def __init__(self, seed: int, times: int = 1) -> None:
        self._random = random = np.random.default_rng(seed)
        self.variables: list[Any] = []
        batch = int(random.integers(1, 4)) * times
        size = tuple(int(n) for n in random.integers(3, 19, 2))
        channels = int(random.choice([1, 2, 3, 5, 8, 17, 33, 40]))
        self.x = random.standard_normal((batch, *size, channels)).astype(np.float32)
        self._steps: list[Any] = []
        shape = self.x.shape
        for _ in range(int(random.integers(2, 7))):
            shape = self._layer(shape)
        head = int(random.integers(0, 4))
        self._head(shape, head)
        self.function = tf.function(self._run)

    def _run(self, x: Any) -> Any:
        for step in self._steps:
            x = step(x)
        return x

    def _weight(self, *shape: int) -> Any:
        scale = 1 / np.sqrt(max(1, np.prod(shape[:-1])))
        value = self._random.standard_normal(shape) * scale
        if self._random.random() < 0.3:
            return value.astype(np.float32)  # a constant of the graph
        variable = tf.Variable(value, dtype=tf.float32)
        self.variables.append(variable)
        return variable

    def _positive(self, *shape: int) -> Any:
        variable = tf.Variable(self._random.uniform(0.5, 2, shape), dtype=tf.float32)
        self.variables.append(variable)
        return variable

    def _pick(self, *options: Any) -> Any:
        return options[int(self._random.integers(len(options)))]

    def _layer(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        makers = [self._conv, self._conv, self._depthwise, self._pool, self._branch, self._squeeze]
        makers += [self._transposed]
        made = self._pick(*makers)(shape)
        probe = made(tf.zeros(shape))
        self._steps.append(made)
        return tuple(probe.shape)

    def _windows(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        taps = [min(int(self._pick(1, 1, 2, 3, 3, 5)), size) for size in shape[1:3]]
        if self._random.random() < 0.4:
            taps = [1, 1]
        stride = int(self._pick(1, 1, 2, 3))
        dilation = int(self._pick(1, 1, 2)) if stride == 1 else 1
        taps = [
            size if (size - 1) * dilation < limit else 1
            for size, limit in zip(taps, shape[1:3], strict=True)
        ]
        return taps, stride, dilation, self._pick("SAME", "SAME", "VALID", "PAD")

    def _padded(self, padding: str) -> tuple[Any, str]:
        if padding != "PAD":
            return (lambda x: x), padding
        sides = [[0, 0], *self._random.integers(0, 3, (2, 2)).tolist(), [0, 0]]
        return (lambda x: tf.pad(x, sides)), "VALID"

    def _after(self, channels: int) -> Any:
        """Biases, batch norms of several forms and an activation."""
        kind = self._pick("none", "bias", "norm", "fused", "affine")
        activation = self._pick(*_ACTIVATIONS)
        if kind == "bias":
            bias = self._weight(channels)

            def scaled(x: Any) -> Any:
                return tf.nn.bias_add(x, bias)

        elif kind == "none":

            def scaled(x: Any) -> Any:
                return x

        elif kind == "affine":
            by, plus = self._weight(1, 1, 1, channels), self._weight(channels)

            def scaled(x: Any) -> Any:
                return plus - x * by / 0.5

        else:
            gamma, beta, mean = (self._weight(channels) for _ in range(3))
            variance = self._positive(channels)

            def scaled(x: Any) -> Any:
                if kind == "norm":
                    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)
                return tf.raw_ops.FusedBatchNormV3(
                    x=x,
                    scale=gamma,
                    offset=beta,
                    mean=mean,
                    variance=variance,
                    is_training=False,
                )[0]

        return (lambda x: activation(scaled(x))) if activation is not None else scaled

    def _conv(self, shape: tuple[int, ...]) -> Any:
        outputs = int(self._pick(1, 4, 7, 16, 24, 33, 70))
        taps, stride, dilation, padding = self._windows(shape)
        weights = self._weight(*taps, shape[-1], outputs)
        pad, padding = self._padded(padding)
        after = self._after(outputs)

        def run(x: Any) -> Any:
            made = tf.nn.conv2d(pad(x), weights, stride, padding, dilations=dilation)
            return after(made)

        return run

    def _depthwise(self, shape: tuple[int, ...]) -> Any:
        taps, stride, dilation, padding = self._windows(shape)
        weights = self._weight(*taps, shape[-1], 1)
        pad, padding = self._padded(padding)
        after = self._after(shape[-1])
        strides = [1, stride, stride, 1]
        in_groups = shape[-1] > 1 and self._random.random() < 0.5

        def run(x: Any) -> Any:
            if in_groups:  # the same, as in Keras's Conv2D(groups=channels)
                filters = tf.reshape(weights, [*taps, 1, shape[-1]])
                made = tf.nn.conv2d(pad(x), filters, strides, padding, dilations=dilation)
            else:
                made = tf.nn.depthwise_conv2d(
                    pad(x), weights, strides, padding, dilations=[dilation, dilation]
                )
            return after(made)

        return run

    def _transposed(self, shape: tuple[int, ...]) -> Any:
        step = [int(n) for n in self._random.integers(1, 4, 2)]
        taps = [one + int(self._random.integers(0, 4)) for one in step]
        outputs = int(self._pick(1, 5, 16, 33))
        padding = self._pick("SAME", "VALID")
        weights = self._weight(*taps, outputs, shape[-1])
        sizes = [
            size * by if padding == "SAME" else (size - 1) * by + count
            for size, by, count in zip(shape[1:3], step, taps, strict=True)
        ]
        after = self._after(outputs)

        def run(x: Any) -> Any:
            made = tf.nn.conv2d_transpose(x, weights, [shape[0], *sizes, outputs], step, padding)
            return after(made)

        return run

    def _pool(self, shape: tuple[int, ...]) -> Any:
        size = [min(int(self._pick(2, 3)), limit) for limit in shape[1:3]]
        stride = int(self._pick(1, 2))
        padding = self._pick("SAME", "VALID")
        pool = self._pick(tf.nn.max_pool2d, tf.nn.avg_pool2d)
        return lambda x: pool(x, size, stride, padding)

    def _branch(self, shape: tuple[int, ...]) -> Any:
        """Two branches from one value, added, concatenated or multiplied."""
        channels = shape[-1]
        first = self._weight(3, 3, channels, channels)
        second = self._weight(1, 1, channels, channels)
        activation = self._pick(*_ACTIVATIONS)
        kind = self._pick("skip", "sum", "joined", "gate")

        def run(x: Any) -> Any:
            a = tf.nn.relu(tf.nn.conv2d(x, second, 1, "SAME"))
            a = tf.nn.conv2d(a, first, 1, "SAME")
            if kind == "skip":
                a = a + x
            elif kind == "joined":
                a = tf.concat([x, a, tf.nn.conv2d(x, second, 1, "SAME")], -1)
            elif kind == "gate":
                a = tf.sigmoid(a) * tf.nn.conv2d(x, second, 1, "SAME")
            else:
                a = tf.nn.conv2d(x, second, 1, "SAME") + a
            return a if activation is None else activation(a)

        return run

    def _squeeze(self, shape: tuple[int, ...]) -> Any:
        """Each channel times a scale that depends on its mean."""
        channels = shape[-1]
        down, up = self._weight(1, 1, channels, 4), self._weight(1, 1, 4, channels)

        def run(x: Any) -> Any:
            mean = tf.reduce_mean(x, [1, 2], keepdims=True)
            inner = tf.nn.silu(tf.nn.conv2d(mean, down, 1, "SAME"))
            return x * tf.sigmoid(tf.nn.conv2d(inner, up, 1, "SAME"))

        return run

    def _head(self, shape: tuple[int, ...], kind: int) -> None:
        if kind == 0:
            return
        outputs = int(self._pick(1, 10, 45))
        if kind == 1:
            weights = self._weight(shape[-1], outputs)
            self._steps.append(lambda x: tf.reduce_mean(x, [1, 2]) @ weights)
        else:
            inner = int(np.prod(shape[1:]))
            weights, bias = self._weight(inner, outputs), self._weight(outputs)
            batch = shape[0]
            self._steps.append(lambda x: tf.nn.relu(tf.reshape(x, [batch, inner]) @ weights + bias))
        if kind == 3:
            self._steps.append(tf.nn.softmax)
