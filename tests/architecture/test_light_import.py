"""`import pinnace` is light: what is heavy waits until somebody needs it."""

import json

from support.fresh_process import run_fresh

HEAVY = {
    *("IPython", "PIL", "click", "fastapi", "google.cloud", "grpc", "h5py", "httptools", "httpx"),
    *("keras", "libcst", "llvmlite", "malt", "numba", "onnx", "onnxruntime", "opentelemetry"),
    *("orjson", "prometheus_client", "pyarrow", "pydantic", "ray", "rich", "scipy", "sklearn"),
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


def test_import_loads_nothing_heavy() -> None:
    found = json.loads(run_fresh(LOOK))
    print(f"import pinnace: {found['seconds'] * 1e3:.0f} ms after numpy")  # noqa: T201 - `pytest -s`
    heavy = sorted(HEAVY & set(found["modules"]))
    assert not heavy, f"loaded: {heavy}; Try: python -X importtime -c 'import pinnace'"


def test_import_loads_neither_server_nor_converters() -> None:
    late = ("pinnace.serving.", "pinnace.deploy.")
    modules = json.loads(run_fresh(LOOK))["modules"]
    assert not [name for name in modules if name.startswith(late)]


def test_import_prints_nothing() -> None:
    assert run_fresh("import pinnace") == ""
