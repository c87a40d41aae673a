"""Saving and opening SavedModels: a perceptron 784-128-10, and a MobileNetV2."""

import shutil
import tempfile
from pathlib import Path

import networks
from harness import Case, Work
from perceptron import build, call_signature, check_folder


def load_perceptron(tf: object) -> Work:
    """Opening a SavedModel, which the same library saved, and calling its signature once."""
    folder = Path(tempfile.mkdtemp())
    target = folder / "model"
    tf.saved_model.save(build(tf), str(target))

    return Work(
        run=lambda: call_signature(tf, target),
        check=lambda: check_folder(tf, target),
        close=lambda: shutil.rmtree(folder, ignore_errors=True),
    )


def save_perceptron(tf: object) -> Work:
    """Saving a Keras model."""
    model = build(tf)
    folder = Path(tempfile.mkdtemp())
    target = folder / "model"

    def save() -> None:
        tf.saved_model.save(model, str(target))

    def check() -> None:
        save()
        check_folder(tf, target)

    return Work(run=save, check=check, close=lambda: shutil.rmtree(folder, ignore_errors=True))


def load_mobilenet(tf: object) -> Work:
    """Opening what TensorFlow saved; nothing is run."""
    folder = str(networks.folder("mobilenet_v2") / "model")

    def check() -> None:
        assert "serving_default" in tf.saved_model.load(folder).signatures

    return Work(run=lambda: tf.saved_model.load(folder), check=check)


def save_mobilenet(tf: object) -> Work:
    """Saving again what TensorFlow wrote: the whole graph, its functions and its variables."""
    loaded = tf.saved_model.load(str(networks.folder("mobilenet_v2") / "model"))
    folder = Path(tempfile.mkdtemp())
    target = str(folder / "model")

    def save() -> None:
        tf.saved_model.save(loaded, target, signatures=loaded.signatures)

    def check() -> None:
        save()
        assert "serving_default" in tf.saved_model.load(target).signatures

    return Work(run=save, check=check, close=lambda: shutil.rmtree(folder, ignore_errors=True))


CASES = {
    "mobilenet_load": Case(
        title="SavedModel load, MobileNetV2",
        aims={"tensorflow": 0.15},
        model="mobilenet_v2",
        sample_s=0.1,
        repeats=3,
        rounds=5,
        work=load_mobilenet,
    ),
    "mobilenet_save": Case(
        title="SavedModel save, MobileNetV2",
        aims={"tensorflow": 0.1},
        model="mobilenet_v2",
        sample_s=0.1,
        repeats=2,
        rounds=3,
        work=save_mobilenet,
    ),
    "saved_model_load": Case(
        title="SavedModel load and first call, MLP",
        aims={"tensorflow": 0.2},
        sample_s=0.1,
        repeats=5,
        work=load_perceptron,
    ),
    "saved_model_save": Case(
        title="SavedModel save, MLP",
        aims={"tensorflow": 0.2},
        sample_s=0.1,
        repeats=5,
        work=save_perceptron,
    ),
}
