"""Saving a perceptron 784-128-10 as a SavedModel."""

import shutil
import tempfile
from pathlib import Path

from harness import Case, Work
from perceptron import build, check_folder

CASE = Case(title="SavedModel save, MLP", aims={"tensorflow": 0.2}, sample_s=0.1, repeats=5)


def work(tf: object) -> Work:
    """The same program for both libraries."""
    model = build(tf)
    folder = Path(tempfile.mkdtemp())
    target = folder / "model"

    def save() -> None:
        tf.saved_model.save(model, str(target))

    def check() -> None:
        save()
        check_folder(tf, target)

    return Work(run=save, check=check, close=lambda: shutil.rmtree(folder, ignore_errors=True))


def ours() -> Work:
    import pinnace as tf

    return work(tf)
