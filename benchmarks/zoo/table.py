"""The zoo's rows as Markdown and on a terminal, and what its aims come to."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from harness import OURS, TENSORFLOW, quartile
from report import duration, machine, shortened
from verdicts import MET, MISSED, best_peer, mark
from zoo.paired import ONNXRUNTIME, Row
from zoo.workloads import INFERENCE, TRAINING

COLUMNS = {
    "first call": "first_s",
    "at 1 s": "at_one_s",
    "settled": "settled_s",
    "CPU": "cpu_s",
}
HEADINGS = ("work", "batch", *COLUMNS, "empty machine", "TensorFlow", "ONNX Runtime", "")
EXPLAINED = """
Each library runs in a process of its own, two threads each, with no `OPENBLAS_*` set, and takes
turns with the others; a result was right before it was timed, and still after it settled. Inference
is of SavedModels that TensorFlow wrote: pinnace and TensorFlow load the same files, ONNX Runtime
what `pinnace export` made of them. Training is one program, run by either library, from the same
weights, with Adam.

- *first call*: from opening the file, or building the model, to the first answer; imports are done.
  A second batch follows in the same process: the file is opened again.
- *at 1 s*: a call a second after the first answer. Ours are of a process for each row, whose cache
  folder is empty, as in a new container; so is *empty machine*: the second call, and a call a
  second after the first, as multiples of the settled time.
- *settled*: after two seconds and forty calls. Lower quartiles; a ratio is formed within a round,
  and the median of the rounds.
- *CPU*: processor time of a settled call, of all threads.

The first four are ours, and the ratio of ours to the best peer's in that column; the last two are
the peers' settled times, and ours as a ratio of them. ✗: slower than the best peer.
""".strip()
SPECIAL = """
Odd sizes are multiples of nothing. *Fixed batch* trains on the same rows until gradients are tiny,
and both sides settle for eight seconds; *changing batches* asks for 1 to 32 rows in turn; *long
run* is settled after thirty seconds; *neighbours* has a busy process beside it for each core.
""".strip()


@dataclass(frozen=True)
class Aim:
    """An aim for the whole zoo, as it was set.

    Attributes:
        text: its words.
        peer: against whom.
        column: of which times.
        median: whether the median must be at most `most`, or each row.
        most: the ratio.
        kind: of the rows it is for; empty for all that have the peer.
    """

    text: str
    peer: str
    column: str
    median: bool
    most: float
    kind: str = ""

    def verdict(self, rows: Sequence[Row]) -> str:
        """What was found, and its mark."""
        compared = [row for row in rows if self.peer == TENSORFLOW or _inference(row)]
        compared = [row for row in compared if self.kind in {"", row.workload.kind}]
        ratios = [r for row in compared if (r := row.ratios(self.column).get(self.peer))]
        failed = [row for row in compared if OURS in row.failures]
        if not ratios:
            return "nothing to compare"
        if self.median:
            found = statistics.median(ratios)
            return f"{found:.2f} {mark(found, self.most)}"
        above = sum(ratio > self.most for ratio in ratios) + len(failed)
        worst = f", the worst {max(ratios):.2g}" if max(ratios) > self.most else ""
        return f"{above} of {len(ratios) + len(failed)}{worst} {MISSED if above else MET}"


@dataclass(frozen=True)
class Early:
    """An aim for the second call in a process whose cache folder is empty.

    Attributes:
        text: its words.
        most: multiples of the settled time.
    """

    text: str
    most: float
    peer: str = "ours, settled"

    def verdict(self, rows: Sequence[Row]) -> str:
        """What was found, and its mark."""
        found = [early[0] for row in rows if (early := early_calls(row)) is not None]
        if not found:
            return "nothing to compare"
        above = sum(one > self.most for one in found)
        worst = f", the worst {max(found):.2g}" if above else ""
        median = statistics.median(found)
        return f"{above} of {len(found)}, median {median:.2f}{worst} {MISSED if above else MET}"


AIMS = (
    Aim("no row above 1.0 settled", TENSORFLOW, "settled_s", median=False, most=1.0),
    Aim("no row above 0.9 settled", TENSORFLOW, "settled_s", median=False, most=0.9),
    Aim("median ≤ 0.5", TENSORFLOW, "settled_s", median=True, most=0.5),
    Aim("no row above 1.5 at 1 s", TENSORFLOW, "at_one_s", median=False, most=1.5),
    Aim("no training above 1.0 at 1 s", TENSORFLOW, "at_one_s", False, 1.0, TRAINING),
    Aim("median ≤ 0.6 at 1 s (training)", TENSORFLOW, "at_one_s", True, 0.6, TRAINING),
    Aim("median ≤ 1.0 (inference)", ONNXRUNTIME, "settled_s", median=True, most=1.0),
    Aim("median ≤ 0.85 (inference)", ONNXRUNTIME, "settled_s", median=True, most=0.85),
    Aim("no row above 1.15 (inference)", ONNXRUNTIME, "settled_s", median=False, most=1.15),
    Early("no second call above 1.1 of settled", 1.1),
)


def cells(row: Row) -> list[str]:
    """What a row shows."""
    work = row.workload
    start = [f"{work.title}, {work.special}" if work.special else work.title, str(work.rows)]
    if OURS in row.failures:
        what = "wrong answer" if OURS in row.wrong else "fails"
        return [*start, what, *[""] * len(COLUMNS), *_peers(row), MISSED]
    ours = row.record()["times"][OURS]
    found = []
    for column in COLUMNS.values():
        ratios = row.ratios(column)
        text = duration(statistics.median(ours[column]))
        if ratios:
            _, ratio = best_peer(ratios)
            text += f", {ratio:.2g}×" + (f" {MISSED}" if mark(ratio) == MISSED else "")
        found.append(text)
    return [*start, *found, on_empty_machine(row), *_peers(row), verdict(row)]


def early_calls(row: Row) -> tuple[float, float] | None:
    """The second call on an empty machine, and one at one second, by the settled time."""
    if row.empty is None or OURS not in row.times or not row.times[OURS].settled_s:
        return None
    settled_s = statistics.median(row.times[OURS].settled_s)
    return row.empty.second_s / settled_s, row.empty.at_one_s / settled_s


def on_empty_machine(row: Row) -> str:
    """Early calls as multiples of the settled time."""
    found = early_calls(row)
    return "–" if found is None else f"{found[0]:.2g}×, {found[1]:.2g}×"


def verdict(row: Row) -> str:
    """The mark of a row: ours settled, beside the best peer; nothing without a peer."""
    if OURS in row.failures:
        return MISSED
    ratios = row.ratios("settled_s")
    return mark(best_peer(ratios)[1]) if ratios else ""


def line(row: Row) -> str:
    """A row on one line as soon as it is measured: our settled time, and its ratios to peers'."""
    if OURS not in row.times:
        return f"  {row.workload.name}: failed"
    times = row.times[OURS].settled_s
    ours = duration(quartile(times)) if times else "not timed"
    ratios = (f"{ratio:.2f} of {peer}" for peer, ratio in row.ratios("settled_s").items())
    return f"  {row.workload.name}: " + ", ".join([ours, *ratios])


def print_rows(rows: Sequence[Row]) -> None:
    """A table; what is behind is red."""
    console = Console()
    if not console.is_terminal:
        console.width = 170
    table = Table(*HEADINGS, title="ours, and as a ratio of the best peer's")
    for row in rows:
        style = {MISSED: "red", MET: "green"}.get(verdict(row))
        table.add_row(*cells(row), style=style)
    console.print(table)
    usual = _ordinary(rows)
    for aim in AIMS if usual else ():
        console.print(f"{aim.text}, {aim.peer}: {aim.verdict(usual)}")


def write_markdown(
    file: Path, rows: Sequence[Row], environment: dict[str, Any], minutes: float, left: int
) -> None:
    """The table, with where it was measured; `left` rows are not in it."""
    behind = sum(verdict(row) == MISSED for row in rows)
    usual = _ordinary(rows)
    lines = [
        "# Ordinary workloads" if usual else "# Workloads in special circumstances",
        "",
        f"Written by `make {'bench-zoo' if usual else 'bench-special'}` in {minutes:.0f} minutes.",
        EXPLAINED,
        *([] if usual else ["", SPECIAL]),
        *([f"**Broken off: {left} workloads more were not measured.**"] if left else []),
        "",
        f"{environment['date']}, {machine(environment)}, load {environment['load']} at the start.",
        "",
        *(f"- {side}: {versions}" for side, versions in environment["versions"].items()),
        "",
        *_again(rows),
        *(_aims(usual) if usual else []),
        f"Slower than the best peer, settled: {behind} of {len(rows)} rows.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
        *("| " + " | ".join(cells(row)) + " |" for row in rows),
        *_failures(rows),
    ]
    file.write_text("\n".join(lines) + "\n")


def _again(rows: Sequence[Row]) -> list[str]:
    """Which rows were measured later than the others."""
    times = sorted({row.measured for row in rows if row.measured})
    found = []
    for measured in times:
        names = ", ".join(row.workload.name for row in rows if row.measured == measured)
        found += [f"Measured again on {measured}: {names}.", ""]
    return found


def _aims(rows: Sequence[Row]) -> list[str]:
    return [
        "| aim for all rows | beside | found |",
        "|---|---|---|",
        *(f"| {aim.text} | {aim.peer} | {aim.verdict(rows)} |" for aim in AIMS),
        "",
    ]


def _failures(rows: Sequence[Row]) -> list[str]:
    found = [
        f"- {shortened(f'{row.workload.name}, {side}: {error}')}"
        for row in rows
        for side, error in row.failures.items()
    ]
    return ["", "## What failed, or answered wrongly", "", *found] if found else []


def _peers(row: Row) -> list[str]:
    found = []
    ratios = row.ratios("settled_s")
    for peer in (TENSORFLOW, ONNXRUNTIME):
        if peer in row.failures:
            found.append("wrong answer" if peer in row.wrong else "fails")
        elif peer not in row.times:
            found.append("–")
        else:
            text = duration(statistics.median(row.times[peer].settled_s))
            found.append(f"{text}, {ratios[peer]:.2g}×" if peer in ratios else text)
    return found


def _ordinary(rows: Sequence[Row]) -> list[Row]:
    from zoo.workloads import ordinary

    usual = set(ordinary())
    return [row for row in rows if row.workload in usual]


def _inference(row: Row) -> bool:
    return row.workload.kind == INFERENCE and ONNXRUNTIME in {*row.times, *row.failures}
