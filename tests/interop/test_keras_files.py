"""Whole models in .keras and .h5 files: what one side writes, the other loads and trains on."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.keras_models import CASES
from support.loaded_process import run_either

PROGRAM = """
import runpy, sys
program, sys.argv = sys.argv[1], sys.argv[1:]
runpy.run_path(program, run_name="__main__")
"""
EXCHANGE = Path(__file__).parents[1] / "support" / "keras_exchange.py"


def reports(*arguments: str | Path, **options: Any) -> dict[str, Any]:
    text = run_either(PROGRAM, EXCHANGE, *arguments, timeout_s=900, **options)
    lines = [line[7:] for line in text.splitlines() if line.startswith("REPORT ")]
    return {report["name"]: report for report in map(json.loads, lines)}


@pytest.fixture(scope="module", params=["pinnace", "tensorflow"])
def exchanged(request: Any, tensorflow_python: str, tmp_path_factory: Any) -> dict[str, Any]:
    """The reader's results for each file of the writer."""
    folder = tmp_path_factory.mktemp("files")
    pythons: dict[str, dict[str, Any]] = {
        "pinnace": {},
        "tensorflow": {"python": tensorflow_python},
    }
    writer = request.param
    (reader,) = pythons.keys() - {writer}
    written = reports(writer, "write", folder, **pythons[writer])
    failed = {name: report["trace"] for name, report in written.items() if "error" in report}
    assert not failed, failed
    return {"writer": writer, **reports(reader, "read", folder, **pythons[reader])}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_the_other_side_goes_on_with_it(exchanged: dict[str, Any], name: str, ending: str) -> None:
    if ending == ".h5" and not CASES[name].h5:
        pytest.skip("the older form cannot hold it")
    report = exchanged[name + ending]
    assert "error" not in report, report["trace"]
    differences = report["differences"]
    # float32 sums in another order: 1e-5 of outputs that stay below about 10.
    assert differences["output"] < 1e-5
    assert differences.get("trained", 0.0) < 5e-5
    assert differences.get("loss", 0.0) < 5e-5
    trains = CASES[name].train and not (ending == ".h5" and exchanged["writer"] == "pinnace")
    # Keras 3 cannot resume training from .h5 files, not even its own.
    assert ("trained" in differences) == trains
