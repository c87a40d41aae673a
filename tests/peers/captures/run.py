"""`make peer-exports`: tf2onnx's own tests as SavedModels with TensorFlow's results, exported here.

TensorFlow's interpreter runs its tests, one module after the other, each in a process that is
restarted after a test that ends it. Their cases are kept in the cache folder; each run of this
program exports all of them again. With words, only tests whose names contain one of them.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

from peers.captures.cases import SETTINGS, read
from peers.captures.checking import Verdict, check
from peers.guide import hold

COMMAND = "make peer-exports"
OPEN = ".open"  # suffix of cases with unknown sizes
_log = logging.getLogger("captures")
_AGAIN = 12  # number of processes for a module
_SILENT_S = 600  # a process that captures nothing for this many seconds is ended
# The modules of tf2onnx's tests that convert a function or a model; some need Keras 2.
MODULES = {
    "test_backend": ("operators", "functions", False),
    "test_cond": ("conditions", "functions", True),
    "test_loops": ("loops", "functions", True),
    "test_const_fold": ("constants", "functions", True),
    "test_string_ops": ("strings", "functions", True),
    "test_gru": ("GRU", "functions", True),
    "test_lstm": ("LSTM", "functions", True),
    "test_stacked_lstm": ("stacked LSTM", "functions", True),
    "test_custom_rnncell": ("cells of one's own", "functions", True),
    "keras2": ("layers of Keras 2", "layers", True),
    "keras3": ("layers of Keras 3", "layers", False),
}
# Results that are no fault of a file.
FAULTLESS = {
    "test_batchnorm_mixed": "some of its outputs are memory that TensorFlow does not set",
    "test_pow": "TensorFlow's optimiser makes a square of it, without the shape of the exponent",
}


def _environment(tests: Path, keras2: Path) -> dict[str, str]:
    """The environment for TensorFlow's interpreter: paths of tests, dependencies and programs."""
    source = tests.resolve() / "source"
    own = Path(__file__).resolve().parents[2]
    path = [own, source, source / "tests", tests.resolve(), keras2.resolve()]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "TF2ONNX_TESTS": str(source / "tests"),
        # With oneDNN a convolution of an empty batch keeps the size of its images.
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def capture(
    python: str, environment: dict[str, str], cases: Path, limit: int, words: list[str]
) -> bool:
    """Run the tests that have not been run; returns whether all modules are complete."""
    is_whole = True
    # A word that names modules excludes the others.
    named = [module for module in MODULES if any(module in word for word in words)]
    for module, (_, kind, is_legacy) in MODULES.items():
        if named and module not in named:
            continue
        log = cases.parent / f"{module}.log"
        for _ in range(_AGAIN):
            if _is_finished(log, words):
                break
            _log.info("%s: TensorFlow runs the tests", module)
            command = [python, "-m", f"peers.captures.{kind}", module, str(cases), str(limit)]
            keras = {"TF_USE_LEGACY_KERAS": str(int(is_legacy))}
            _child([*command, *words], {**environment, **keras}, log)
        is_whole &= _is_finished(log, [])
    return is_whole


def _rows(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _is_finished(log: Path, words: list[str]) -> bool:
    """Whether a process reached the end of the module; of a part only whether it once did."""
    return any("finished" in row and row["words"] in ([], words) for row in _rows(log))


def _child(command: list[str], environment: dict[str, str], log: Path) -> None:
    """Run a process until it ends, or captures nothing for too long."""
    with log.with_suffix(".out").open("w") as out:
        child = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        said, since = -1, time.monotonic()
        while child.poll() is None:
            time.sleep(1)
            size = log.stat().st_size if log.exists() else 0
            if size != said:
                said, since = size, time.monotonic()
            elif time.monotonic() - since > _SILENT_S:
                child.kill()
        child.wait()


def module_of(case: str) -> str:
    return case.split(".")[0]


def export_all(cases: Path, words: list[str]) -> tuple[list[Verdict], list[str]]:
    """Export and compare each case, with progress; also returns cases that TensorFlow refuses."""
    verdicts, unanswered = [], []
    file = cases.parent / "now.onnx"
    folders = [path.parent for path in cases.glob(f"*/{SETTINGS}")]
    # The tests' own cases first, then those with unknown sizes.
    folders.sort(key=lambda folder: (folder.name.endswith(OPEN), folder.name))
    with (cases.parent / "verdicts.jsonl").open("w") as out:
        for folder in folders:
            if words and not any(word in folder.name for word in words):
                continue
            case = read(folder)
            if not case.feeds:
                unanswered.append(case.name)
                continue
            verdict = check(case, file)
            verdicts.append(verdict)
            out.write(json.dumps(asdict(verdict)) + "\n")
            out.flush()
            if verdict.kind != "right" or verdict.loaded:
                _log.info("%s: %s %s", verdict.case, verdict.kind, verdict.loaded)
    return verdicts, unanswered


def _first(reason: str) -> str:
    """The line of a refusal that names the unsupported op."""
    lines = [line.strip() for line in reason.splitlines()]
    line = lines[0]
    if "cannot be written in ONNX" in line and len(lines) > 1:
        line = re.sub(r" \(\d+ nodes?\)", "", lines[1])
    line = line.removeprefix("export: ")
    return re.sub(r"'[^']*[/_][^']*'", "a value", line).replace("|", "/")


def _is_faultless(verdict: Verdict) -> bool:
    return any(f".{name}." in verdict.case for name in FAULTLESS)


def table(verdicts: list[Verdict]) -> list[str]:
    """The table of the guide, and each case that is not right."""
    titles = (
        "| tests of | cases | right | of these with `sample=` | at opset 21 | draws, by shape "
        "| refused, or not run | wrong |"
    )
    lines = [titles, "|---" * (titles.count("|") - 1) + "|"]
    total = [0] * 7
    for module, (title, _, _) in MODULES.items():
        own = [v for v in verdicts if module_of(v.case) == module and not v.case.endswith(OPEN)]
        row = _row(own)
        total = [a + b for a, b in zip(total, row, strict=True)]
        if own:
            lines.append(f"| {title} | {' | '.join(map(str, row))} |")
    lines.append(f"| all | {' | '.join(map(str, total))} |")
    lines += ["", *_rest([v for v in verdicts if not v.case.endswith(OPEN)])]
    unknown = [v for v in verdicts if v.case.endswith(OPEN)]
    again = _row(unknown)
    said = (
        f"{again[1]} of {len(unknown)} are right, {again[4]} draw and are by shape, "
        f"{again[5]} are refused, {again[6]} are wrong"
    )
    changed = [(v, kind, said) for v in verdicts for kind, said in v.sizes.items()]
    full = [row for row in changed if row[1] != "no row"]
    hollow = [row for row in changed if row[1] == "no row"]
    loaded = [v for v in verdicts if v.loaded and not _is_faultless(v)]
    lines += [
        "",
        f"Loaded here, {len(verdicts) - len(loaded)} of {len(verdicts)} agree{_end(loaded)}",
        *(f"- `{_test(v)}`: {_cell(v.loaded)}" for v in loaded),
        "",
        f"Functions again with all sizes unknown: {said}.",
        "",
        f"Inputs of other sizes, asked of files that were written: {_sizes(full)}",
        *_differing(full),
        "",
        f"Inputs without rows: {_sizes(hollow)}",
        *_differing(hollow),
    ]
    return lines


def _test(verdict: Verdict) -> str:
    """The name of a case without its module, class and number."""
    parts = verdict.case.removesuffix(OPEN).split(".")
    return next(part for part in parts if part.startswith("test_") and part not in MODULES)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")[:160]


def _differing(rows: list[tuple[Verdict, str, str]]) -> list[str]:
    """A line for each input for which a file gives other results."""
    return [
        f"- `{_test(v)}`, {kind}: {_cell(said)}{_excuse(v)}"
        for v, kind, said in rows
        if _is_other(said)
    ]


def _excuse(verdict: Verdict) -> str:
    found = [why for name, why in FAULTLESS.items() if f".{name}." in verdict.case]
    return f" ({found[0]})" if found else ""


def _is_other(said: str) -> bool:
    return not said.startswith(("same", "close", "fails"))


def _row(verdicts: list[Verdict]) -> list[int]:
    right = [v for v in verdicts if v.kind in {"right", "close"} and "shape" not in v.way]
    return [
        len(verdicts),
        len(right),
        sum("sample" in v.way for v in right),
        sum("opset" in v.way for v in right),
        sum(v.kind == "right" and "shape" in v.way for v in verdicts),
        sum(v.kind in {"refused", "not run"} for v in verdicts),
        sum(v.kind == "wrong" and not _is_faultless(v) for v in verdicts),
    ]


def _sizes(rows: list[tuple[Verdict, str, str]]) -> str:
    fails = sum(said.startswith("fails") for _, _, said in rows)
    differ = sum(_is_other(said) for _, _, said in rows)
    return (
        f"{len(rows) - fails - differ} of {len(rows)} give TensorFlow's answers, {fails} are not "
        f"run by ONNX Runtime, {differ} differ{_end(differ)}"
    )


def _end(what: object) -> str:
    """The end of a sentence that a list may follow."""
    return ":" if what else "."


def _rest(verdicts: list[Verdict]) -> list[str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.kind == "right":
            continue
        if _is_faultless(verdict):
            reason = next(why for name, why in FAULTLESS.items() if f".{name}." in verdict.case)
        else:
            reason = _first(verdict.reason) + " (rounding)" * (verdict.kind == "close")
        groups[reason].append(_test(verdict))
    return [
        f"- {reason}: {', '.join(f'`{test}`' for test in dict.fromkeys(tests))}"
        for reason, tests in sorted(groups.items())
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of names of tests; none is all")
    parser.add_argument("--tensorflow", help="its interpreter")
    parser.add_argument("--tests", type=Path, help="folder with tf2onnx's source, and its tools")
    parser.add_argument("--keras2", type=Path, help="folder of Keras 2")
    parser.add_argument("--cases", type=Path, required=True, help="folder of what is captured")
    parser.add_argument("--limit", type=int, default=40, help="cases of one test")
    parser.add_argument("--captured", action="store_true", help="capture nothing further")
    found = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.getLogger("pinnace").setLevel(logging.ERROR)
    cases = found.cases.resolve()
    cases.mkdir(parents=True, exist_ok=True)
    is_whole = found.captured or capture(
        found.tensorflow, _environment(found.tests, found.keras2), cases, found.limit, found.words
    )
    verdicts, unanswered = export_all(cases, found.words)
    lines = table(verdicts)
    if unanswered:
        names = ", ".join(f"`{name}`" for name in unanswered)
        lines += ["", f"Left out, since TensorFlow does not answer them on a processor: {names}"]
    _log.info("\n".join(lines))
    if found.words or not is_whole:
        _log.info("a part of the tests: the guide stays as it is")
    else:
        hold("tf2onnx.md", "captures", lines, COMMAND)
    wrong = [v for v in verdicts if v.kind == "wrong" and not _is_faultless(v)] + [
        v
        for v in verdicts
        for kind, said in v.sizes.items()
        if kind != "no row" and _is_other(said) and not _is_faultless(v)
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
