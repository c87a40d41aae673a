"""Models of version 1 that TensorFlow writes now load here and compute what it computed."""

import json
import subprocess
from pathlib import Path

import pytest

from pinnace import saved_model
from support.recorded import largest_difference
from support.v1_models import answers_of

pytestmark = pytest.mark.interop

WRITING = Path(__file__).with_name("v1_writing.py")
# With variables that have no value, as they are meant to: such a model cannot be saved.
WITHOUT_VALUES = {"asked_whether_initialised", "uninitialised_names"}
# The order of additions, and other kernels.
TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def written(tensorflow_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models and answers, all written by one process."""
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
        if folder.name in WITHOUT_VALUES or about["kind"] != "saved_model":
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
