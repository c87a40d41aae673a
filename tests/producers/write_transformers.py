"""Write models of transformers with their results: `write_transformers.py FOLDER [NAME ...]`.

It runs where transformers, tf_keras and TensorFlow are installed, and does not import pinnace. Each
FOLDER/NAME has `model/`, a SavedModel, and `io.npz`: inputs as `SIGNATURE/in/NAME`, TensorFlow's
results as `SIGNATURE/out/NAME`. Architectures are the real ones, with small sizes and random
weights. FOLDER/architectures.json lists all architectures that transformers has for TensorFlow with
their models here, and those that transformers or TensorFlow cannot write.
"""

import json
import multiprocessing
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import hugging_face  # noqa: F401 (sets what TensorFlow reads, and so is before it)
import tensorflow as tf
import transformers as hf
from hugging_face.generators import GENERATORS
from hugging_face.pictures import PICTURES
from hugging_face.refusals import REFUSALS
from hugging_face.texts import TEXTS
from hugging_face.writing import Generator, write_forward, write_generator

MODELS: dict[str, Any] = {**GENERATORS, **TEXTS, **PICTURES}


def write_one(folder: Path, name: str, one: Any) -> None:
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (write_generator if isinstance(one, Generator) else write_forward)(place, name, one)


def write(asked: tuple[Path, str]) -> tuple[str, str | None]:
    """Write one model; returns its name, and the message of a refusal."""
    folder, name = asked
    started = time.monotonic()
    if name in REFUSALS:
        return name, refusal(folder, name)
    write_one(folder, name, MODELS[name])
    print(f"{name} {time.monotonic() - started:.1f} s", flush=True)
    return name, None


def refusal(folder: Path, name: str) -> str:
    one, reason = REFUSALS[name]
    try:
        write_one(folder, name, one)
    except Exception as error:  # whatever it is, its message is compared
        shutil.rmtree(folder / name)
        words = f"{type(error).__name__}: {error}"
        if reason not in words:
            raise ValueError(f"{name} is refused, but not since {reason!r}") from error
        return words
    raise ValueError(f"{name} is written now: it is none of the refusals")


def architectures() -> dict[str, list[str]]:
    """The folders of transformers that have a module for TensorFlow -> the models here."""
    modules = Path(hf.__file__).parent.glob("models/**/modeling_tf_*.py")
    found: dict[str, list[str]] = {path.parent.name: [] for path in modules}
    del found["auto"]  # finds a class of the other models by name
    for name, one in MODELS.items():
        found[one.kind.__module__.split(".")[-2]].append(name)
    return found


def main(folder: Path, only: list[str]) -> None:
    names = only or [*MODELS, *REFUSALS]
    workers = 1 if len(names) == 1 else min(os.cpu_count() or 1, 4)
    with multiprocessing.get_context("spawn").Pool(workers, one_thread) as pool:
        found = dict(pool.imap_unordered(write, [(folder, name) for name in names]))
    if not only:
        refused = {name: words for name, words in sorted(found.items()) if words}
        facts = {"architectures": architectures(), "refused": refused}
        (folder / "architectures.json").write_text(json.dumps(facts, indent=2) + "\n")


def one_thread() -> None:
    """The workers share the processors."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
