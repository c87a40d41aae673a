"""Opening a SavedModel of a perceptron 784-128-10 and calling its signature once."""

import shutil
import tempfile
from pathlib import Path

from harness import Case, Work
from perceptron import build, call_signature, check_folder

CASE = Case(
    title="SavedModel load and first call, MLP", aims={"tensorflow": 0.2}, sample_s=0.1, repeats=5
)


def work(tf: object) -> Work:
    """The same program for both libraries; each opens what it saved itself."""
    folder = Path(tempfile.mkdtemp())
    target = folder / "model"
    tf.saved_model.save(build(tf), str(target))

    return Work(
        run=lambda: call_signature(tf, target),
        check=lambda: check_folder(tf, target),
        close=lambda: shutil.rmtree(folder, ignore_errors=True),
    )


def ours() -> Work:
    import pinnace as tf

    return work(tf)
