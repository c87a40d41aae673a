"""The RevNet of examples/, in either library, and its training step in both ways."""

import sys
import types
from functools import partial

import numpy as np

from harness import FOLDER, Case, Work

SOURCE = FOLDER.parent / "examples" / "revnet" / "revnet.py"
_random = np.random.default_rng(0)
X = _random.standard_normal((64, 32, 32, 3)).astype(np.float32)
LABELS = _random.integers(0, 10, 64).astype(np.int32)


def program(tf: object) -> types.ModuleType:
    """The example's module, with this library as its `tf`."""
    text = SOURCE.read_text().replace("import pinnace as tf", f"import {tf.__name__} as tf")
    module = types.ModuleType(f"revnet_of_{tf.__name__}")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(text, str(SOURCE), "exec"), module.__dict__)
    return module


def training_step(
    tf: object,
    *,
    reversible: bool,
    filters: tuple[int, ...],
    blocks: int,
    images: int = 16,
    compared: bool = True,
) -> Work:
    """A step of SGD on images of 32x32, traced.

    Args:
        tf: the library.
        reversible: whether activations are computed again, or kept.
        filters: channels of each stage.
        blocks: reversible blocks in each stage.
        images: how many.
        compared: whether the gradients are checked against plain backpropagation, whose memory
            would be the peak that is measured.
    """
    revnet = program(tf)
    tf.keras.utils.set_random_seed(0)
    model = revnet.RevNet(revnet.Hyperparameters(filters, blocks))
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    x, labels = tf.constant(X[:images]), tf.constant(LABELS[:images])
    model(x, training=True)

    def gradients(x: object, labels: object) -> tuple:
        if not reversible:
            return model.plain_gradients(x, labels)
        _, saved_hidden = model(x, training=True)
        return model.compute_gradients(saved_hidden, labels)

    @tf.function
    def step(x: object, labels: object) -> object:
        grads, loss = gradients(x, labels)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        return loss

    def check() -> None:
        if compared:
            # float32, over all blocks, the images drawn: gradients of the size of 1.
            both = zip(gradients(x, labels)[0], model.plain_gradients(x, labels)[0], strict=True)
            for found, wanted in both:
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-2, atol=1e-3)
        first = float(step(x, labels))
        for _ in range(5):
            step(x, labels)
        assert float(step(x, labels)) < first

    return Work(run=lambda: step(x, labels).numpy(), check=check)


def memory_work(tf: object, *, reversible: bool = True, blocks: int = 16) -> Work:
    """A step on 64 images: its peak memory is what is compared."""
    return training_step(
        tf, reversible=reversible, filters=(16,), blocks=blocks, images=64, compared=False
    )


_step = partial(training_step, filters=(32, 64), blocks=2)
CASES = {
    # Depth adds nothing: beside plain backpropagation, which keeps the activations, and beside
    # the reversible network of half the depth.
    "revnet_memory": Case(
        title="RevNet memory, 16 blocks, reversible",
        aims={"tensorflow": 1.0},
        memory_aims={"tensorflow": 1.0, "plain_backprop": 0.6, "half_depth": 1.1},
        short=False,
        rounds=3,
        repeats=1,
        work=memory_work,
        variants={
            "half_depth": partial(memory_work, blocks=8),
            "plain_backprop": partial(memory_work, reversible=False),
        },
    ),
    # 25 % more than plain backpropagation was published.
    "revnet_step": Case(
        title="RevNet training step, reversible",
        aims={"tensorflow": 1.0, "plain_backprop": 1.25},
        repeats=5,
        work=partial(_step, reversible=True),
        variants={"plain_backprop": partial(_step, reversible=False)},
    ),
}
