"""A workload in all libraries, each in a process of its own, in turn."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from asked import Asked
from harness import FOLDER, OURS, TENSORFLOW, interpreter_of, quartile
from verdicts import median_ratio
from zoo import store
from zoo.workloads import FIXED, INFERENCE, LONG, NEIGHBOURS, Workload

ONNXRUNTIME = "onnxruntime"
SIDE = FOLDER / "zoo" / "side.py"
ROUNDS, TURN_S = 5, 0.2
# How long a side is called before its turns, beside the first 1.25 s.
SETTLE_S = 0.5
# In a fixed batch gradients, and an optimizer's moments, take seconds to become denormal numbers.
FIXED_SETTLE_S, LONG_SETTLE_S = 8.0, 30.0


@dataclass(slots=True)
class Times:
    """A side's: seconds from opening to the first answer; seconds a call a second later; turns.

    Attributes:
        second_s: the call behind the first.
    """

    first_s: float
    at_one_s: float
    settled_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    second_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Empty:
    """Ours in a process whose cache folder is empty, as on a machine that never ran anything.

    Attributes:
        second_s: seconds of the second call.
        at_one_s: seconds of a call a second after the first.
    """

    second_s: float
    at_one_s: float


COLUMNS = ("first_s", "at_one_s", "settled_s", "cpu_s")


@dataclass(slots=True)
class Row:
    """A workload's measurements.

    Attributes:
        workload: what was measured.
        times: of each side that gave right answers.
        failures: side -> what went wrong, for those that did not.
        wrong: the sides that answered, but not rightly.
        measured: the date, and the commit; empty for rows measured with the rest of their table.
        empty: ours on an empty machine; None if that was not measured.
    """

    workload: Workload
    times: dict[str, Times] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    measured: str = ""
    empty: Empty | None = None

    @classmethod
    def of_record(cls, record: dict[str, Any], workload: Workload) -> "Row":
        """The row that `record` gave."""
        times = {}
        for side, found in record["times"].items():
            (first_s,), (at_one_s,) = found["first_s"], found["at_one_s"]
            settled_s, cpu_s = found["settled_s"], found["cpu_s"]
            times[side] = Times(first_s, at_one_s, settled_s, cpu_s)
        wrong, measured = set(record["wrong"]), record.get("measured", "")
        early = record.get("empty")
        empty = Empty(early["second_s"], early["at_one_s"]) if early else None
        return cls(workload, times, dict(record["failures"]), wrong, measured, empty)

    def ratios(self, column: str) -> dict[str, float]:
        """Peer -> ours / theirs in a column."""
        if OURS not in self.times:
            return {}
        ours = self.times[OURS]
        return {
            peer: median_ratio(_several(ours, column), _several(theirs, column))
            for peer, theirs in self.times.items()
            if peer != OURS
        }

    def fail(self, side: str, error: "SideError") -> None:
        """Leave a side out, and say why."""
        self.times.pop(side, None)
        self.failures[side] = str(error)
        if error.wrong:
            self.wrong.add(side)

    def record(self) -> dict[str, Any]:
        """All numbers, for the JSON file."""
        return {
            "name": self.workload.name,
            "title": self.workload.title,
            "rows": self.workload.rows,
            "times": {
                side: {column: _several(times, column) for column in COLUMNS}
                for side, times in self.times.items()
            },
            "ratios": {column: self.ratios(column) for column in COLUMNS},
            "failures": self.failures,
            "wrong": sorted(self.wrong),
            **({"measured": self.measured} if self.measured else {}),
            **({"empty": asdict(self.empty)} if self.empty else {}),
        }


class SideError(RuntimeError):
    """A side could not, or gave a wrong answer."""

    def __init__(self, message: str, *, wrong: bool) -> None:
        super().__init__(message)
        self.wrong = wrong


def sides_of(workload: Workload) -> list[str]:
    """The libraries that run a workload: ours first."""
    sides = [OURS]
    if interpreter_of(TENSORFLOW):
        sides.append(TENSORFLOW)
    if workload.kind == INFERENCE and store.network(workload.network).onnx is True:
        sides.append(ONNXRUNTIME)
    return sides


def measure(
    workloads: Sequence[Workload], *, short: bool = False, peers: Sequence[str] | None = None
) -> list[Row]:
    """Rows of one network that share their processes: a batch after the other.

    Args:
        workloads: of the same network and kind.
        short: only see that all answers are right; the times say little.
        peers: other than all that can run it.
    """
    sides = sides_of(workloads[0]) if peers is None else [OURS, *peers]
    rows = [Row(workload) for workload in workloads]
    if ONNXRUNTIME in sides:
        try:
            store.onnx_file(workloads[0].network)  # that takes time, which is not the peer's
        except RuntimeError as error:
            sides.remove(ONNXRUNTIME)
            for row in rows:
                row.fail(ONNXRUNTIME, SideError(str(error), wrong=False))
    asked = {side: Asked(interpreter_of(side) or sys.executable, SIDE) for side in sides}
    try:
        with neighbours(workloads[0].special == NEIGHBOURS):
            for row in rows:
                _measure_row(row, asked, short=short)
            if not short:
                _open_empty(rows)
    finally:
        for process in asked.values():
            process.close()
    return rows


def _open_empty(rows: Sequence[Row]) -> None:
    """Our early calls where nothing is kept from before: a process for each row."""
    for row in rows:
        if OURS not in row.times:
            continue
        with tempfile.TemporaryDirectory() as folder:
            own = {"PINNACE_CACHE": folder}
            process = Asked(interpreter_of(OURS) or sys.executable, SIDE, own)
            try:
                found = _answer(process, _request(OURS, row.workload))
            except SideError as error:
                row.fail(OURS, error)
            else:
                times = row.times[OURS]
                times.first_s, times.at_one_s = found["first_s"], found["at_one_s"]
                row.empty = Empty(found["second_s"], found["at_one_s"])
            finally:
                process.close()


def _request(side: str, workload: Workload) -> dict[str, Any]:
    fields = ("network", "kind", "rows", "special")
    asked = {name: getattr(workload, name) for name in fields}
    return {"do": "open", "library": side, "workload": asked}


@contextmanager
def neighbours(wanted: bool) -> Iterator[None]:
    """A busy process for each core, if they are wanted."""
    cores = os.cpu_count() or 1
    busy = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(busy) for _ in range(cores if wanted else 0)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _measure_row(row: Row, asked: dict[str, Asked], *, short: bool) -> None:
    for side in asked:
        try:
            row.times[side] = Times(**_answer(asked[side], _request(side, row.workload)))
            if not short:
                seconds = _settle_s(side, row.workload.special)
                _answer(asked[side], {"do": "settle", "seconds": seconds})
        except SideError as error:
            row.fail(side, error)
    for number in range(1 if short else ROUNDS):
        order = list(row.times) if number % 2 == 0 else list(reversed(row.times))
        for side in order:
            try:
                seconds = 0.0 if short else TURN_S
                found = _answer(asked[side], {"do": "turn", "seconds": seconds})
                row.times[side].settled_s.append(quartile(found["seconds"]))
                row.times[side].cpu_s.append(found["cpu_s"])
            except SideError as error:
                row.fail(side, error)


def _settle_s(side: str, special: str) -> float:
    if special == FIXED:
        return FIXED_SETTLE_S
    if special == LONG and side == OURS:
        return LONG_SETTLE_S
    return SETTLE_S


def _answer(process: Asked, request: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = process.ask(request)
    except RuntimeError as error:  # the process ended
        raise SideError(str(error), wrong=False) from error
    if "error" in answer:
        raise SideError(answer["error"], wrong=answer["wrong"])
    return answer


def _several(times: Times, column: str) -> list[float]:
    found = getattr(times, column)
    return found if isinstance(found, list) else [found]
