"""The producers' models in the cache folder: each made once by its library, beside TensorFlow.

A folder holds `model`, a SavedModel, and `asked.npz` and `answers.npz`, inputs and what the library
gave for them (TensorFlow, for words). `keras` models have `other`, too: what the same network with
the same weights is when Keras runs on TensorFlow. A forest has `forest`, as ydf saves it. ONNX
files, that `pinnace export` made of `model`, are named by a sum of the exporter's sources.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from networks import CACHE, sum_of
from producers.workloads import FORESTS, KERAS, WORDS

HERE = Path(__file__).resolve().parent
TENSORFLOW_PYTHON = "PINNACE_TF_PYTHON"
# Kind -> the variable with the folders that stand beside TensorFlow's packages, and what else is
# set when its models are written.
PACKAGES = {
    KERAS: "PINNACE_JAX_PACKAGES",
    FORESTS: "PINNACE_FORESTS_PACKAGES",
    WORDS: "PINNACE_TRANSFORMERS_PACKAGES",
}
SETTINGS = {
    KERAS: {},
    FORESTS: {},
    WORDS: {"TF_USE_LEGACY_KERAS": "1", "HF_HUB_OFFLINE": "1"},
}
SOURCES = {
    KERAS: ["written_keras.py", "../zoo/network.py", "../zoo/networks"],
    FORESTS: ["written_forests.py"],
    WORDS: ["written_words.py"],
}
LAST = "answers.npz"  # what is written last


def beside(kind: str) -> dict[str, str]:
    """The variables with which TensorFlow's interpreter finds the packages of a kind."""
    return {"PYTHONPATH": os.environ.get(PACKAGES[kind], "")}


def folder(kind: str, name: str) -> Path:
    """Where a model and its answers lie, once `prepare` was called."""
    files: list[Path] = []
    for source in SOURCES[kind]:
        path = HERE / source
        files += sorted(path.glob("*.py")) if path.is_dir() else [path]
    return CACHE / "producers" / f"{name}-{sum_of(files):08x}"


def reachable(kind: str, names: Iterable[str]) -> bool:
    """Whether all are there or can be made."""
    known = TENSORFLOW_PYTHON in os.environ and PACKAGES[kind] in os.environ
    return known or all(folder(kind, name).exists() for name in names)


def prepare(kind: str, names: Iterable[str]) -> None:
    """Have the library write those that are not there.

    Raises:
        RuntimeError: some are not there, and the library is not known, or it failed.
    """
    absent = sorted({name for name in names if not folder(kind, name).exists()})
    if not absent:
        return
    if not reachable(kind, absent):
        raise RuntimeError(
            f"{', '.join(absent)} must be written first, and {PACKAGES[kind]} or "
            f"{TENSORFLOW_PYTHON} is not set. Try: make bench-producers"
        )
    (CACHE / "producers").mkdir(parents=True, exist_ok=True)
    print(f"writing {', '.join(absent)}, once", flush=True)
    with tempfile.TemporaryDirectory(dir=CACHE / "producers") as scratch:
        for settings in _passes(kind):
            command = [str(HERE / f"written_{kind}.py"), scratch, *absent]
            subprocess.run(
                [os.environ[TENSORFLOW_PYTHON], *command],
                check=False,
                stdout=sys.stderr,
                env={**os.environ, **beside(kind), **SETTINGS[kind], **settings},
            )
        written = [name for name in absent if (Path(scratch) / name / LAST).exists()]
        for name in written:
            _move(Path(scratch) / name, folder(kind, name))
    if missing := sorted(set(absent) - set(written)):
        raise RuntimeError(f"written_{kind}.py: {missing} were not written; it said why above")


def arrays(kind: str, name: str, file: str) -> dict[str, np.ndarray]:
    """`asked` or `answers`."""
    with np.load(folder(kind, name) / f"{file}.npz") as stored:
        return {key: stored[key] for key in stored}


def _passes(kind: str) -> list[dict[str, str]]:
    """Keras has one backend in a process; the one that answers is the last."""
    if kind != KERAS:
        return [{}]
    return [{"KERAS_BACKEND": backend} for backend in ("tensorflow", "jax")]


def _move(made: Path, target: Path) -> None:
    name = target.name.rpartition("-")[0]
    for stale in target.parent.glob(f"{name}-{'[0-9a-f]' * 8}"):
        shutil.rmtree(stale)
    try:
        made.rename(target)
    except OSError:  # somebody else was quicker
        shutil.rmtree(made)
