"""Saving a loaded MobileNetV2 again: the whole graph, its functions and its variables."""

import shutil
import tempfile
from pathlib import Path

import networks
from harness import Case, Work

CASE = Case(
    title="SavedModel save, MobileNetV2",
    aims={"tensorflow": 0.1},
    model="mobilenet_v2",
    sample_s=0.1,
    repeats=2,
    rounds=3,
)


def work(tf: object) -> Work:
    """The same program for both libraries: what TensorFlow wrote is loaded and saved anew."""
    loaded = tf.saved_model.load(str(networks.folder("mobilenet_v2") / "model"))
    folder = Path(tempfile.mkdtemp())
    target = str(folder / "model")

    def save() -> None:
        tf.saved_model.save(loaded, target, signatures=loaded.signatures)

    def check() -> None:
        save()
        assert "serving_default" in tf.saved_model.load(target).signatures

    return Work(run=save, check=check, close=lambda: shutil.rmtree(folder, ignore_errors=True))


def ours() -> Work:
    import pinnace as tf

    return work(tf)
