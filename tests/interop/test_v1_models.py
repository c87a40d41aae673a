"""Models of version 1, written by the current TensorFlow, load here with the same results."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pinnace import saved_model
from support.recorded import largest_difference
from support.v1_models import answers_of

pytestmark = pytest.mark.interop

WRITING = Path(__file__).with_name("v1_writing.py")
# Names that are not identifiers: a signature of TensorFlow 2 has others, and separate components.
WITHOUT_KEYWORDS = {"sparse_beside_names_with_signs"}
# Models with deliberately uninitialised variables, which cannot be saved.
WITHOUT_VALUES = {"asked_whether_initialised", "uninitialised_names"}
# Another order of summation, and other kernels.
TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def written(tensorflow_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models and results, all written by one process."""
    folder = tmp_path_factory.mktemp("v1")
    done = subprocess.run(
        [tensorflow_python, str(WRITING), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def test_every_model_computes_what_tensorflow_computed(written: Path) -> None:
    problems = []
    for folder in sorted(written.iterdir()):
        try:
            difference = answers_of(folder)
        except Exception as error:
            problems.append(f"{folder.name}: {type(error).__name__}: {error}")
        else:
            if difference > TOLERANCE:
                problems.append(f"{folder.name}: largest difference {difference:.3g}")
    assert not problems, "\n".join(problems)


def test_every_model_saved_again_computes_the_same(written: Path, tmp_path: Path) -> None:
    """Variables, tables and files become objects of a model of TensorFlow 2."""
    problems = []
    for folder in sorted(written.iterdir()):
        about = json.loads((folder / "about.json").read_text())
        if folder.name in WITHOUT_VALUES | WITHOUT_KEYWORDS or about["kind"] != "saved_model":
            continue
        try:
            loaded = saved_model.load(folder / "model", tags=about["tags"])
            saved_model.save(loaded, tmp_path / folder.name)
            difference = largest_difference(
                saved_model.load(tmp_path / folder.name), folder / "io.npz"
            )
        except Exception as error:
            problems.append(f"{folder.name}: {type(error).__name__}: {error}")
        else:
            if difference > TOLERANCE:
                problems.append(f"{folder.name}: largest difference {difference:.3g}")
    assert not problems, "\n".join(problems)


# TensorFlow's results for models that were saved again here: one line, differences by name.
ASKED = """
import json, sys
from pathlib import Path
import numpy as np
import tensorflow as tf

said = {}
for folder in sorted(Path(sys.argv[1]).iterdir()):
    model, calls, worst = tf.saved_model.load(str(folder / "model")), {}, 0.0
    with np.load(folder / "io.npz") as file:
        for key in file.files:
            number, signature, side, name = key.split("/", 3)
            call = calls.setdefault(int(number), {"signature": signature, "in": {}, "out": {}})
            call[side][name] = file[key]
    for _, call in sorted(calls.items()):
        given = {name: tf.constant(value) for name, value in call["in"].items()}
        found = model.signatures[call["signature"]](**given)
        for name, wanted in call["out"].items():
            gap = np.abs(found[name].numpy().astype(float) - wanted.astype(float))
            worst = max(worst, float(gap.max(initial=0)))
    said[folder.name] = worst
print("SAID " + json.dumps(said))
"""
ITERATORS = (
    "initialised_iterator",
    "iterator_beside_the_signature",
    "iterator_with_a_variable",
    "one_shot_iterator",
    "pipeline_in_a_signature",
)


def test_tensorflow_goes_on_with_iterators_that_were_saved_again(
    written: Path, tensorflow_python: str, tmp_path: Path
) -> None:
    for name in ITERATORS:
        saved_model.save(saved_model.load(written / name / "model"), tmp_path / name / "model")
        shutil.copy(written / name / "io.npz", tmp_path / name)
    command = [tensorflow_python, "-c", ASKED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("SAID "))
    said = json.loads(line[5:])
    assert sorted(said) == sorted(ITERATORS)
    assert max(said.values()) <= TOLERANCE, said
