"""Models that Keras 2 wrote and that were saved again here, opened and run by Keras 3.

Run by a Python that has TensorFlow: `python keras_2_again.py FOLDER`. The program before `main` is
the guide's replacement for what Keras 3 lacks.
"""

import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))

import support.keras_2_models  # noqa: F401 (its cases)
from support.keras_exchange import argument, flat
from support.keras_models import inputs_of


@keras.saving.register_keras_serializable("pinnace")
def hard_sigmoid_of_keras_2(x: Any) -> Any:
    return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)


@keras.saving.register_keras_serializable("pinnace")
class TFOpLambda(keras.layers.Layer):  # type: ignore[misc]
    def __init__(self, function: str, **options: Any) -> None:
        super().__init__(autocast=False, **options)
        self.function = function

    def call(self, *args: Any, **kwargs: Any) -> Any:
        found = tf
        for part in self.function.split("."):
            found = getattr(found, part)
        return found(*args, **kwargs)


def main() -> None:
    """Print the difference between each file's outputs and those of Keras 2."""
    golden = Path(__file__).parents[1] / "golden" / "keras_files" / "keras_2"
    for file in sorted(Path(sys.argv[1]).iterdir()):
        name = file.name.split(".")[0]
        model = keras.models.load_model(file, compile=False)
        kept = dict(np.load(golden / f"{name}.npz"))
        wanted = [kept[key] for key in sorted(kept) if key.startswith("output")]
        found = flat(model(argument(model, inputs_of(name), tf), training=False))
        far = max(float(np.max(np.abs(a - b))) for a, b in zip(found, wanted, strict=True))
        sys.stdout.write(f"REPORT {json.dumps([file.name, far])}\n")


if __name__ == "__main__":
    main()
