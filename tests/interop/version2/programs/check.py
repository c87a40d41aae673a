"""Load models that were saved again, with TensorFlow: `python check.py FOLDER`.

FOLDER has <kind>/<name>/model and io.npz. A line of JSON per model says whether TensorFlow computes
the recorded results.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
import tf_keras  # noqa: F401 (it knows the optimizers that models have)
from write import ask, flat, plain

sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 (Keras 2 warns at each model)


def check(folder: Path) -> float:
    """The largest difference.

    Raises:
        AssertionError: texts, integers or shapes differ.
    """
    loaded = tf.saved_model.load(str(folder / "model"))
    calls: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    with np.load(folder / "io.npz") as file:
        for key in file.files:
            number, signature, side, name = key.split("/", 3)
            call = calls.setdefault((number, signature), {"in": {}, "out": {}})
            value = file[key]
            call[side][name.removesuffix(":py")] = value.item() if name.endswith(":py") else value
    worst = 0.0
    for (_, signature), call in calls.items():
        found = flat(ask(loaded, signature, call["in"]))
        for name, wanted in call["out"].items():
            got = plain(found[name])
            if wanted.dtype.kind in "biuS" or not wanted.size:
                np.testing.assert_array_equal(got, wanted)
            else:
                worst = max(worst, float(np.abs(got - wanted).max()))
    return worst


def main() -> int:
    root = Path(sys.argv[1])
    for model in sorted(root.glob("*/*/model")):
        name = model.parent.relative_to(root).as_posix()
        try:
            said: dict[str, Any] = {"name": name, "largest": check(model.parent)}
        except Exception as error:
            said = {"name": name, "error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"CASE {json.dumps(said)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
