"""Comparisons as a table on a terminal, in Markdown and in JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from harness import OURS, Comparison
from verdicts import MET, MISSED

HEADINGS = ("work", "peer", "pinnace", "peer's", "ratio", "min–max", "aim", "memory", "")
BOUNDS = ("work", "pinnace", "GFLOP", "GFLOP/s", "of the peak", "MB", "GB/s", "outside of steps")


def print_table(comparisons: list[Comparison]) -> None:
    """A table; rich leaves colours out where there is no terminal."""
    console = Console()
    if not console.is_terminal:
        console.width = 140
    table = Table(*HEADINGS, title="ours / theirs, lower quartiles; the median of rounds")
    for comparison in comparisons:
        style = {True: "green", False: "red", None: None}[comparison.met]
        table.add_row(*_row(comparison), style=style)
    console.print(table)


def write_markdown(
    file: Path,
    comparisons: list[Comparison],
    environment: dict[str, Any],
    failures: Sequence[str] = (),
) -> None:
    """The same table, with where it was measured, and what failed."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Each side checked its result before it was timed. Times are",
        "lower quartiles; a ratio is pinnace / peer, formed within each round, and the median of",
        "the rounds; memory is peak resident size. Where no aim was set, a row is held to what the",
        f"peer takes, in brackets. {MISSED}: an aim is missed.",
        "",
        "ONNX Runtime runs what `pinnace export` makes of the same SavedModel; jax is jitted; XLA",
        "is TensorFlow with `jit_compile=True`. All sides are called for a second before it",
        "counts, for seven where a network is trained on one batch.",
        "",
        f"{environment['date']}, {machine(environment)}, load {environment['load']} at the start.",
        "",
        *(f"- {side}: {versions}" for side, versions in environment["versions"].items()),
        "",
        _line(HEADINGS),
        "|" + "---|" * len(HEADINGS),
        *(_line(_row(comparison)) for comparison in comparisons),
        *_bounds(comparisons),
        *(["", f"## {MISSED} What failed, or answered wrongly", ""] if failures else []),
        *(f"- {shortened(failure)}" for failure in failures),
    ]
    file.write_text("\n".join(lines) + "\n")


def put_rows(file: Path, comparisons: Sequence[Comparison], environment: dict[str, Any]) -> None:
    """Put rows in the place of theirs in a table that is there; it tells when they were measured.

    Args:
        file: the table, as `write_markdown` wrote it.
        comparisons: what was measured again.
        environment: where, and when.
    """
    measured = {comparison.case.title for comparison in comparisons}
    rows = {tuple(_row(one)[:2]): _line(_row(one)) for one in comparisons}
    text, heading, bounds = file.read_text().partition(f"\n## {MISSED} What bounds")
    lines = text.splitlines()
    unknown = set(rows) - {_start(line) for line in lines}
    if unknown:
        raise SystemExit(
            f"{file} has no rows {sorted(unknown)}: run without --only for all of them"
        )
    told = f"Measured again on {environment['date']}, commit {environment['commit']}: "
    lines = [rows.get(_start(line), line) for line in lines]
    before = lines.index(_line(HEADINGS))
    lines[before:before] = [f"{told}{'; '.join(sorted(measured))}.", ""]
    # What bounds a row is of the same calls as the row.
    kept = [line for line in bounds.splitlines() if not measured & set(_start(line))]
    added = [_line(_bound(one)) for one in _bounded(comparisons)]
    if heading:
        end = max(number for number, line in enumerate(kept) if line.startswith("|")) + 1
        kept[end:end] = added
        lines += [heading + "\n".join(kept)]
    else:
        lines += _bounds(comparisons)
    file.write_text("\n".join(lines) + "\n")


def _line(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def _start(line: str) -> tuple[str, ...]:
    """The first two cells of a row of a table; of another line, what tells nothing."""
    return tuple(cell.strip() for cell in line.split("|")[1:3])


def write_json(file: Path, comparisons: list[Comparison], environment: dict[str, Any]) -> None:
    """Everything that was measured."""
    results = [comparison.record() for comparison in comparisons]
    file.write_text(json.dumps({"environment": environment, "results": results}, indent=1) + "\n")


def shortened(failure: str) -> str:
    """A failure in a line: who, and the end of the traceback, which says why."""
    words = " ".join(failure.split())
    return words if len(words) < 400 else f"{words[:60]} … {words[-300:]}"


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine(environment: dict[str, Any]) -> str:
    """The processor, and what both sides use of it."""
    processor, cores, threads = (environment[key] for key in ("processor", "cores", "threads"))
    return f"{processor}, {cores} cores, {threads} threads on both sides"


def _row(comparison: Comparison) -> list[str]:
    ours = comparison.record()["ours"]
    megabytes = f"{ours['peak_bytes'] / 1e6:.0f} MB"
    start = [comparison.case.title, comparison.peer or "–", duration(ours["lower_quartile_s"])]
    if comparison.ratio is None or comparison.memory_ratio is None:
        return [*start, "–", "–", "–", "–", megabytes, ""]
    theirs = comparison.record()["theirs"]
    memory = f"{megabytes}, {comparison.memory_ratio:.2g}×"
    if comparison.memory_aim is not None:
        memory += f" (aim {comparison.memory_aim:g}×)"
    return [
        *start,
        duration(theirs["lower_quartile_s"]),
        f"{comparison.ratio:.3g}×",
        f"{min(comparison.ratios):.3g}–{max(comparison.ratios):.3g}",
        _aim(comparison),
        memory,
        {True: MET, False: MISSED, None: ""}[comparison.met],
    ]


def _bounds(comparisons: Sequence[Comparison]) -> list[str]:
    """What calls of the rows that miss an aim do, which tells what bounds them."""
    missed = _bounded(comparisons)
    if not missed:
        return []
    peaks = [one.account.peak_flops for one in missed if one.account is not None]
    return [
        "",
        f"## {MISSED} What bounds the rows that miss",
        "",
        "One call of ours, as the profiler counts it: operations; bytes that its steps read and",
        "write, each once a step, of memory or of a cache (–: loops are not counted); and the part",
        "of a call that is Python around its steps. The peak is that of a product",
        f"of matrices by BLAS, {min(peaks) / 1e9:.0f} to {max(peaks) / 1e9:.0f} GFLOP/s while this",
        "was measured. Convolutions of 3×3 count as the formula has them: Winograd's tiles",
        "multiply 2.25 times less.",
        "",
        _line(BOUNDS),
        "|" + "---|" * len(BOUNDS),
        *(_line(_bound(one)) for one in missed),
    ]


def _bounded(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Those that miss an aim, and whose calls were looked at; one for each case."""
    missed = {one.name: one for one in comparisons if one.met is False and one.account is not None}
    return list(missed.values())


def _bound(comparison: Comparison) -> list[str]:
    account = comparison.account
    assert account is not None
    seconds = comparison.record()["ours"]["lower_quartile_s"]
    cells = [comparison.case.title, duration(seconds)]
    if account.flops is None:
        cells += ["–"] * 3
    else:
        reached = account.flops / seconds
        cells += [f"{account.flops / 1e9:.3g}", f"{reached / 1e9:.3g}"]
        cells.append(f"{reached / account.peak_flops:.0%}")
    if account.bytes is None:
        cells += ["–"] * 2
    else:
        cells += [f"{account.bytes / 1e6:.3g}", f"{account.bytes / seconds / 1e9:.3g}"]
    return [*cells, f"{account.outside_s / seconds:.0%}"]


def _aim(comparison: Comparison) -> str:
    if comparison.aim is not None:
        return f"≤ {comparison.aim:g}×"
    return "–" if comparison.held_to is None else f"(≤ {comparison.held_to:g}×)"


def print_environment(environment: dict[str, Any]) -> None:
    """What was measured with; says which variables the processes run without."""
    unset = ", ".join(environment["unset"]) or "none was set"
    print(machine(environment))
    print(f"unset for both sides (OPENBLAS_*, PYTHONDONTWRITEBYTECODE): {unset}")
    for side, versions in environment["versions"].items():
        print(f"{side if side != OURS else 'ours'}: {versions}")
    if environment["load"] > 1:
        print(f"The machine is busy (load {environment['load']}): trust the ratios, not the times.")
