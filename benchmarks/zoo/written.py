"""What TensorFlow writes for the zoo: `python written.py FOLDER NAME...` makes FOLDER/NAME of each.

It goes on after a failure, and then ends with exit code 1.
"""

import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo import store
from zoo.network import ROWS, Network
from zoo.training import first_losses

# Of the largest number of an answer: less, and rows are answered alike, so nothing is compared.
LEAST_SPREAD = 1e-3


def write(tf: Any, network: Network, target: Path) -> None:
    """Save the model, what it is asked and answers, and how its training begins."""
    target.mkdir()
    random = np.random.default_rng(0)
    asked = network.draw(random, ROWS)
    answers: dict[str, np.ndarray] = {}
    if network.inference:
        tf.keras.utils.set_random_seed(0)
        model = network.build(tf)
        if isinstance(model, tf.keras.Model):
            liven(tf, model, asked, random)
            model.export(str(target / "model"), verbose=False)
        else:
            tf.saved_model.save(model, str(target / "model"), signatures=model.answer)
        answers = ask(tf, target / "model", asked)
        for name, answer in answers.items():
            spread = np.std(answer.astype(np.float64), axis=0).max()
            assert np.isfinite(answer).all(), name
            assert spread > LEAST_SPREAD * np.abs(answer).max(), (name, spread)
    # Strings as text: what NumPy writes without pickling.
    texts = {k: x.astype(str) if x.dtype == object else x for k, x in asked.items()}
    np.savez(target / "asked.npz", **texts)
    np.savez(target / "answers.npz", **answers)
    losses = first_losses(tf, network) if network.training else np.zeros(0)
    assert np.isfinite(losses).all(), losses
    np.savez(target / "losses.npz", losses=losses)


def liven(tf: Any, model: Any, asked: dict[str, np.ndarray], random: np.random.Generator) -> None:
    """Weights as after a training: scales and offsets of their own, statistics of these inputs.

    With the statistics that layers begin with, signals fade in deep networks.
    """
    for variable in model.trainable_variables:
        shape = tuple(variable.shape)
        if len(shape) == 1:
            around = 1.0 if variable.path.endswith("gamma") else 0.0
            variable.assign(around + 0.1 * random.standard_normal(shape))
    norms = [x for x in every_layer(model) if isinstance(x, tf.keras.layers.BatchNormalization)]
    if not norms:
        return
    kept = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    given = [tf.constant(x) for x in asked.values()]
    model(given[0] if len(given) == 1 else dict(zip(asked, given, strict=True)), training=True)
    for norm, momentum in zip(norms, kept, strict=True):
        norm.momentum = momentum


def every_layer(model: Any) -> list[Any]:
    """The layers of a model and of the models in it."""
    return model._flatten_layers(include_self=False, recursive=True)


def ask(tf: Any, folder: Path, asked: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the saved signature answers."""
    loaded = tf.saved_model.load(str(folder))
    signature = loaded.signatures["serving_default"]
    names = list(signature.structured_input_signature[1])
    given = asked if len(asked) > 1 else dict.fromkeys(names, next(iter(asked.values())))
    assert sorted(given) == sorted(names), (names, list(asked))
    found = signature(**{name: tf.constant(x) for name, x in given.items()})
    return {name: answer.numpy() for name, answer in found.items()}


def main() -> int:
    """See above."""
    import tensorflow as tf

    failed = 0
    for name in sys.argv[2:]:
        print(name, flush=True)
        try:
            write(tf, store.network(name), Path(sys.argv[1]) / name)
        except Exception:  # the others are wanted all the same
            failed = 1
            traceback.print_exc()
        tf.keras.backend.clear_session()
    return failed


if __name__ == "__main__":
    sys.exit(main())
