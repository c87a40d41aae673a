"""One training step with Adam, the same program for either library, from the same weights."""

from collections.abc import Callable
from typing import Any

import numpy as np

from zoo.network import Network

# Batches in turn: a network that sees but one soon has gradients of next to nothing.
RING = 8
COMPARED = 4  # steps


def make_step(tf: Any, network: Network) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The step, and the same over the next of the batches; both give the loss before it.

    The first weights are NumPy's, in the order in which Keras keeps them.
    """
    training = network.training
    assert training is not None
    model = network.build(tf)
    model.set_weights(_weights(model.get_weights()))
    losses = tf.keras.losses
    loss_of = {
        "classes": lambda: losses.SparseCategoricalCrossentropy(from_logits=True),
        "squares": losses.MeanSquaredError,
        "yes_no": lambda: losses.BinaryCrossentropy(from_logits=True),
    }[training.loss]()
    optimizer = tf.keras.optimizers.Adam(training.rate)
    variables = model.trainable_variables

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    random = np.random.default_rng(1)
    ring = []
    for _ in range(RING):
        drawn = network.draw(random, training.rows)
        given = {name: tf.constant(x) for name, x in drawn.items()}
        x = given if len(given) > 1 else next(iter(given.values()))
        ring.append((x, tf.constant(training.targets(random, training.rows))))
    count = 0

    def following() -> Any:
        nonlocal count
        count += 1
        return step(*ring[count % RING])

    return lambda: step(*ring[0]), following


def first_losses(tf: Any, network: Network) -> np.ndarray:
    """The losses of the first steps on one batch."""
    step, _ = make_step(tf, network)
    return np.array([float(step()) for _ in range(COMPARED)])


def _weights(given: list[np.ndarray]) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    made = []
    for weight in given:
        if weight.ndim < 2:  # biases, scales and statistics begin as they do
            made.append(weight)
            continue
        # The last axes are channels in and out; a depthwise kernel has one in.
        inward = np.prod(weight.shape[:-2]) * (weight.shape[-2] if weight.shape[-1] > 1 else 1)
        drawn = random.standard_normal(weight.shape) / np.sqrt(inward)
        made.append(drawn.astype(weight.dtype))
    return made
