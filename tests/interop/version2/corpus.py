"""Typical SavedModels of TensorFlow 2: written, loaded, run, saved again, run again.

`make interop` runs this and prints a table. TensorFlow, Keras 2 and Keras 3 write each model of
`programs/` and record its results; it is inspected, loaded and run here, saved again, and loaded by
TensorFlow. `load_model` restores the layers of Keras 2 folders, with equal results, or says why
not. The prediction of `pinnace show` must be right. Exits with 1 if less than 95 % load and run, or
another is not refused by name.

    python tests/interop/version2/corpus.py [--only PREFIX ...] [--keep FOLDER]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import numpy as np  # noqa: E402 - the path is set above

from pinnace import keras, saved_model  # noqa: E402 - the path is set above
from pinnace.framework.errors import OpError  # noqa: E402
from pinnace.keras.saving.restored_models import RestoredModel  # noqa: E402
from pinnace.saved_model.inspection import inspect  # noqa: E402
from support.recorded import largest_difference, recorded_calls  # noqa: E402

# Another order of summation, in a few layers.
TOLERANCE = 5e-6
WANTED = 0.95
# Parts that TensorFlow does not find in re-saved models; saving warns about them.
LIMITS = {"tables/dense_table": "a dense table is stored as TensorFlow hashes"}


@dataclass
class Row:
    """The results for one model."""

    name: str
    bytes: int = 0
    said: str = ""  # the prediction of `show`
    happened: str = ""  # why it did not load or run
    largest: float = 0.0
    again: str = ""
    layers: str = ""  # `ok` if load_model restores layers, else why not; empty without Keras 2

    @property
    def outcome(self) -> str:
        """`ok`, `refused` by name as predicted, or `FAIL`."""
        if not self.happened:
            return "FAIL" if self.said else "ok"
        return "refused" if self.said and told_alike(self.said, self.happened) else "FAIL"


def told_alike(said: str, happened: str) -> bool:
    """Whether a refusal agrees with the prediction: the same ops, or the same words."""
    if said == happened:
        return True
    names = [text.partition("no kernel for ")[2].partition(" (")[0] for text in (said, happened)]
    return bool(names[1]) and set(names[1].split(", ")) <= set(names[0].split(", "))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path, default=None)
    chosen = parser.parse_args()
    python, keras2 = os.environ.get("PINNACE_TF_PYTHON"), os.environ.get("PINNACE_KERAS2")
    if not python or not keras2:
        sys.stderr.write("PINNACE_TF_PYTHON and PINNACE_KERAS2 are not set. Try: make interop\n")
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        out = chosen.keep or Path(scratch, "written")
        written = ask(python, keras2, "write.py", str(out.absolute()), *chosen.only)
        failed = {name: said["error"] for name, said in written.items() if "error" in said}
        again = Path(scratch, "again")
        rows = [
            look_at(name, out / name, again / name, said["bytes"])
            for name, said in written.items()
            if name not in failed
        ]
        answers = ask(python, keras2, "check.py", str(again))
    for row in rows:
        if row.outcome == "ok" and row.name not in LIMITS:
            found = answers.get(row.name, {"error": "no answer"})
            row.again = found.get("error", "")
            if not row.again and found["largest"] > TOLERANCE:
                row.again = f"largest difference {found['largest']:.3g}"
    return report(rows, failed, time.monotonic() - started)


def ask(python: str, keras2: str, program: str, *arguments: str) -> dict[str, dict[str, Any]]:
    """The results of a program of `programs/`, by the name of the model."""
    done = subprocess.run(
        [python, str(HERE / "programs" / program), *arguments],
        env={**os.environ, "PYTHONPATH": keras2},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    lines = (json.loads(line[5:]) for line in done.stdout.splitlines() if line[:5] == "CASE ")
    return {one["name"]: one for one in lines}


def look_at(name: str, folder: Path, again: Path, size: int) -> Row:
    """Inspect, load, run and save again."""
    row = Row(name, size)
    report = inspect(folder / "model")
    problems = [text for one in report.signatures for text in one.problems]
    row.said = report.load_error or next(iter(problems), "")
    try:
        loaded = saved_model.load(folder / "model")
        row.largest = largest_difference(loaded, folder / "io.npz")
        if row.largest > TOLERANCE:
            row.happened = f"largest difference {row.largest:.3g}"
            return row
        if (folder / "model" / "keras_metadata.pb").exists():
            row.layers, apart = by_layers(folder)
            if apart > TOLERANCE:
                row.happened = f"its layers: largest difference {apart:.3g}"
                return row
        if recorded_calls(folder / "io.npz") or not loaded.signatures:
            save_again(folder, again)
    except OpError as error:
        row.happened = error.message
    except Exception as error:  # not a refusal by name: printed, and counted as a failure
        row.happened = f"{type(error).__name__}: {error}"
    return row


def by_layers(folder: Path) -> tuple[str, float]:
    """Whether `load_model` restores the layers, or why not; the difference of their outputs."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = keras.models.load_model(folder / "model", compile=False)
    if isinstance(model, RestoredModel):
        return str(said[-1].message).rpartition("layers: ")[2] if said else "a subclass", 0.0
    worst = 0.0
    for signature, inputs, outputs in recorded_calls(folder / "io.npz"):
        if signature != "serving_default" or len(outputs) != 1:
            continue
        found = model(next(iter(inputs.values())) if len(inputs) == 1 else inputs)
        got, wanted = np.asarray(found), next(iter(outputs.values()))
        if wanted.dtype.kind in "fc":
            worst = max(worst, float(np.abs(got - wanted).max()))
        else:
            assert (got == wanted).all(), signature
    return "ok", worst


def save_again(folder: Path, again: Path) -> None:
    """Save a fresh copy, since calls may have changed the other one."""
    loaded = saved_model.load(folder / "model")
    signatures = dict(loaded.signatures) or None
    if not hasattr(loaded, "_trackable_children") or callable(loaded):
        saved_model.save(loaded, again / "model", signatures=signatures)
    else:
        saved_model.save(loaded, again / "model")
    shutil.copy(folder / "io.npz", again)


def report(rows: list[Row], failed: dict[str, str], seconds: float) -> int:
    """Print the table; returns the exit code."""
    out = sys.stdout.write
    out(f"{'model':<46}{'bytes':>10}{'here':>9}{'largest':>11}{'again':>8}\n")
    for row in rows:
        again = "" if row.outcome != "ok" else ("FAIL" if row.again else "ok")
        again = "limit" if row.name in LIMITS else again
        out(f"{row.name:<46}{row.bytes:>10,}{row.outcome:>9}{row.largest:>11.2g}{again:>8}\n")
    for row in rows:
        if row.outcome != "ok":
            out(f"{row.outcome} {row.name}: {row.happened[:600]}\n")
            if row.outcome == "FAIL":
                out(f"  said beforehand: {row.said[:600] or 'that it runs'}\n")
        if row.again:
            out(f"FAIL {row.name}, saved again: {row.again[:600]}\n")
    told = [row for row in rows if row.layers]
    for row in told:
        if row.layers != "ok":
            out(f"by its functions {row.name}: {row.layers[:200]}\n")
    revived = sum(row.layers == "ok" for row in told)
    out(f"{revived} of {len(told)} folders of Keras 2 come back as models of layers\n")
    for name, why in LIMITS.items():
        out(f"limit {name}, saved again: {why}\n")
    for name, error in failed.items():
        out(f"FAIL {name}: TensorFlow does not write it: {error[:300]}\n")
    good = sum(row.outcome == "ok" for row in rows)
    refused = sum(row.outcome == "refused" for row in rows)
    bad = len(rows) - good - refused + len(failed) + sum(bool(row.again) for row in rows)
    share = good / len(rows) if rows else 0.0
    out(
        f"{good} of {len(rows)} models load and run ({share:.0%}, wanted {WANTED:.0%}), "
        f"{refused} refused by name, {bad} failures, {seconds:.0f} s\n"
    )
    return 1 if bad or share < WANTED else 0


if __name__ == "__main__":
    sys.exit(main())
