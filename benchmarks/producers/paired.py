"""A row on all of its sides, each in a process of its own, in turn."""

import os
import statistics
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from asked import Asked
from harness import FOLDER, OURS, TENSORFLOW, quartile
from networks import exported
from producers import store
from producers.programs import signature_of
from producers.workloads import KERAS, LAYERS, ONNXRUNTIME, YDF, Workload
from verdicts import median_ratio

SIDE = FOLDER / "producers" / "side.py"
ROUNDS, TURN_S, LOADS = 5, 0.2, 5
# How long a side is called before its turns, beside the first second.
SETTLE_S = 0.5
# Sides that TensorFlow's interpreter runs, beside the packages of the producer.
THEIRS = (TENSORFLOW, YDF)


@dataclass(slots=True)
class Row:
    """The measurements of a workload.

    Attributes:
        workload: what was measured.
        settled_s: side -> seconds a call, of each round.
        first_s: side -> from opening the model to the first answer.
        failures: side -> what went wrong.
    """

    workload: Workload
    settled_s: dict[str, list[float]] = field(default_factory=dict)
    first_s: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def ratio(self, side: str) -> float | None:
        """Ours / theirs, the median of the rounds; None if one of both is not there."""
        if not self.settled_s.get(OURS) or not self.settled_s.get(side):
            return None
        return median_ratio(self.settled_s[OURS], self.settled_s[side])

    def seconds(self, side: str) -> float | None:
        """The median of the rounds, of one of `workload.per`."""
        found = self.settled_s.get(side)
        return statistics.median(found) / self.workload.per if found else None

    def record(self) -> dict[str, Any]:
        """All numbers, for the JSON file."""
        ratios = {side: self.ratio(side) for side in self.workload.sides[1:]}
        return {**asdict(self), "name": self.workload.name, "ratios": ratios}


@dataclass(frozen=True, slots=True)
class Loads:
    """How long the network with many layers takes to load, in fresh processes.

    Attributes:
        load_s: (side, export) -> seconds of each process.
        first_s: likewise, until the first answer.
    """

    load_s: dict[tuple[str, str], list[float]]
    first_s: dict[tuple[str, str], list[float]]


def reachable_sides(workload: Workload) -> list[str]:
    """Those whose interpreters and packages are known."""
    known = store.TENSORFLOW_PYTHON in os.environ
    beside = store.PACKAGES[workload.kind] in os.environ
    return [
        side
        for side in workload.sides
        if side not in THEIRS or (known and (beside or workload.kind == KERAS))
    ]


def measure(workload: Workload, *, short: bool = False) -> Row:
    """All sides of a row.

    Args:
        workload: the row.
        short: see that all answers are right; the times say little.
    """
    row = Row(workload)
    sides = reachable_sides(workload)
    if ONNXRUNTIME in sides:
        try:  # before its process opens it: that takes time, which is not the peer's
            exported(store.folder(workload.kind, workload.model), signature_of(workload))
        except RuntimeError as error:
            sides.remove(ONNXRUNTIME)
            row.failures[ONNXRUNTIME] = str(error)
    asked = {side: _process(side, workload) for side in sides}
    try:
        _measure(row, asked, short=short)
    finally:
        for process in asked.values():
            process.close()
    return row


def _measure(row: Row, asked: dict[str, Asked], *, short: bool) -> None:
    fields = asdict(row.workload)
    for side, process in asked.items():
        library = side if side in {TENSORFLOW, YDF, ONNXRUNTIME} else OURS
        request = {"do": "open", "side": side, "library": library, "workload": fields}
        opened = _answer(row, side, process, request)
        if opened is None:
            continue
        row.first_s[side] = opened["first_s"]
        if not short:
            _answer(row, side, process, {"do": "settle", "seconds": SETTLE_S})
    for number in range(1 if short else ROUNDS):
        sides = [side for side in asked if side not in row.failures]
        for side in sides if number % 2 == 0 else reversed(sides):
            request = {"do": "turn", "seconds": 0.0 if short else TURN_S}
            found = _answer(row, side, asked[side], request)
            if found is not None:
                row.settled_s.setdefault(side, []).append(quartile(found["seconds"]))


def _answer(row: Row, side: str, process: Asked, request: dict[str, Any]) -> dict[str, Any] | None:
    """What a side answers; None, and a failure of the row, if it could not."""
    try:
        answer = process.ask(request)
    except RuntimeError as error:  # the process ended
        answer = {"error": str(error)}
    if "error" in answer:
        row.failures[side] = answer["error"]
        row.settled_s.pop(side, None)
        return None
    return answer


def _process(side: str, workload: Workload) -> Asked:
    if side in THEIRS:
        return Asked(os.environ[store.TENSORFLOW_PYTHON], SIDE, store.beside(workload.kind))
    return Asked(sys.executable, SIDE)


def measure_loads(*, short: bool = False) -> Loads:
    """The network with many layers as either backend exported it, here and by TensorFlow."""
    folder = store.folder(KERAS, LAYERS)
    sides = [OURS]
    if store.TENSORFLOW_PYTHON in os.environ:
        sides = [OURS, TENSORFLOW]
    loads = Loads({}, {})
    for _ in range(1 if short else LOADS):
        for side in sides:
            for export in ("model", "other"):
                interpreter = sys.executable
                if side == TENSORFLOW:
                    interpreter = os.environ[store.TENSORFLOW_PYTHON]
                process = Asked(interpreter, SIDE)
                try:
                    request = {"do": "load", "library": side, "model": str(folder / export)}
                    answer = process.ask(request)
                finally:
                    process.close()
                if "error" in answer:
                    raise RuntimeError(f"{LAYERS}, {export}, {side}: {answer['error']}")
                loads.load_s.setdefault((side, export), []).append(answer["load_s"])
                loads.first_s.setdefault((side, export), []).append(answer["first_s"])
    return loads
