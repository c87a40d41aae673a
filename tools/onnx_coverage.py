"""Which ops become ONNX: onnx_coverage.md of `make pages`, from runs of the cases.

Every op that has a converter is exported as its cases in tests/cases have it, run in ONNX Runtime
and compared with the kernel; the table says what came of it.
"""

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Ops in ONNX

What `pinnace export` makes of every op. Written by `make pages`, which exports the cases of
tests/cases and runs them in ONNX Runtime.

- **opset**: the first that has all the operators it needs.
- **constants**: the arguments that must be known when the file is written.
- **ran**: ONNX Runtime gave what the kernel gives, with a model that knows of its inputs `ranks`
  alone, or only with known `sizes`, or with `first argument` fed and the others constant. `-`: no
  case of the op ran, since it is nothing outside of a function (control flow, lists, variables).
"""
# How a case is tried, the most general first: (word, whether sizes are known, all constant).
WAYS = (("ranks", False, False), ("sizes", True, False), ("first argument", True, True))
EXAMPLES = 20


def page() -> str:
    """The whole document."""
    sys.path.insert(0, str(ROOT / "tests"))
    _load_ops()
    registry = importlib.import_module("pinnace.deploy.onnx.converters.registry")
    unsupported = importlib.import_module("pinnace.deploy.onnx.converters.unsupported")
    registered = importlib.import_module("pinnace.ops.registry").registered()
    cases = _cases()
    rows: dict[str, list[str]] = {}
    ran = converted = 0
    for name, converter in registry.converters().items():
        if name not in registered:
            continue
        module = converter.function.__module__.removeprefix("pinnace.deploy.onnx.converters.")
        way = _best_way(cases.get(name, ()))
        converted += 1
        ran += way != "-"
        constants = ", ".join(f"`{argument}`" for argument in converter.constants)
        row = f"| {name} | {converter.since} | {constants} | {way} |"
        rows.setdefault(module.replace(".", "/"), []).append(row)
    refused: dict[str, list[str]] = {}
    for name, reason in sorted(unsupported.NO_ONNX.items()):
        if name in registered:
            refused.setdefault(reason, []).append(name)
    count = sum(map(len, refused.values()))
    parts = [
        HEAD,
        f"{converted} of {converted + count} ops are converted; cases of {ran} ran.\n",
        *(_section(family, rows[family]) for family in sorted(rows)),
        "## Not converted\n",
        "| ops | why |\n|---|---|",
        *(f"| {', '.join(names)} | {reason} |" for reason, names in sorted(refused.items())),
    ]
    return "\n".join(parts) + "\n"


def _section(family: str, rows: list[str]) -> str:
    lines = "\n".join(rows)
    return f"## {family}\n\n| op | opset | constants | ran |\n|---|---|---|---|\n{lines}\n"


def _load_ops() -> None:
    package = importlib.import_module("pinnace.ops")
    for found in pkgutil.walk_packages(package.__path__, "pinnace.ops."):
        importlib.import_module(found.name)


def _cases() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for case in importlib.import_module("support.opcase").all_cases():
        found.setdefault(case.op, []).append(case)
    return found


def _best_way(cases: Any) -> str:
    """The most general of WAYS in which an example of the cases ran."""
    words = [word for word, _, _ in WAYS]
    best = len(words)
    for case in cases:
        best = min(best, _tried(case, best))
        if best == 0:
            break
    return words[best] if best < len(words) else "-"


def _tried(case: Any, best: int) -> int:
    """The number of the first way in which an example ran, below `best`; else `best`."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    from pinnace.framework.errors import OpError

    opcase = importlib.import_module("support.opcase")
    runs = importlib.import_module("unit.deploy.onnx.case_runs")

    # The same examples every time.
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def attempt(data: st.DataObject) -> None:
        nonlocal best
        xs, attrs = case.draw(data)
        if best == 0:
            return
        kinds = {kind.name: kind for kind in case.float_dtypes() if not kind.is_complex}
        kind = kinds.get("float32") or next(iter(kinds.values()), None)
        if kind is None:
            return
        xs = opcase.in_dtype(xs, kind)
        try:
            wanted = opcase.run(case, xs, attrs)
        except OpError:
            return
        for number, (_, sizes_known, all_constant) in enumerate(WAYS[:best]):
            fixed = set(range(1, len(xs))) if all_constant else runs.structural(case, xs)
            how = {"sizes_known": sizes_known, "constants": fixed}
            if runs.runs_as_the_kernel(case, xs, attrs, wanted, **how):
                best = number
                break

    attempt()
    return best
