"""`pinnace warmup`: what it made is all that a later process needs, also where it may not write.

Where the installation has kernels for the processor, it makes nothing and says so; elsewhere, as
these processes make believe, it makes the general kernels that the model needs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.engine.codegen import compiler
from support.command_line import pinnace

# A process that calls until its plan is settled, and tells which kernels it had to compile.
NO_LIBRARY = """
import pathlib
from pinnace.engine.ahead import reading
reading.INSTALLED = pathlib.Path("kernels of another processor, which are not there")
"""
CALLS = """
import sys
import numpy as np
import pinnace as tf
from pinnace.engine import warming
loaded = tf.saved_model.load(sys.argv[1])
function = loaded.signatures["serving_default"]
x = np.ones((4, 64), np.float32)
before = function.run_arrays({"x": x})["y"]
for _ in warming.settle(function.graph, lambda: function.run_arrays({"x": x})):
    pass
np.testing.assert_allclose(function.run_arrays({"x": x})["y"], before, rtol=1e-5)
found = warming.report()
print(len(found), sum(one.is_new for one in found))
"""


class Small(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = tf.Variable(tf.ones([64, 64]) / 64)

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.tanh(x @ self.weights)
        return {"y": tf.exp(-y) * y + tf.tanh(y + 1.0)}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    small = Small()
    tf.saved_model.save(small, str(folder), signatures=small.__call__)
    return folder


def process(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PINNACE_CACHE": str(cache)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def cache(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    # The kernel that walks networks takes ten seconds, and this model needs none of the general.
    short = (
        "import sys; from pinnace.engine.codegen import general; general.every = dict; "
        "from pinnace.deploy.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    short = NO_LIBRARY + short
    done = process(folder, "-c", short, "warmup", str(model), "--batch=4", "--shared", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    new = [one for one in made if one["is_new"]]
    assert new
    assert all(one["seconds"] > 0 and one["bytes"] > 0 for one in new)
    return folder


def test_a_later_process_compiles_nothing(cache: Path, model: Path) -> None:
    done = process(cache, "-c", NO_LIBRARY + CALLS, str(model))
    assert done.returncode == 0, done.stderr
    kernels, new = map(int, done.stdout.split())
    assert kernels > 0
    assert new == 0


def test_nothing_is_made_where_the_installation_has_kernels(tmp_path: Path, model: Path) -> None:
    command = "import sys; from pinnace.deploy.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = process(tmp_path, "-c", command, "warmup", str(model), "--batch=4")
    assert done.returncode == 0, done.stderr
    assert "no warm-up is needed" in done.stdout
    assert not list(tmp_path.rglob("*.kernel"))
    done = process(tmp_path, "-c", CALLS, str(model))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the rights of POSIX")
def test_a_folder_that_may_not_be_written_to_is_read(cache: Path, model: Path) -> None:
    before = sorted(path for path in cache.rglob("*"))
    folders = [path for path in (cache, *before) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = process(cache, "-c", NO_LIBRARY + CALLS, str(model))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    kernels, new = map(int, done.stdout.split())
    assert kernels > 0
    assert new == 0
    assert sorted(path for path in cache.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batch=0"], "--batch: a size must be a whole number from 1 on, got '0'"),
        (["--input=x"], "--input must be NAME=SHAPE"),
        (["--input=z=1,2"], "there is no input 'z'"),
        (["--input=x=1,63"], "--input x: the shape must be like"),
        (["--signature=other"], "there is no signature 'other'"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], said: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinnace.engine.warming.general_names", list)
    answer = pinnace("warmup", model, *arguments)
    assert answer.code == 1
    assert said in answer.err


def test_without_a_folder_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.config.settings, "cache", None)
    answer = pinnace("warmup")
    assert answer.code == 1
    assert "PINNACE_CACHE is empty" in answer.err
