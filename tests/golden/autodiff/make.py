"""Writes answers.json beside it: TensorFlow's results for each program.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/autodiff/make.py
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from golden.autodiff.programs import PROGRAMS  # noqa: E402 - the path is set above
from support.golden import record  # noqa: E402 - the path is set above

answers = {name: run(tf) for name, run in PROGRAMS.items()}
(HERE / "answers.json").write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
record(
    "autodiff/answers.json",
    script="autodiff/make.py",
    made_with=f"tensorflow {tf.__version__}, keras {keras.__version__}",
)
