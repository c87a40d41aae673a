"""`make lite`: pinnace's .tflite files beside TFLiteConverter's, model by model.

Every model of tests/golden/saved_models and tests/interop, the digits, and one of each family of
keras.applications, is written by both; TensorFlow's interpreter runs both files. Exits with 1 if a
file of pinnace's differs from TensorFlow, or cannot be run by it. Aims that are missed are told.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pinnace as tf  # noqa: E402 - the path is set above
from lite import eight_bits, figures  # noqa: E402
from lite.figures import Row  # noqa: E402
from lite.models import FAMILIES, Model, models  # noqa: E402
from pinnace.deploy.program.sources import Program, find_program  # noqa: E402
from pinnace.deploy.program.states import with_states  # noqa: E402
from pinnace.deploy.sampling.reference import reference  # noqa: E402
from pinnace.deploy.sampling.samples import runs_of  # noqa: E402
from pinnace.framework.errors import OpError  # noqa: E402

# Inputs that a file is compared on.
RUNS = 3


def asked_of_us(model: Model, out: Path) -> Iterator[tuple[Row, dict[str, Any] | None]]:
    """For each signature what was made here, and what is to be asked of TensorFlow."""
    for key in tf.saved_model.load(str(model.folder)).signatures:
        label = f"{model.name}/{key}"
        target = out / f"{label.replace('/', '_').replace(' ', '_')}.tflite"
        program = find_program(model.folder, key)
        job: dict[str, Any] = {"folder": str(model.folder), "key": key, "target": str(target)}
        checked, plain = (_converted(job | {"checked": checked}) for checked in (True, False))
        job["inputs"], skipped = _inputs(program, target)
        if "bytes" not in plain:
            job["target"] = ""
        job |= {"kind": "model", "name": label}
        yield Row(label, plain, checked, skipped=skipped), job


def _converted(job: dict[str, Any]) -> dict[str, Any]:
    """What a process of its own tells of a conversion."""
    command = [sys.executable, str(HERE / "ours.py"), json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            found: dict[str, Any] = json.loads(line[7:])
            return found
    sys.exit(f"compare: {job['folder']}, {job['key']} ended unawares:\n{done.stderr[-2000:]}")


def _inputs(program: Program, target: Path) -> tuple[list[str], str]:
    """Files of inputs; or why there are none."""
    if any(spec.dtype.name in {"string", "bfloat16"} for spec in program.inputs.values()):
        return [], "takes strings or bfloat16, which the interpreter's Python does not"
    if with_states(program).states:
        return [], "changes a variable, which in our file is an input"
    try:
        with reference(plain=True):
            runs = runs_of(program, None)
    except OpError as error:
        return [], str(error).splitlines()[0]
    # LiteRT takes no tensors without elements.
    runs = [run for run in runs if all(x.size for x in run.inputs)][:RUNS]
    files = [str(target.with_suffix(f".{number}.npz")) for number in range(len(runs))]
    for file, run in zip(files, runs, strict=True):
        np.savez(file, **dict(zip(program.inputs, run.inputs, strict=True)))  # type: ignore[arg-type]
    return files, ""


def asked_of_tensorflow(jobs: Sequence[dict[str, Any]], out: Path) -> dict[str, dict[str, Any]]:
    """What TensorFlow's environment tells of each job, printed as it comes."""
    file = out / "jobs.json"
    file.write_text(json.dumps(jobs))
    command = [os.environ["PINNACE_TF_PYTHON"], str(HERE / "reference.py"), str(file)]
    found: dict[str, dict[str, Any]] = {}
    with (
        (out / "stderr").open("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as running,
    ):
        for line in running.stdout or ():
            if line.startswith("RESULT "):
                one = json.loads(line[7:])
                found[one.pop("name")] = one
                print(f"TensorFlow {len(found)}/{len(jobs)} {_short(line[7:])}", flush=True)
        running.wait()
        errors.seek(0)
        if len(found) < len(jobs):
            sys.exit(f"compare: TensorFlow's environment failed:\n{errors.read()[-2000:]}")
    return found


def _short(line: str) -> str:
    return line.strip() if len(line) < 160 else f"{line[:157]}..."


def main() -> int:
    """Compare all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--only", nargs="*", help="models whose names begin so; writes no table")
    parser.add_argument("--out", type=Path, help="write the table here")
    given = parser.parse_args()
    if not os.environ.get("PINNACE_TF_PYTHON"):
        sys.exit("compare: PINNACE_TF_PYTHON must name a Python with TensorFlow; run `make lite`")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        rows: dict[str, Row] = {}
        jobs = []
        begins = ("",) if given.only is None else tuple(given.only)
        families = [one for one in given.families if one.startswith(begins)]
        for model in models(out, families):
            if not model.name.startswith(begins):
                continue
            for row, job in asked_of_us(model, out):
                rows[row.name] = row
                jobs.append(job)
                print(f"pinnace {len(rows)} {row.name}: {_short(str(row.checked))}", flush=True)
        ours = [] if given.only is not None else eight_bits.jobs(out)
        answers = asked_of_tensorflow([*jobs, *ours], out)
    for job in jobs:
        row = rows[job["name"]]
        rows[row.name] = Row(row.name, row.plain, row.checked, answers[row.name], row.skipped)
    found = list(rows.values())
    text = figures.text(found, {job["name"]: answers[job["name"]] for job in ours})
    print(text)
    if given.out is not None and given.only is None:
        given.out.write_text(text)
    faults = [f"{row.name}: {row.fault()}" for row in found if row.fault()]
    for fault in faults:
        print(f"FAULT {fault}")
    print(f"{len(rows)} signatures, {time.monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
