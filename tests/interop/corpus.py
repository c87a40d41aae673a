"""The round trip of the corpus: `make interop` runs this and prints a table.

Every model that TensorFlow wrote is loaded and run here, saved again, and run by TensorFlow in
every way; so is every model of `made_here.py`. Exits with 1 if one has a fault.

    python tests/interop/corpus.py [--paths v2,v1,c,lite,resave] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from interop import made_here  # noqa: E402 - the path is set above
from pinnace import saved_model  # noqa: E402
from support import corpus  # noqa: E402
from support.recorded import largest_difference  # noqa: E402

# TensorFlow against TensorFlow: other kernels, another order of summation.
TOLERANCE = 1e-5
_NUMBER = re.compile(r"largest difference ([0-9.e+-]+)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", default="v2,v1,c,lite,resave")
    parser.add_argument("--only", nargs="*", default=None)
    chosen = parser.parse_args()
    paths = [path for path in chosen.paths.split(",") if path]
    python = os.environ.get("PINNACE_TF_PYTHON")
    if not python:
        sys.stderr.write("PINNACE_TF_PYTHON is not set. Try: make interop\n")
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        rows, works = prepare(Path(scratch), paths, chosen.only)
        listed = Path(scratch, "work.json")
        listed.write_text(json.dumps(works))
        command = [python, str(TESTS / "tools" / "tf_corpus.py"), str(listed)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            answer = json.loads(line[7:])
            rows[answer["name"]][answer["path"]] = answer
    return report(rows, paths, time.monotonic() - started, done.returncode)


def prepare(
    scratch: Path, paths: list[str], only: list[str] | None
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Run the models here, and collect the work for TensorFlow."""
    rows: dict[str, dict[str, Any]] = {}
    works: list[dict[str, Any]] = []
    for name, tolerance in corpus.TOLERANCE.items():
        if only and name not in only:
            continue
        row = rows[name] = {"refused": corpus.LITE_REFUSES.get(name)}
        io, again = corpus.GOLDEN / name / "io.npz", scratch / name
        for path, folder in (("here", corpus.GOLDEN / name / "model"), ("again", again)):
            try:
                model = saved_model.load(folder)
                worst = largest_difference(model, io)
                detail = f"largest difference {worst:.3g}"
                row[path] = {"ok": worst <= tolerance, "detail": detail}
                if path == "here":
                    saved_model.save(saved_model.load(folder), again)
            except Exception as error:
                row[path] = {"ok": False, "detail": f"{type(error).__name__}: {error}"}
        works.append(work(name, again, io, paths))
    for name in made_here.MODELS:
        shown = f"ours: {name}"
        if only and name not in only:
            continue
        row = rows[shown] = {"refused": made_here.LITE_REFUSES.get(name)}
        try:
            model_folder, io = made_here.write(name, scratch / "ours" / name)
            worst = largest_difference(saved_model.load(model_folder), io)
            row["here"] = {"ok": worst == 0, "detail": f"largest difference {worst:.3g}"}
            works.append(work(shown, model_folder, io, paths))
        except Exception as error:
            row["here"] = {"ok": False, "detail": f"{type(error).__name__}: {error}"}
    return rows, works


def work(name: str, model: Path, io: Path, paths: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "model": str(model),
        "io": str(io),
        "paths": paths,
        "atol": TOLERANCE,
        "rtol": TOLERANCE,
    }


def report(rows: dict[str, dict[str, Any]], paths: list[str], seconds: float, code: int) -> int:
    """Print the table and the failures; returns the exit code."""
    columns = ["here", "again", *paths]
    out = sys.stdout.write
    out(f"{'model':<26}" + "".join(f"{one:>10}" for one in columns) + f"{'largest':>12}\n")
    problems: list[str] = []
    failed = set()
    for name, row in rows.items():
        largest = 0.0
        out(f"{name:<26}")
        for path in columns:
            found = row.get(path) or {"ok": False, "detail": "no answer"}
            number = _NUMBER.search(found["detail"])
            largest = max(largest, float(number[1]) if number else 0.0)
            said = cell(name, row, path, found)
            out(f"{said:>10}")
            if said == "FAIL":
                failed.add(name)
                problems.append(f"FAIL {name}, {path}: {found['detail'][:900]}\n")
        out(f"{largest:>12.3g}\n")
    out("".join(problems))
    if "lite" in paths:
        out("limit: TFLite's converter has no kernel for an op of the model:\n")
        refused = {name: row["refused"] for name, row in rows.items() if row["refused"]}
        out("".join(f"  {name}: {why}\n" for name, why in refused.items()))
    out(f"{len(rows) - len(failed)} of {len(rows)} models passed, {seconds:.0f} s\n")
    return 1 if code or failed else 0


def cell(name: str, row: dict[str, Any], path: str, found: dict[str, Any]) -> str:
    if path == "again" and name.startswith("ours"):
        return ""
    if found["ok"]:
        return "ok"
    known = path == "lite" and row["refused"] and "ConverterError" in found["detail"]
    return "limit" if known else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
