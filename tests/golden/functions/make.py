"""Writes <subject>.npz beside it: TensorFlow's results and gradients for each <subject>.py.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/functions/make.py [subject ...]
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from golden.functions.calls import results  # noqa: E402 - the path is set above
from support.golden import record  # noqa: E402 - the path is set above

NOT_SUBJECTS = {"make", "calls"}


def stored(value: Any) -> Any:
    """An array that can be read without unpickling: strings as bytes of one length."""
    return np.array(value.tolist(), "S") if value.dtype == object else value


def flat(value: Any) -> list[Any]:
    return tf.nest.flatten(value, expand_composites=True)  # type: ignore[no-any-return]


def write(subject: str) -> None:
    arrays = {}
    for number, call in enumerate(importlib.import_module(f"golden.functions.{subject}").CALLS):
        try:
            found = results(call, tf, tf.constant, flat)
        except Exception as error:
            error.add_note(f"{subject} {number}: {call}")
            raise
        arrays |= {f"{number}/{key}": stored(value) for key, value in found.items()}
    np.savez_compressed(HERE / f"{subject}.npz", **arrays)
    version = f"tensorflow {tf.__version__}"
    record(f"functions/{subject}.npz", script="functions/make.py", made_with=version)


subjects = sorted({file.stem for file in HERE.glob("*.py")} - NOT_SUBJECTS)
for wanted in sys.argv[1:] or subjects:
    write(wanted)
