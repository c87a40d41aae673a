"""`make lite`: pinnace's .tflite files beside TFLiteConverter's, model by model.

Every model of tests/golden/saved_models, and one of each family of keras.applications, is written
by both; TensorFlow's interpreter runs both files. Exits with 1 if a file of pinnace's differs from
TensorFlow, or cannot be run by it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pinnace as tf
from pinnace.deploy import lite
from pinnace.deploy.program.sources import find_program
from pinnace.deploy.program.states import with_states
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import runs_of
from pinnace.framework.errors import OpError

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = (
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "DenseNet121",
    "NASNetMobile",
    "ResNet50",
    "ResNet50V2",
    "Xception",
    "InceptionV3",
    "ConvNeXtTiny",
    "InceptionResNetV2",
    "VGG16",
)
SIZE = 96
# Of an output's largest value, between TensorFlow and a file.
ALLOWED = 1e-4
HEAD = (
    "| model | ours (bytes) | TFLiteConverter's | size ratio | time ratio | our difference | "
    "its difference | our seconds, with checks | its seconds |"
)
SAID = (
    "Of {all} that TFLiteConverter writes and runs without flex, pinnace writes {both}; {larger} "
    "are more than 1.02 times as large."
)


def models(folder: Path, families: list[str]) -> Iterator[tuple[str, Path]]:
    """Name and folder of each SavedModel."""
    for file in sorted((ROOT / "tests" / "golden" / "saved_models").glob("*/model")):
        yield file.parent.name, file
    yield "digits", ROOT / "models" / "digits" / "1"
    for name in families:
        make = getattr(tf.keras.applications, name)
        tf.keras.utils.set_random_seed(1)
        options = {"include_top": False, "pooling": "avg"} if name == "VGG16" else {}
        model = make(weights=None, input_shape=(SIZE, SIZE, 3), **options)
        target = folder / name
        model.export(str(target))
        yield name, target


def written(name: str, folder: Path, out: Path) -> Iterator[dict[str, Any]]:
    """A job for each signature: what was made here, and what is asked of TensorFlow."""
    for key in tf.saved_model.load(str(folder)).signatures:
        label = f"{name}/{key}"
        job: dict[str, Any] = {"name": label, "folder": str(folder), "key": key, "ours": ""}
        target = out / f"{label.replace('/', '_')}.tflite"
        began = time.perf_counter()
        try:
            report = lite.export(folder, target, signature=key)
            job |= {"ours": str(target), "our_bytes": report.file_bytes}
        except OpError as error:
            job["our_refusal"] = str(error).splitlines()[0][:150]
        job["our_seconds"] = time.perf_counter() - began
        try:
            program = find_program(folder, key)
            with reference(plain=True):
                run = runs_of(program, None)[0]
        except OpError as error:
            job["no_inputs"] = str(error).splitlines()[0]
            continue
        feeds = dict(zip(program.inputs, run.inputs, strict=True))
        if any(array.dtype.kind not in "biuf" for array in feeds.values()):
            continue  # strings, which neither writes; bfloat16, which that interpreter refuses
        if with_states(program).states:
            continue  # here what a variable holds is an input
        job["inputs"] = str(target.with_suffix(".npz"))
        np.savez(job["inputs"], **feeds)
        yield job


def asked(jobs: list[dict[str, Any]], out: Path) -> dict[str, dict[str, Any]]:
    """What TensorFlow's environment says of each job."""
    python = os.environ.get("PINNACE_TF_PYTHON")
    if not python:
        sys.exit("compare: PINNACE_TF_PYTHON must name a Python with TensorFlow; run `make lite`")
    file = out / "jobs.json"
    file.write_text(json.dumps(jobs))
    command = [python, str(Path(__file__).with_name("reference.py")), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    found = {one["name"]: one for one in (json.loads(line[7:]) for line in lines)}
    if not found:
        sys.exit(f"compare: TensorFlow's environment failed:\n{done.stderr[-2000:]}")
    return found


def row(job: dict[str, Any], theirs: dict[str, Any]) -> str:
    """A line of the table."""
    ours, other = job.get("our_bytes"), theirs.get("bytes")
    size = "" if not ours or not other else f"{ours / other:.3f}"
    pace = ""
    if theirs.get("run_s") and theirs.get("our_run_s"):
        pace = f"{theirs['our_run_s'] / theirs['run_s']:.2f}"
    return (
        f"| {job['name']} | {ours or job.get('our_refusal', '')} | "
        f"{other or theirs.get('refusal', '')} | {size} | {pace} | "
        f"{theirs.get('our_gap', float('nan')):.1e} | {theirs.get('gap', float('nan')):.1e} | "
        f"{job['our_seconds']:.1f} | {theirs.get('seconds', float('nan')):.1f} |"
    )


def main() -> int:
    """Compare all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--out", type=Path, help="write the table here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        jobs = [
            job
            for name, folder in models(out, given.families)
            for job in written(name, folder, out)
        ]
        answers = asked(jobs, out)
    lines = [
        HEAD,
        "|---|---|---|---|---|---|---|---|---|",
    ]
    faults = []
    both = theirs_alone = larger = 0
    for job in jobs:
        answer = answers.get(job["name"], {"broken": "no answer"})
        lines.append(row(job, answer))
        if "bytes" in answer and "error" not in answer:
            both += "our_bytes" in job
            theirs_alone += "our_bytes" not in job
            larger += "our_bytes" in job and job["our_bytes"] > 1.02 * answer["bytes"]
        if job["ours"] and not answer.get("our_gap", float("inf")) <= ALLOWED:
            said = answer.get("our_error", answer.get("broken", answer.get("our_gap")))
            faults.append(f"{job['name']}: {said}")
    lines += [
        "",
        SAID.format(all=both + theirs_alone, both=both, larger=larger),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text)
    for fault in faults:
        print(f"differs: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
