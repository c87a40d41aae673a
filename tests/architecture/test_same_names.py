"""An op, its ONNX converter and its cases are in files of the same name and folder."""

import importlib
import json
import subprocess
import sys

import pytest

from architecture.sources import ROOT

CONVERTERS = "pinnace.deploy.onnx.converters"
# Where ops and converters are registered: the outermost module on the call stack of the registry,
# during its import. So this needs a process that has imported nothing yet.
SCRIPT = f"""
import importlib, json, pkgutil, sys

ops, converters = {{}}, {{}}

def note(frame, event, _):
    called = frame.f_globals.get("__name__"), frame.f_code.co_name
    if event != "call":
        return
    if called == ("pinnace.ops.registry", "_put"):
        names, found = [frame.f_locals["op"].name], ops
    elif called == ("{CONVERTERS}.registry", "converts"):
        names, found = frame.f_locals["names"], converters
    else:
        return
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    found.update(dict.fromkeys(names, frame.f_globals["__name__"]))

sys.setprofile(note)
for package in ("pinnace.ops", "{CONVERTERS}"):
    path = importlib.import_module(package).__path__
    for found in pkgutil.walk_packages(path, package + "."):
        importlib.import_module(found.name)
sys.setprofile(None)
print(json.dumps([ops, converters]))
"""


@pytest.fixture(scope="module")
def registered() -> tuple[dict[str, str], dict[str, str]]:
    """Op -> the file below `ops` that defines it; and the same for converters."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    ops, converters = json.loads(done.stdout)
    return below(ops, "pinnace.ops."), below(converters, f"{CONVERTERS}.")


def below(modules: dict[str, str], package: str) -> dict[str, str]:
    return {op: module.removeprefix(package) for op, module in modules.items()}


def test_a_converter_stands_in_the_file_named_like_that_of_its_op(
    registered: tuple[dict[str, str], dict[str, str]],
) -> None:
    ops, converters = registered
    assert len(converters) > 400
    wrong = {
        op: f"{file}, the op stands in {ops[op]}"
        for op, file in converters.items()
        # A single ONNX operator needs no function: it is a line of a table.
        if file != "operators" and file != ops[op]
    }
    assert not wrong


def test_cases_stand_in_the_file_named_like_that_of_their_op(
    registered: tuple[dict[str, str], dict[str, str]],
) -> None:
    ops, _ = registered
    wrong = {}
    tests = ROOT / "tests"
    for path in sorted((tests / "cases").rglob("*.py")):
        name = ".".join(path.relative_to(tests).with_suffix("").parts)
        file = name.removeprefix("cases.")
        for case in importlib.import_module(name).CASES:
            if ops[case.op] != file:
                wrong[case.op] = f"{file}, the op stands in {ops[case.op]}"
    assert not wrong
