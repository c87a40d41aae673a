"""Models as Keras 3 writes them: .keras and .h5 files, with outputs and a step of training.

Run by a Python that has TensorFlow, from the root of the repository:

    PYTHONPATH=tests python tests/golden/keras_files/make.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path

import keras
import tensorflow as tf

from support.golden import record
from support.keras_exchange import write

FOLDER = Path(__file__).parent
NAMES = (
    *("dense", "without_shape", "words", "heads", "operators", "operations", "sentences"),
    *("categories", "own_layer", "own_model", "pictures"),
)


def main() -> None:
    """Write the files."""
    for name in NAMES:
        write(tf, FOLDER / "keras_3", name)
    record(
        "keras_files/keras_3",
        script="keras_files/make.py",
        made_with=f"tensorflow {tf.__version__}, keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()
