"""The zoo's models in the cache folder: made once by TensorFlow, and again when their file changes.

A folder holds `model`, a SavedModel, `asked.npz` and `answers.npz`, inputs and what TensorFlow's
signature gave for them, `losses.npz`, the first steps of a training, and ONNX files that
`pinnace export` made of `model`, named by a sum of the exporter's sources.
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from networks import CACHE, exported, sum_of
from zoo.network import Network

HERE = Path(__file__).resolve().parent
TENSORFLOW_PYTHON = "PINNACE_TF_PYTHON"


@cache
def catalogue() -> dict[str, tuple[str, Network]]:
    """Name -> file and network, of all files in networks/."""
    found: dict[str, tuple[str, Network]] = {}
    for file in sorted((HERE / "networks").glob("[!_]*.py")):
        networks = importlib.import_module(f"zoo.networks.{file.stem}").NETWORKS
        repeated = found.keys() & networks.keys()
        if repeated:
            raise ValueError(f"zoo/networks/{file.name}: {sorted(repeated)} are elsewhere, too")
        found.update({name: (file.stem, network) for name, network in networks.items()})
    return found


def network(name: str) -> Network:
    """The network of this name."""
    return catalogue()[name][1]


def folder(name: str) -> Path:
    """Where its model and answers lie, once `prepare` was called."""
    shared = [HERE / f"{part}.py" for part in ("network", "training", "written")]
    sources = [HERE / "networks" / f"{catalogue()[name][0]}.py", *shared]
    return CACHE / "zoo" / f"{name}-{sum_of(sources):08x}"


def prepare(names: Iterable[str]) -> None:
    """Have TensorFlow write those that are not there, all in one process.

    Raises:
        RuntimeError: some are not there, and no TensorFlow is known to write them, or it failed.
    """
    absent = [name for name in names if not folder(name).exists()]
    if not absent:
        return
    interpreter = os.environ.get(TENSORFLOW_PYTHON)
    if interpreter is None:
        raise RuntimeError(
            f"TensorFlow writes {', '.join(absent)}, and {TENSORFLOW_PYTHON} is not set."
            " Try: make bench-zoo"
        )
    (CACHE / "zoo").mkdir(parents=True, exist_ok=True)
    print(f"TensorFlow writes {len(absent)} models, once", flush=True)
    with tempfile.TemporaryDirectory(dir=CACHE / "zoo") as scratch:
        command = [interpreter, str(HERE / "written.py"), scratch, *absent]
        failed = subprocess.run(command, check=False, stdout=sys.stderr).returncode
        for name in absent:
            made = Path(scratch) / name
            if (made / "losses.npz").exists():
                _move(made, folder(name))
    if failed:
        raise RuntimeError(f"zoo/written.py: ended with exit code {failed}")


def reachable(names: Iterable[str]) -> bool:
    """Whether all are there or can be made."""
    return TENSORFLOW_PYTHON in os.environ or all(folder(name).exists() for name in names)


def arrays(name: str, file: str) -> dict[str, np.ndarray]:
    """`asked`, `answers` or `losses`."""
    with np.load(folder(name) / f"{file}.npz") as stored:
        return {key: stored[key] for key in stored}


def onnx_file(name: str) -> Path:
    """The model as `pinnace export` writes it."""
    return exported(folder(name))


def _move(made: Path, target: Path) -> None:
    name = target.name.rpartition("-")[0]
    for stale in target.parent.glob(f"{name}-{'[0-9a-f]' * 8}"):
        shutil.rmtree(stale)
    try:
        made.rename(target)
    except OSError:  # somebody else was quicker
        shutil.rmtree(made)
