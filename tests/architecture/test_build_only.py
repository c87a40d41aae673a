"""Wheels with machine code do not contain its sources, and still run models."""

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from architecture.sources import ROOT, imports, modules
from pinnace.engine.ahead import reading, table

THIRD_PARTIES = {"llvmlite", "numba"}
# Without the path of an editable installation, which would find the sources in the working tree.
BEGIN = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if "ditable" not in repr(one)]
import pinnace as tf
assert tf.__file__.startswith(sys.argv[1]), tf.__file__
"""
RUN = """
import importlib
import numpy as np
for name in sys.argv[2].split():
    importlib.import_module(name)
tf.keras.utils.set_random_seed(3)
layers = tf.keras.layers
model = tf.keras.Sequential([
    tf.keras.Input([12, 12, 8]),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.GlobalAveragePooling2D(), layers.Dense(10),
])
model.compile("adam", "mse")
x = np.random.default_rng(0).normal(size=(32, 12, 12, 8)).astype("f4")
model.fit(x, np.zeros((32, 10), "f4"), batch_size=8, verbose=0)
call = tf.function(lambda x: model(x))
answers = [call(tf.constant(x)).numpy() for _ in range(4)]
np.testing.assert_allclose(answers[-1], model(x).numpy(), rtol=1e-4, atol=1e-5)
tiers = {row.tier for row in tf.profiler.profile(call, tf.constant(x)).rows}
assert "compiled" in tiers, tiers
assert not {"numba", "llvmlite"} & sys.modules.keys()
"""


@functools.cache
def left_out() -> set[str]:
    """The files that `tools/build_only.py` lists."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import build_only
    finally:
        sys.path.pop(0)
    return set(build_only.modules(ROOT))


def compiles(name: str) -> bool:
    """Whether a module imports Numba or LLVM when it is imported."""
    text = modules()[name].read_text()
    if not any(one in text for one in THIRD_PARTIES):  # most files need not be parsed
        return False
    body = ast.parse(text).body
    found = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    found += [str(node.module) for node in body if isinstance(node, ast.ImportFrom)]
    return any(one.partition(".")[0] in THIRD_PARTIES for one in found)


def test_what_compiles_and_what_is_compiled_are_left_out() -> None:
    compilers = {name for name in modules() if compiles(name)}
    assert compilers
    assert compilers - left_out() == set(), "these cannot be imported by programs"
    sources = {"descents", "sliding", "streams", "walking", "winograd_kernels", "general"}
    assert {f"pinnace.engine.codegen.{name}" for name in sources} <= left_out()
    assert {f"pinnace.engine.ahead.{name}" for name in ("sources", "writing")} <= left_out()


def test_nothing_that_stays_imports_what_is_left_out_without_asking() -> None:
    asked = {
        (name, imported)
        for name in modules().keys() - left_out()
        if "pinnace.engine" in modules()[name].read_text()
        for _, imported in imports(name)
        if imported in left_out()
    }
    for name in {name for name, _ in asked}:
        assert "has_sources" in modules()[name].read_text()
        body = ast.parse(modules()[name].read_bytes()).body
        names = {
            f"{n.module}.{a.name}" for n in body if isinstance(n, ast.ImportFrom) for a in n.names
        }
        assert names & left_out() == set(), f"{name} imports these at once"
    assert {imported.rpartition(".")[2] for _, imported in asked} == {"sources", "writing"}


def tree(folder: Path, *, library: bool) -> Path:
    """The package as in such a wheel, made of links."""
    package = folder / "pinnace"
    engine = package / "engine"
    engine.mkdir(parents=True)
    beside = [ROOT / name for name in ("proto", "saved_model", "serving", "deploy")]
    for path in [*(ROOT / "core").iterdir(), *beside]:
        if path.name not in {"engine", "__pycache__"}:
            (package / path.name).symlink_to(path)
    gone = {modules()[name] for name in left_out()}
    for path in (ROOT / "core" / "engine").iterdir():
        if path.name in {"ahead", "codegen"}:
            (engine / path.name).mkdir()
            for file in set(path.glob("*.py")) - gone:
                (engine / path.name / file.name).symlink_to(file)
        elif path.name != "__pycache__" and (library or path.name != "library"):
            (engine / path.name).symlink_to(path)
    return folder


def run(folder: Path, program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(folder), *arguments],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.mark.skipif(
    not (reading.INSTALLED / table.FILE).is_file(), reason="needs the library: make setup"
)
def test_models_run_in_machine_code_without_its_sources(tmp_path: Path) -> None:
    names = [name for name in modules() if name.startswith("pinnace.engine.")]
    kept = [name for name in names if name not in left_out()]
    assert run(tree(tmp_path, library=True), RUN, " ".join(kept)) == ""


def test_without_library_and_sources_it_is_said_where_they_are(tmp_path: Path) -> None:
    folder = tree(tmp_path, library=False)
    asked = "from pinnace.engine.codegen import kernels\nassert not kernels.are_there()"
    line = run(folder, asked)
    assert f"there is no library; {reading.COMPILE} makes one" in line
    asked = "from pinnace.engine.ahead import installing\ndel sys.argv[1:]\ninstalling.main()"
    told = run(folder, asked)
    assert "no sources of kernels" in told
    assert f"Try: {reading.COMPILE}" in told
