"""RevNet: residual networks whose activations are computed again instead of being kept.

Gomez, Ren, Urtasun and Grosse, "The Reversible Residual Network", 2017. A reversible block gives
y1 = x1 + f(x2) and y2 = x2 + g(y1), from which x2 = y2 - g(y1) and x1 = y1 - f(x2) follow: the
backward pass needs what came out at the end and nothing in between, however deep the network is.
"""

from __future__ import annotations

from dataclasses import dataclass

import pinnace as tf

layers = tf.keras.layers


@dataclass(frozen=True)
class Hyperparameters:
    """The size of a network.

    Attributes:
        filters: channels of each stage, an even number; between stages images halve.
        blocks: reversible blocks in each stage.
        classes: labels.
        data_format: "channels_last" or "channels_first".
        dtype: of the weights.
    """

    filters: tuple[int, ...] = (16, 32)
    blocks: int = 2
    classes: int = 10
    data_format: str = "channels_last"
    dtype: str = "float32"

    @property
    def axis(self) -> int:
        return 1 if self.data_format == "channels_first" else 3


class ResidualInner(tf.keras.Model):
    """f and g of a block: twice normalise, rectify, convolve."""

    def __init__(self, filters, strides=(1, 1), axis=3, dtype="float32"):
        super().__init__(dtype=dtype)
        form = "channels_first" if axis == 1 else "channels_last"
        self.norms = [
            layers.BatchNormalization(axis=axis, momentum=0.9, dtype=dtype) for _ in range(2)
        ]
        self.convolutions = [
            layers.Conv2D(
                filters, 3, strides=s, padding="same", use_bias=False, data_format=form, dtype=dtype
            )
            for s in (strides, (1, 1))
        ]

    def call(self, x, training=True):
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            x = convolution(tf.nn.relu(norm(x, training=training)))
        return x


class Residual(tf.keras.Model):
    """A reversible block on 2 * filters channels."""

    def __init__(self, filters, axis=3, dtype="float32"):
        super().__init__(dtype=dtype)
        self.axis = axis
        self.f = ResidualInner(filters=filters, strides=(1, 1), axis=axis, dtype=dtype)
        self.g = ResidualInner(filters=filters, strides=(1, 1), axis=axis, dtype=dtype)

    def call(self, x, training=True):
        x1, x2 = tf.split(x, num_or_size_splits=2, axis=self.axis)
        f_x2 = self.f(x2, training=training)
        y1 = f_x2 + x1
        g_y1 = self.g(y1, training=training)
        y2 = g_y1 + x2
        return tf.concat([y1, y2], axis=self.axis)

    def backward_grads(self, y, dy, training=True):
        """Inputs, their gradients, and those of the weights of f, then g.

        Args:
            y: the halves of the output.
            dy: the halves of its gradient.
            training: as in the call.
        """
        dy1, dy2 = dy
        y1, y2 = y
        with tf.GradientTape() as gtape:
            gtape.watch(y1)
            gy1 = self.g(y1, training=training)
        grads_combined = gtape.gradient(
            gy1, [y1, *self.g.trainable_variables], output_gradients=dy2
        )
        dg = grads_combined[1:]
        dx1 = dy1 + grads_combined[0]
        x2 = y2 - gy1
        with tf.GradientTape() as ftape:
            ftape.watch(x2)
            fx2 = self.f(x2, training=training)
        grads_combined = ftape.gradient(
            fx2, [x2, *self.f.trainable_variables], output_gradients=dx1
        )
        df = grads_combined[1:]
        dx2 = dy2 + grads_combined[0]
        x1 = y1 - fx2
        x = x1, x2
        dx = dx1, dx2
        grads = df + dg
        return x, dx, grads


class Stage(tf.keras.Model):
    """What changes the shape, which cannot be reversed, then reversible blocks."""

    def __init__(self, filters, blocks, pool, axis=3, dtype="float32"):
        super().__init__(dtype=dtype)
        form = "channels_first" if axis == 1 else "channels_last"
        options = {"data_format": form, "dtype": dtype}
        self.pool = layers.AveragePooling2D(2, **options) if pool else None
        self.widen = layers.Conv2D(filters, 3, padding="same", use_bias=False, **options)
        self.blocks = [Residual(filters // 2, axis, dtype) for _ in range(blocks)]

    def enter(self, x):
        """The input of the first reversible block."""
        return self.widen(x if self.pool is None else self.pool(x))

    def call(self, x, training=True):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x, training=training)
        return x


class Head(tf.keras.Model):
    """Normalise, rectify, average over the image, classify."""

    def __init__(self, classes, axis=3, dtype="float32"):
        super().__init__(dtype=dtype)
        form = "channels_first" if axis == 1 else "channels_last"
        self.norm = layers.BatchNormalization(axis=axis, momentum=0.9, dtype=dtype)
        self.pool = layers.GlobalAveragePooling2D(data_format=form, dtype=dtype)
        self.classify = layers.Dense(classes, dtype=dtype)

    def call(self, x, training=True):
        return self.classify(self.pool(tf.nn.relu(self.norm(x, training=training))))


class RevNet(tf.keras.Model):
    """Stages of reversible blocks and a head.

    A call gives the logits and what the backward pass needs: the input and output of each stage.
    The blocks of a backward pass run a second time, so moving averages move twice in a step.
    """

    def __init__(self, hyperparameters):
        super().__init__(dtype=hyperparameters.dtype)
        given = hyperparameters
        self.axis = given.axis
        self.stages = [
            Stage(filters, given.blocks, index > 0, given.axis, given.dtype)
            for index, filters in enumerate(given.filters)
        ]
        self.head = Head(given.classes, given.axis, given.dtype)

    def call(self, x, training=True):
        saved_hidden = [x]
        for stage in self.stages:
            x = stage(x, training=training)
            saved_hidden.append(x)
        return self.head(x, training=training), saved_hidden

    def compute_gradients(self, saved_hidden, labels, training=True):
        """Gradients of the weights, in the order of `trainable_variables`, and the loss.

        Args:
            saved_hidden: from a call.
            labels: int [n].
            training: as in the call.
        """
        *inputs, y = saved_hidden
        with tf.GradientTape() as tape:
            tape.watch(y)
            loss = cross_entropy(self.head(y, training=training), labels)
        dy, *head_grads = tape.gradient(loss, [y, *self.head.trainable_variables])
        grads = head_grads
        for stage, x in zip(reversed(self.stages), reversed(inputs), strict=True):
            dy, stage_grads = self.stage_gradients(stage, x, y, dy, training)
            grads = stage_grads + grads
            y = x
        return grads, loss

    def stage_gradients(self, stage, x, y, dy, training):
        """The gradient of a stage's input, and those of its weights."""
        y = tf.split(y, num_or_size_splits=2, axis=self.axis)
        dy = tf.split(dy, num_or_size_splits=2, axis=self.axis)
        grads = []
        for block in reversed(stage.blocks):
            y, dy, block_grads = block.backward_grads(y, dy, training=training)
            grads = block_grads + grads
        with tf.GradientTape() as tape:
            tape.watch(x)
            entered = stage.enter(x)
        dx, *widen_grads = tape.gradient(
            entered,
            [x, *stage.widen.trainable_variables],
            output_gradients=tf.concat(dy, axis=self.axis),
        )
        return dx, widen_grads + grads

    def plain_gradients(self, x, labels, training=True):
        """The same gradients and loss by ordinary backpropagation, which keeps all in between."""
        with tf.GradientTape() as tape:
            logits, _ = self(x, training=training)
            loss = cross_entropy(logits, labels)
        return tape.gradient(loss, self.trainable_variables), loss


def cross_entropy(logits, labels):
    """The mean over the batch, a scalar."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)
