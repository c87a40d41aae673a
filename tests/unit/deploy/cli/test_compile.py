"""`pinnace compile`: a process without Numba answers with the bits of one that has it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.ahead import reading, table
from pinnace.framework import config
from pinnace.serving.models.loading import load_model
from support.command_line import pinnace

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not any(map(shutil.which, ("cc", "gcc", "clang"))),
    reason="needs Linux and a C compiler",
)

# Machine code is kept, however slow it was: two processes are to run the same. The network's
# kernel takes ten seconds, and is the same for all models.
COMPILES = """
import sys
from pinnace.engine.codegen import general
general.every = dict
from pinnace.deploy.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
# Calls each signature, and tells what ran. With "without", nothing can import Numba; with "alone",
# the installation has no kernels either.
CALLS = """
import json
import pathlib
import sys

folder, results, how = sys.argv[1:]

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numba", "llvmlite"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if how != "with":
    sys.meta_path.insert(0, Refused())

import numpy as np
import pinnace as tf
from pinnace.engine import warming
from pinnace.engine.ahead import reading
from pinnace.engine.codegen import compiler

if how == "alone":
    reading.INSTALLED = pathlib.Path("nowhere")
loaded = tf.saved_model.load(folder)
found, tiers, notes = {}, [], []
for name, function in loaded.signatures.items():
    random = np.random.default_rng(1)
    feeds = {
        key: random.standard_normal((3, *spec.shape[1:]), np.float32)
        for key, spec in function.array_inputs.items()
    }
    for _ in warming.settle(function.graph, lambda: function.run_arrays(feeds)):
        pass
    given = function.run_arrays(feeds)
    found.update({f"{name}_{key}": value for key, value in given.items()})
    profile = tf.profiler.profile(function.run_arrays, feeds)
    tiers.append(sorted({row.tier for row in profile.rows}))
    notes = profile.notes()
np.savez(results, **found)
kernels = compiler.requested()
print(json.dumps({
    "kernels": len(kernels),
    "made": sum(kernel.function is not None for kernel in kernels),
    "numba": sorted({"numba", "llvmlite"} & {*sys.modules}),
    "tiers": tiers,
    "notes": notes,
}))
"""


class Several(tf.Module):
    """Networks, one with convolutions and one with attention, a recurrence, a loop over scalars."""

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(0)
        self.first = tf.Variable(random.standard_normal((64, 64), np.float32) / 8)
        self.expand = tf.Variable(random.standard_normal((1, 1, 4, 24), np.float32))
        self.project = tf.Variable(random.standard_normal((1, 1, 24, 8), np.float32))
        self.depthwise = tf.Variable(random.standard_normal((3, 3, 24, 1), np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def network(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.tanh(x @ self.first)
        return {"y": tf.exp(-y) * y + tf.math.erf(y + 1.0)}

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def convolutions(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.reshape(x, [-1, 4, 4, 4])
        y = tf.nn.relu6(tf.nn.conv2d(y, self.expand, 1, "SAME") * 0.5 + 0.125)
        y = tf.nn.depthwise_conv2d(y, self.depthwise, [1, 2, 2, 1], "SAME")
        y = tf.nn.conv2d(tf.nn.relu6(y), self.project, 1, "SAME")
        return {"y": tf.nn.softmax(tf.reduce_mean(y, [1, 2]))}

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def attention(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        tokens = tf.reshape(x, [-1, 8, 8])
        query, key, value = (tokens @ self.first[8 * n : 8 * n + 8, :8] for n in range(3))
        y = tokens + tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / 8.0**0.5) @ value
        y = y - tf.reduce_mean(y, -1, keepdims=True)
        y = y * tf.math.rsqrt(tf.reduce_mean(y * y, -1, keepdims=True) + 1e-3)
        return {"y": tf.nn.gelu(y @ self.first[:8]) @ self.first[:, :8]}

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def recurrence(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        state = tf.zeros_like(x)
        for _ in tf.range(40):
            state = tf.tanh(x + state @ self.first)
        return {"state": state}

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def scalars(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        count, value = tf.constant(0), x[0, 0]
        while count < 2000:
            value = value * 0.75 + tf.cast(count, tf.float32)
            count += 1
        return {"count": count, "value": value}


def run(text: str, cache: Path, *arguments: str | Path) -> str:
    environment = {**os.environ, "PINNACE_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as it was saved."""
    folder = tmp_path_factory.mktemp("models") / "plain"
    several = Several()
    signatures = {
        "network": several.network,
        "convolutions": several.convolutions,
        "attention": several.attention,
        "recurrence": several.recurrence,
        "scalars": several.scalars,
    }
    tf.saved_model.save(several, str(folder), signatures=signatures)
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def model(plain: Path, cache: Path) -> Path:
    """The same with kernels beside it."""
    folder = plain.parent / "compiled"
    shutil.copytree(plain, folder)
    told = json.loads(
        run(COMPILES, cache, "compile", folder, "--processors=native", "--batch=3", "--json")
    )
    assert Path(told["folder"]) == folder / table.FOLDER
    assert [one["processor"] for one in told["libraries"]] == ["native"]
    for one in told["libraries"]:
        assert one["kernels"] >= 3
        assert one["refused"] == []
        assert one["bytes"] > 0
    return folder


def test_without_numba_the_bits_are_the_same(
    model: Path, plain: Path, cache: Path, tmp_path: Path
) -> None:
    ahead = json.loads(run(CALLS, cache, model, tmp_path / "ahead.npz", "without"))
    assert ahead["numba"] == []
    assert ahead["made"] == ahead["kernels"] >= 3
    assert any("kernels for native" in note for note in ahead["notes"])
    numba = json.loads(run(CALLS, cache, plain, tmp_path / "numba.npz", "with"))
    assert numba["numba"] == []  # the installation has all kernels, and a short loop is a table
    assert numba["tiers"] == ahead["tiers"]
    with np.load(tmp_path / "ahead.npz") as one, np.load(tmp_path / "numba.npz") as other:
        assert sorted(one) == sorted(other)
        for name in one:
            assert one[name].dtype == other[name].dtype
            assert one[name].tobytes() == other[name].tobytes()


def test_a_process_without_a_note_runs_the_plan(model: Path, tmp_path: Path, cache: Path) -> None:
    told = json.loads(run(CALLS, tmp_path, model, tmp_path / "plan.npz", "alone"))
    assert told["made"] == 0
    assert any("nobody vouches for them" in note for note in told["notes"])
    run(CALLS, cache, model, tmp_path / "ahead.npz", "without")
    with np.load(tmp_path / "plan.npz") as one, np.load(tmp_path / "ahead.npz") as other:
        for name in one:
            # What tiers may differ by: see `engine.agreement`.
            np.testing.assert_allclose(one[name], other[name], rtol=1e-4, atol=1e-5)


@pytest.fixture
def _alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, empty in (("_libraries", []), ("_refused", {}), ("_made", {})):
        monkeypatch.setattr(reading, name, empty)
    monkeypatch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(cache)})


@pytest.mark.usefixtures("_alone")
def test_the_server_takes_them_from_where_the_model_is(model: Path) -> None:
    loaded = load_model(model)
    assert loaded.signatures.keys() == {
        *("network", "convolutions", "attention", "recurrence", "scalars")
    }
    (note,) = reading.notes()
    assert str(model / table.FOLDER) in note


def test_saving_anew_leaves_them_out(model: Path, plain: Path) -> None:
    copy = model.parent / "anew"
    shutil.copytree(model, copy)
    tf.saved_model.save(tf.saved_model.load(str(plain)), str(copy))
    assert not (copy / table.FOLDER).exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--processors=z80"], "there is no processor 'z80'"),
        (["--processors=,"], "--processors must name one at least"),
        (["--batch=0"], "--batch: a size must be a whole number from 1 on, got '0'"),
    ],
)
def test_bad_arguments_are_told(arguments: list[str], said: str, plain: Path) -> None:
    answer = pinnace("compile", plain, *arguments)
    assert answer.code == 1
    assert said in answer.err


def test_without_a_compiler_it_says_what_to_install(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    answer = pinnace("compile", plain)
    assert answer.code == 1
    assert "there is no C compiler: no-such-compiler" in answer.err
    assert "apt-get install gcc" in answer.err


def test_without_numba_it_says_what_to_install(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinnace.engine.codegen.compiler.failure", "Numba is not installed")
    answer = pinnace("compile", plain)
    assert answer.code == 1
    assert "compiler]" in answer.err
