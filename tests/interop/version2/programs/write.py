"""Write the models: `python write.py OUT [NAME ...]`, with TensorFlow, and Keras 2 on the path.

Each case gets OUT/<kind>/<name>/model and io.npz with TensorFlow's results; a line of JSON gives
the outcome.
"""

import json
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
from casebook import CASES, SEED

sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 (Keras 2 warns at each save)
import datasets  # noqa: E402, F401 (adds its cases)
import keras2  # noqa: E402, F401
import keras3  # noqa: E402, F401
import modules  # noqa: E402, F401
import wild  # noqa: E402, F401


def write(name: str, out: Path) -> dict[str, Any]:
    """Write one case; returns its record."""
    folder = (out / name).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    np.savez(folder / "io.npz")
    tf.random.set_seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 (Keras 2 draws from it)
    calls = CASES[name](folder / "model")
    loaded = tf.saved_model.load(str(folder / "model"))
    recorded: dict[str, Any] = {}
    for number, (signature, inputs) in enumerate(calls):
        outputs = ask(loaded, signature, inputs)
        for side, values in (("in", inputs), ("out", outputs)):
            for key, value in flat(values).items():
                mark = "" if isinstance(value, (np.ndarray, np.generic, tf.Tensor)) else ":py"
                recorded[f"{number:03}/{signature}/{side}/{key}{mark}"] = plain(value)
    np.savez(folder / "io.npz", **recorded)
    size = sum(path.stat().st_size for path in (folder / "model").rglob("*") if path.is_file())
    return {"name": name, "ok": True, "bytes": size, "calls": len(calls)}


def ask(loaded: Any, called: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The results of a signature, or of a function of the object: `@name`, by number."""
    given = {
        key: tf.constant(value) if isinstance(value, (np.ndarray, np.generic)) else value
        for key, value in inputs.items()
    }
    if not called.startswith("@"):
        return dict(loaded.signatures[called](**given))
    results = tf.nest.flatten(getattr(loaded, called[1:])(**given))
    return {str(number): one for number, one in enumerate(results)}


def flat(values: dict[str, Any]) -> dict[str, Any]:
    """Each tensor by name; components have the value's name and a number."""
    found = {}
    for key, value in values.items():
        parts = tf.nest.flatten(value, expand_composites=True)
        for index, one in enumerate(parts):
            found[key if len(parts) == 1 else f"{key}|{index}"] = one
    return found


def plain(value: Any) -> np.ndarray:
    """An array that npz can store without pickling."""
    array = np.asarray(value)
    return array.astype("S") if array.dtype == object else array


def main() -> int:
    out, chosen = Path(sys.argv[1]), sys.argv[2:]
    for name in CASES:
        if chosen and not any(name.startswith(one) for one in chosen):
            continue
        tf.keras.backend.clear_session()
        try:
            said = write(name, out)
        except Exception as error:  # TensorFlow itself cannot; the reader judges it
            said = {"name": name, "ok": False, "error": f"{type(error).__name__}: {error}"}
            said["trace"] = traceback.format_exc()[-1500:]
        sys.stdout.write(f"CASE {json.dumps(said)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
