"""TensorFlow and pinnace work in one process: no message is defined twice, results are equal."""

import os
import subprocess
from pathlib import Path

import pytest

from architecture.sources import ROOT

PROGRAM = """
import sys
import numpy as np
{first}
{second}
from pinnace.proto import saved_model_pb2 as ours
from tensorflow.core.protobuf import saved_model_pb2 as theirs

class Model({base}.Module):
    def __init__(self):
        self.v = {base}.Variable([2.0, 3.0])

    @{base}.function(input_signature=[{base}.TensorSpec([None, 2], {base}.float32)])
    def f(self, x):
        return x * self.v + 1.0

model, folder = Model(), sys.argv[1]
{base}.saved_model.save(model, folder, signatures=model.f)
x = np.float32([[1, 2], [3, 4]])
answers = []
for library in (tensorflow, pinnace):
    signature = library.saved_model.load(folder).signatures["serving_default"]
    (answer,) = signature(x=library.constant(x)).values()
    answers.append(answer.numpy())
np.testing.assert_array_equal(answers[0], x * np.float32([2, 3]) + 1)
np.testing.assert_array_equal(answers[0], answers[1])
data = open(folder + "/saved_model.pb", "rb").read()
one, two = ours.SavedModel.FromString(data), theirs.SavedModel.FromString(data)
assert len(one.meta_graphs[0].graph_def.node) == len(two.meta_graphs[0].graph_def.node) > 0
print("both")
"""


@pytest.mark.parametrize("order", [("tensorflow", "pinnace"), ("pinnace", "tensorflow")])
@pytest.mark.parametrize("base", ["tensorflow", "pinnace"])
def test_both_load_what_either_saved(
    order: tuple[str, str], base: str, tmp_path: Path, tensorflow_python: str
) -> None:
    program = PROGRAM.format(first=f"import {order[0]}", second=f"import {order[1]}", base=base)
    subprocess.run(["make", "links"], cwd=ROOT, check=True, capture_output=True)
    done = subprocess.run(
        [tensorflow_python, "-c", program, str(tmp_path / "model")],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "build" / "links"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "both"
