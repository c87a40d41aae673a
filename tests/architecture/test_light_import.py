"""`import pinnace` is light: heavy modules are imported on first use."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.fresh_process import run_fresh

HEAVY = {
    *("IPython", "PIL", "click", "csv", "fastapi", "google.cloud", "google.protobuf", "grpc"),
    *("h5py", "httptools", "httpx", "logging"),
    *("keras", "libcst", "llvmlite", "malt", "numba", "onnx", "onnxruntime", "opentelemetry"),
    *(
        "orjson",
        "prometheus_client",
        "pyarrow",
        "pydantic",
        "ray",
        "re2",
        "rich",
        "scipy",
        "sklearn",
    ),
    *("starlette", "tensorflow", "torch", "typer", "uvicorn", "uvloop"),
}
LOOK = """
import json, sys, time
import numpy
start = time.perf_counter()
import pinnace
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The modules of a process that imported pinnace; it printed nothing else."""
    found: dict[str, Any] = json.loads(run_fresh(LOOK))
    return found


def test_import_loads_nothing_heavy(found: dict[str, Any]) -> None:
    print(f"import pinnace: {found['seconds'] * 1e3:.0f} ms after numpy")  # noqa: T201 - `pytest -s`
    heavy = sorted(HEAVY & set(found["modules"]))
    assert not heavy, f"loaded: {heavy}; Try: python -X importtime -c 'import pinnace'"


def test_import_loads_neither_server_nor_converters(found: dict[str, Any]) -> None:
    late = ("pinnace.serving.", "pinnace.deploy.")
    assert not [name for name in found["modules"] if name.startswith(late)]


def test_import_loads_no_op_that_few_programs_want(found: dict[str, Any]) -> None:
    families = ("audio", "dataset", "image", "io", "linalg", "quantization", "ragged", "signal")
    late = tuple(f"pinnace.ops.{name}" for name in (*families, "sparse", "strings", "summary"))
    absent = (*late, "pinnace.functions.autograph")
    assert not [name for name in found["modules"] if name.startswith(absent)]


LATE = """
import pinnace as tf
from pinnace.ops import registry

# Found by name, and as a function of ragged values, as if they had been there from the start.
assert registry.find("DecodePng") is not None
assert registry.find("MatrixSolve") is not None
assert registry.find("NoSuchOp") is None
words = tf.ragged.constant([["ab", "b"], ["cb"]])
print(tf.strings.regex_replace(words, "b", "d").to_list(), tf.linalg.trace(tf.eye(2)).numpy())
"""


def test_what_is_loaded_late_is_there_when_it_is_named() -> None:
    assert run_fresh(LATE).strip() == "[[b'ad', b'd'], [b'cd']] 2.0"


EXPORT = """
import sys
import pinnace as tf
from pinnace.deploy.onnx import export

model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Conv2D(4, 3)])
export(model, sys.argv[1])
print(*sorted(sys.modules))
"""


def test_an_export_of_layers_loads_no_family_that_they_do_not_need(tmp_path: Path) -> None:
    modules = run_fresh(EXPORT, tmp_path / "model.onnx").split()
    converters = "pinnace.deploy.onnx.converters"
    assert f"{converters}.nn.spatial_convolutions" in modules
    rare = ("audio", "image", "linalg", "random", "signal", "sparse", "strings")
    late = (*(f"{converters}.{name}" for name in rare), "pinnace.ops.sparse", "rich")
    assert not [name for name in modules if name.startswith(late)]


SAVE = """
import sys
import pinnace as tf

model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Conv2D(4, 3)])
model.export(sys.argv[1], verbose=False)
"""
ANSWER = """
import sys
import pinnace as tf

answer = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
answer(tf.zeros([1, 8, 8, 3]))
modules = sorted(sys.modules)
assert "save" in dir(tf.saved_model) and callable(tf.saved_model.save)  # there when it is named
assert "Checkpoint" in dir(tf.train) and tf.train.Checkpoint(), tf.train
print(*modules)
"""


def test_loading_and_answering_load_no_family_that_a_model_does_not_need(tmp_path: Path) -> None:
    run_fresh(SAVE, tmp_path / "model")
    modules = run_fresh(ANSWER, tmp_path / "model").split()
    assert "pinnace.saved_model.restoring" in modules
    families = ("dataset", "image", "io", "linalg", "sparse", "strings", "trees")
    late = (
        *(f"pinnace.ops.{name}" for name in families),
        *("pinnace.checkpoint.checkpoint", "pinnace.checkpoint.manager", "pinnace.keras"),
        *("pinnace.saved_model.v1_graphs", "pinnace.saved_model.writing"),
        *("importlib.resources", "tomllib"),
    )
    assert not [name for name in modules if name.startswith(late)]
