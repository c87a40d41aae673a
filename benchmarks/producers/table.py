"""The rows as Markdown and on a terminal, beside the aims."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from harness import OURS, TENSORFLOW
from producers.paired import Loads, Row
from producers.workloads import FORESTS, KERAS, LOAD_AIM_S, OTHER_BACKEND, WORDS
from report import duration, machine, shortened
from verdicts import MET, MISSED, mark

# What a side is called in a heading.
CALLED = {
    OTHER_BACKEND: "ours, TensorFlow's export",
    TENSORFLOW: "TensorFlow",
    "onnxruntime": "ONNX Runtime",
}
TITLES = {
    KERAS: "Networks of Keras: the JAX backend's export",
    FORESTS: "Forests of ydf",
    WORDS: "Words of transformers: greedy `generate`, one row",
}
EXPLAINED = {
    KERAS: (
        "Ours is the export of Keras on JAX (`XlaCallModule`). Beside it, ours on what Keras on "
        "TensorFlow exported of the same network with the same weights, and TensorFlow on the "
        "export of JAX. The rows are the network, and how many rows it is asked for."
    ),
    FORESTS: (
        "Boosted trees of depth 6 over twenty numbers. Each side is given the columns as arrays: "
        "ours and TensorFlow the SavedModel's signature, ydf `predict` with two threads, ONNX "
        "Runtime what `pinnace export` made, a TreeEnsemble."
    ),
    WORDS: (
        "Times of one word: of a call, that generates as many words as the row says behind eight, "
        "divided by them. ONNX Runtime runs what `pinnace export` made of the same signature."
    ),
}
HOW = """
Each side runs in a process of its own, two threads each, with no `OPENBLAS_*` set, and takes turns
with the others. Its answers were equal to those of the library that wrote the model before it was
timed, and after. Each is called for about two seconds before that. Times are medians of five
rounds; a ratio is ours / theirs, formed within a round, and the median of the rounds. ✗: an aim is
missed.
""".strip()


def failed(rows: Sequence[Row]) -> list[str]:
    """Who could not, or answered wrongly."""
    return [
        shortened(f"{row.workload.name}, {side}: {error}")
        for row in rows
        for side, error in row.failures.items()
    ]


def print_rows(rows: Sequence[Row], loads: Loads | None) -> None:
    """Tables; what misses an aim is red."""
    console = Console()
    if not console.is_terminal:
        console.width = 150
    for kind in TITLES:
        chosen = [row for row in rows if row.workload.kind == kind]
        if not chosen:
            continue
        table = Table(*headings(chosen), title=TITLES[kind].replace("`", ""))
        for row in chosen:
            style = "red" if MISSED in "".join(cells(row)) else None
            table.add_row(*cells(row), style=style)
        console.print(table)
    for line in load_lines(loads):
        console.print(line)


def headings(rows: Sequence[Row]) -> list[str]:
    """Of the rows of one kind, which have the same sides."""
    sides = rows[0].workload.sides[1:]
    return ["", "ours", *(CALLED.get(side, side) for side in sides), ""]


def cells(row: Row) -> list[str]:
    """Our time; of each side its time, our ratio, and the aim."""
    ours = row.seconds(OURS)
    found = [row.workload.name, "fails" if ours is None else duration(ours)]
    marks = [MISSED] if ours is None else []
    for side in row.workload.sides[1:]:
        seconds, ratio, aim = row.seconds(side), row.ratio(side), row.workload.aims.get(side)
        if seconds is None:
            found.append("fails" if side in row.failures else "–")
            continue
        text = duration(seconds)
        if ratio is not None:
            text += f", {ratio:.2f}×"
            if aim is not None:
                text += f" (≤ {aim:g})"
                marks.append(mark(ratio, aim))
                text += f" {MISSED}" if marks[-1] == MISSED else ""
        found.append(text)
    verdict = "" if not marks else MISSED if MISSED in marks else MET
    return [*found, verdict]


def load_lines(loads: Loads | None) -> list[str]:
    """Sentences about the network with many layers."""
    if loads is None:
        return []
    found = []
    for (side, export), seconds in loads.load_s.items():
        load_s = statistics.median(seconds)
        first_s = statistics.median(loads.first_s[side, export])
        who = {OURS: "ours", TENSORFLOW: "TensorFlow"}[side]
        backend = {"model": "JAX", "other": "TensorFlow"}[export]
        text = f"Export of {backend}, {who}: loaded in {duration(load_s)}, "
        text += f"first answer after {duration(first_s)}"
        if (side, export) == (OURS, "model"):
            text += f" (aim: loaded in {LOAD_AIM_S:g} s) {mark(load_s, LOAD_AIM_S)}"
        found.append(text)
    return found


def aims(rows: Sequence[Row]) -> list[str]:
    """For each aim how many rows meet it."""
    found = []
    for kind in TITLES:
        chosen = [row for row in rows if row.workload.kind == kind]
        for side, most in chosen[0].workload.aims.items() if chosen else ():
            ratios = [ratio for row in chosen if (ratio := row.ratio(side)) is not None]
            if not ratios:
                continue
            above = sum(ratio > most for ratio in ratios) + len(chosen) - len(ratios)
            middle = statistics.median(ratios)
            name = CALLED.get(side, side)
            cell = f"{above} of {len(chosen)} miss, median {middle:.2f}, worst {max(ratios):.2f}"
            verdict = MISSED if above else MET
            found.append(f"| {TITLES[kind]} | {name} | ≤ {most:g} | {cell} | {verdict} |")
    return found


def write_markdown(
    file: Path, rows: Sequence[Row], loads: Loads | None, environment: dict[str, Any]
) -> None:
    """The tables, with where they were measured; a JSON file beside them."""
    lines = [
        "# Models of other producers",
        "",
        "Written by `make bench-producers`.",
        HOW,
        "",
        f"{environment['date']}, {machine(environment)}, load {environment['load']} at the start.",
        "",
        *(f"- {side}: {versions}" for side, versions in environment["versions"].items()),
        "",
        "| work | beside | aim | found | |",
        "|---|---|---|---|---|",
        *aims(rows),
    ]
    for kind, title in TITLES.items():
        chosen = [row for row in rows if row.workload.kind == kind]
        if not chosen:
            continue
        heads = headings(chosen)
        lines += ["", f"## {title}", "", EXPLAINED[kind], ""]
        lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        lines += [f"| {' | '.join(cells(row))} |" for row in chosen]
        if kind == KERAS and loads is not None:
            lines += ["", "A network of 100 layers, in fresh processes:", ""]
            lines += [f"- {line}" for line in load_lines(loads)]
    if failures := failed(rows):
        lines += ["", f"## {MISSED} What failed, or answered wrongly", ""]
        lines += [f"- {line}" for line in failures]
    file.write_text("\n".join(lines) + "\n")
    record = {"environment": environment, "results": [row.record() for row in rows]}
    if loads is not None:
        record["loads"] = [
            {"side": side, "export": export, "load_s": seconds, "first_s": first}
            for ((side, export), seconds), first in zip(
                loads.load_s.items(), loads.first_s.values(), strict=True
            )
        ]
    file.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
