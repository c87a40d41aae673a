"""The table of `make lite`, and its aims with what was reached."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lite import eight_bits

# Of an output's largest value, between TensorFlow and a file.
ALLOWED = 1e-4
SIZE, PACE, SHARE, COST = 1.02, 1.05, 0.95, 0.1
ABOUT = (
    "Written by `make lite`. Each signature of each model is converted by pinnace, with its checks "
    "and without, and by TFLiteConverter, every time in a process of its own; TensorFlow's "
    "interpreter runs both files on one thread, in turns. Ratios are ours by theirs; bold is what "
    "misses an aim. A difference is of the output's largest value."
)
HEAD = (
    "| model | bytes | TFLiteConverter's | size | run time | difference | its difference | "
    "seconds | with checks | its seconds | MB | its MB |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A signature of a model.

    Attributes:
        name: in the table.
        plain: our conversion without checks: bytes or refusal, seconds, peak_mb.
        checked: the same with checks.
        theirs: what TensorFlow's environment told.
        skipped: why nothing was compared; empty if it was.
    """

    name: str
    plain: dict[str, Any]
    checked: dict[str, Any]
    theirs: dict[str, Any] = field(default_factory=dict)
    skipped: str = ""

    @property
    def is_written(self) -> bool:
        """Whether pinnace writes it, and its own checks pass."""
        return "bytes" in self.plain and "bytes" in self.checked

    @property
    def is_theirs(self) -> bool:
        """Whether TFLiteConverter writes it without flex, and the interpreter runs the file."""
        return "bytes" in self.theirs and "error" not in self.theirs

    @property
    def size(self) -> float | None:
        """Our bytes, of theirs."""
        return _ratio(self.plain.get("bytes"), self.theirs.get("bytes"))

    @property
    def pace(self) -> float | None:
        """Our file's time in the interpreter, of theirs."""
        return _ratio(self.theirs.get("our_run_s"), self.theirs.get("run_s"))

    def cost(self, kind: str, what: str) -> float | None:
        """Our seconds or memory, of theirs, where both convert.

        Args:
            kind: "plain" or "checked".
            what: "seconds" or "peak_mb".
        """
        ours = self.plain if kind == "plain" else self.checked
        if not self.is_written or "bytes" not in self.theirs:
            return None
        return _ratio(ours.get(what), self.theirs.get(what))

    def fault(self) -> str:
        """What is wrong with our file; empty if nothing is, or if there is none."""
        if "bytes" in self.plain and "refusal" in self.checked:
            return f"its own checks refuse it: {_line(self.checked['refusal'])}"
        if "broken" in self.theirs:
            return str(self.theirs["broken"])
        if not self.is_written or self.skipped:
            return ""
        if "our_error" in self.theirs:
            return f"the interpreter fails: {self.theirs['our_error']}"
        gap = self.theirs.get("our_gap", math.inf)
        return "" if gap <= ALLOWED else f"differs from TensorFlow by {gap:.1e}"

    def line(self) -> str:
        """Of the table."""
        theirs = self.theirs
        cells = [
            self.name + (f" ({self.skipped})" if self.skipped else ""),
            self.plain.get("bytes") or _line(self.plain["refusal"]),
            theirs.get("bytes") or _line(theirs.get("refusal", theirs.get("broken", ""))),
            _said(self.size, ".3f", SIZE),
            _said(self.pace, ".2f", PACE),
            _said(theirs.get("our_gap"), ".1e", ALLOWED),
            _said(theirs.get("gap"), ".1e"),
            _said(self.plain["seconds"], ".2f"),
            _said(self.checked["seconds"], ".2f"),
            _said(theirs.get("seconds"), ".2f"),
            _said(self.plain["peak_mb"], ".0f"),
            _said(theirs.get("peak_mb"), ".0f"),
        ]
        return f"| {' | '.join(str(cell) for cell in cells)} |"


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def _said(value: float | None, form: str, most: float = math.inf) -> str:
    """A number; in bold where it is above what is aimed at."""
    if value is None:
        return ""
    text = format(value, form)
    return f"**{text}**" if value > most else text


def _line(text: str) -> str:
    """The first lines of a refusal, fit for a cell."""
    words = " ".join(text.split()).replace("|", "/")
    return words if len(words) <= 200 else words[:197] + "..."


@dataclass(frozen=True, slots=True)
class Aim:
    """An aim and what came of it."""

    what: str
    wanted: str
    figure: str
    is_reached: bool

    def line(self) -> str:
        """Of the table."""
        said = "reached" if self.is_reached else "**missed**"
        return f"| {self.what} | {self.wanted} | {self.figure} | {said} |"


def aims(rows: Sequence[Row], answers: dict[str, dict[str, Any]]) -> list[Aim]:
    """Every aim, over all rows that it is about."""
    known = [row for row in rows if row.is_theirs]
    both = [row for row in known if row.is_written]
    faults = [row for row in rows if row.fault()]
    share = len(both) / max(len(known), 1)
    of = "of what TFLiteConverter writes and runs without flex"
    found = [
        Aim(f"written, {of}", "≥ 95 %", f"{len(both)} of {len(known)}", share >= SHARE),
        Aim("files that differ or fail", "0", str(len(faults)), not faults),
        _worst("size", SIZE, rows, lambda row: row.size),
        _worst("time in the interpreter", PACE, rows, lambda row: row.pace),
    ]
    for name, kind, what in (
        ("time of conversion, without checks", "plain", "seconds"),
        ("time of conversion, with checks", "checked", "seconds"),
        ("peak memory of conversion, without checks", "plain", "peak_mb"),
        ("peak memory of conversion, with checks", "checked", "peak_mb"),
    ):
        found.append(_worst(name, COST, rows, lambda row, k=kind, w=what: row.cost(k, w)))  # type: ignore[misc]
    for name, one in answers.items():
        for bits in eight_bits.FILES:
            found += _eight_bits(name, one, bits)
    return found


def _worst(
    what: str, most: float, rows: Iterable[Row], ratio: Callable[[Row], float | None]
) -> Aim:
    """An aim that every row has to reach."""
    values = {row.name: value for row in rows if (value := ratio(row)) is not None}
    if not values:
        return Aim(what, f"≤ {most:g} times", "nothing was compared", is_reached=False)
    worst = max(values, key=values.__getitem__)
    over = sum(value > most for value in values.values())
    figure = (
        f"median {statistics.median(values.values()):.3f}, largest {values[worst]:.3f} ({worst}), "
        f"{over} of {len(values)} above"
    )
    return Aim(what, f"≤ {most:g} times", figure, is_reached=not over)


def _eight_bits(name: str, found: dict[str, Any], bits: int) -> list[Aim]:
    """Of a classifier: our whole numbers beside float32, and beside TFLiteConverter's."""
    label = "int8" if bits == 8 else "int16 and int8"
    if "broken" in found:
        return [Aim(f"{label}, {name}", "an answer", str(found["broken"]), is_reached=False)]
    kinds = (eight_bits.FLOAT, *eight_bits.FILES[bits])
    exact, ours, theirs = (found[kind]["right"] for kind in kinds)
    return [
        Aim(
            f"{label}, {name}: right answers, beside float32",
            "at most 1 point fewer",
            f"{ours:.2%} beside {exact:.2%}",
            ours >= exact - eight_bits.LOSS,
        ),
        Aim(
            f"{label}, {name}: right answers, beside TFLiteConverter's",
            "not fewer",
            f"{ours:.2%} beside {theirs:.2%}",
            ours >= theirs,
        ),
    ]


def text(rows: Sequence[Row], answers: dict[str, dict[str, Any]]) -> str:
    """The document."""
    left_out = [row for row in rows if row.skipped]
    reached = aims(rows, answers)
    lines = [
        "# .tflite files beside TFLiteConverter's",
        "",
        ABOUT,
        "",
        HEAD,
        *(row.line() for row in rows),
        "",
        f"Of {len(rows)} signatures, {len(left_out)} are not compared, for the reason beside them.",
        "",
    ]
    if answers:
        lines += [
            "## Full int8",
            "",
            "The share of rows that get the right label, none of them from the training.",
            "",
            *eight_bits.table(answers, 8),
            "",
            "## Activations of int16, weights of int8",
            "",
            *eight_bits.table(answers, 16),
            "",
        ]
    lines += [
        "## Aims",
        "",
        "| aim | wanted | figure | |",
        "|---|---|---|---|",
        *(one.line() for one in reached),
    ]
    return "\n".join(lines) + "\n"
