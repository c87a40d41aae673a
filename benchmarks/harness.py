"""Pairs of measurements: the same work here and by a peer, in two processes, in turn.

A benchmark is an entry of `CASES` in a file of cases/, a family of them: its aims and, unless it is
a `ProcessCase`, `work(tf) -> Work`, which is called with pinnace and, in the peer's process, with
TensorFlow. `variants` are other programs to compare it with: by jax, by ONNX Runtime, by TensorFlow
with XLA (`jit_compile=True`), or by us. Inputs and expected results stand in the family's file,
computed by NumPy; the file imports no library that is measured.

All sides run in processes of their own with the same number of threads and without OPENBLAS_*
(a pinned OPENBLAS_CORETYPE halves NumPy's speed) and PYTHONDONTWRITEBYTECODE. A side checks its
result before it is timed. Rounds alternate A B C, C B A; a ratio is formed within a round, and the
median of the rounds' ratios is the result, so that a machine that slows down slows both.
"""

import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from accounting import Account
from asked import REMOVED, THREADS, Asked
from verdicts import LEVEL

FOLDER = Path(__file__).resolve().parent
OURS = "pinnace"

TENSORFLOW = "tensorflow"

# Peer -> the variable that names its interpreter; a peer that is not here runs in ours.
INTERPRETERS = {
    TENSORFLOW: "PINNACE_TF_PYTHON",
    "xla": "PINNACE_TF_PYTHON",
    "jax": "PINNACE_JAX_PYTHON",
}
# Peer -> the library its program is given; a peer that is not here is another program of ours.
LIBRARIES = {TENSORFLOW: TENSORFLOW, "xla": TENSORFLOW, "jax": "jax", "onnxruntime": "onnxruntime"}
# Peer -> the packages whose versions are told.
PACKAGES = {
    TENSORFLOW: ["tensorflow", "numpy"],
    "jax": ["jax", "jaxlib", "optax", "numpy"],
    "onnxruntime": ["onnxruntime"],
}
# Whole processes run ours as people install it, not as a checkout that is edited.
INSTALLED = "PINNACE_WHEEL_PYTHON"


@dataclass(frozen=True, slots=True)
class Work:
    """What is timed.

    Attributes:
        run: one call of the work.
        check: raises AssertionError unless the work's result is right; called before timing.
        close: gives back what `run` holds: a server, a folder.
    """

    run: Callable[[], object]
    check: Callable[[], object]
    close: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A benchmark of calls within a process.

    Attributes:
        title: the work, in a few words.
        aims: peer -> the ratio of times (ours / theirs) to stay below.
        memory_aims: peer -> the ratio of peak memory to stay below.
        model: a key of `networks.BUILDERS` that the case loads, if it loads one.
        short: whether it is one of the short runs; the longest are not.
        rounds: how often all sides take a turn.
        repeats: samples in a turn.
        sample_s: a sample calls `run` as often as fits into this.
        warm_up_s: how long each side runs before anything counts.
        work: the program, given either library.
        variants: peer -> another program, given the peer's library or, if it is in no list, ours.
    """

    title: str
    aims: dict[str, float]
    work: Callable[[Any], Work] | None = None
    variants: Mapping[str, Callable[[Any], Work]] = field(default_factory=dict)
    memory_aims: dict[str, float] = field(default_factory=dict)
    model: str | None = None
    short: bool = True
    rounds: int = 7
    repeats: int = 15
    sample_s: float = 0.01
    warm_up_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCase(Case):
    """A benchmark of whole processes, such as an import.

    Attributes:
        commands: `pinnace` or peer -> arguments of its interpreter. A command checks itself: an
            exit code other than 0 fails.
        tells: whether a command prints the seconds that count, rather than all of its own.
    """

    commands: dict[str, list[str]]
    tells: bool = False
    rounds: int = 5
    repeats: int = 2


def quartile(seconds: Sequence[float]) -> float:
    """The lower quartile: what the work takes when nothing disturbs it."""
    ordered = sorted(seconds)
    return ordered[(len(ordered) - 1) // 4]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a side measured in one turn: seconds per call, and its peak memory so far."""

    seconds: list[float]
    peak_bytes: int

    @property
    def quartile(self) -> float:
        """Of its seconds."""
        return quartile(self.seconds)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A case on both sides; without a peer (`peer` is None) on ours alone."""

    name: str
    case: Case
    peer: str | None
    ours: list[Turn]
    theirs: list[Turn]
    account: Account | None = None

    @property
    def ratios(self) -> list[float]:
        """Ours / theirs, of each round."""
        return [a.quartile / b.quartile for a, b in zip(self.ours, self.theirs, strict=False)]

    @property
    def ratio(self) -> float | None:
        """The median round's ratio."""
        return statistics.median(self.ratios) if self.theirs else None

    @property
    def memory_ratio(self) -> float | None:
        """Peak memory, ours / theirs."""
        return self.ours[-1].peak_bytes / self.theirs[-1].peak_bytes if self.theirs else None

    @property
    def aim(self) -> float | None:
        """The ratio to stay below."""
        return self.case.aims.get(self.peer or "")

    @property
    def memory_aim(self) -> float | None:
        """The ratio of peak memory to stay below."""
        return self.case.memory_aims.get(self.peer or "")

    @property
    def held_to(self) -> float | None:
        """The aim; without one, other libraries' time. Programs of ours are only compared."""
        return self.aim if self.aim is not None else LEVEL if self.peer in LIBRARIES else None

    @property
    def met(self) -> bool | None:
        """Whether it is as quick and as small as it should be; None with nothing to compare."""
        pairs = [(self.ratio, self.held_to), (self.memory_ratio, self.memory_aim)]
        judged = [ratio <= most for ratio, most in pairs if ratio is not None and most is not None]
        return all(judged) if judged else None

    def record(self) -> dict[str, Any]:
        """All numbers, for results.json."""
        return {
            "name": self.name,
            "title": self.case.title,
            "peer": self.peer,
            "ratio": self.ratio,
            "ratios": self.ratios,
            "aim": self.aim,
            "memory_ratio": self.memory_ratio,
            "memory_aim": self.memory_aim,
            "met": self.met,
            "ours": _summary(self.ours),
            "theirs": _summary(self.theirs) if self.theirs else None,
            "account": None if self.account is None else self.account.record(),
        }


class Worker(Asked):
    """One side of a pair."""

    def __init__(self, interpreter: str) -> None:
        super().__init__(interpreter, FOLDER / "worker.py")

    def measure(self, request: dict[str, Any]) -> Turn:
        """The answer to one request.

        Raises:
            RuntimeError: the work failed its check or raised; the message holds its error.
        """
        answer = self.ask(request)
        if "error" in answer:
            raise RuntimeError(f"{self.last_words()}\n{answer['error']}")
        return Turn(answer["seconds"], answer["peak_bytes"])

    def account(self, name: str) -> Account | None:
        """What a call of a case that was measured does; None if that cannot be told."""
        answer = self.ask({"account": name})
        if "error" in answer:
            raise RuntimeError(f"{self.last_words()}\n{answer['error']}")
        return None if answer["account"] is None else Account(**answer["account"])


@cache
def _families() -> dict[str, tuple[str, Case]]:
    families = sorted(file.stem for file in (FOLDER / "cases").glob("[!_]*.py"))
    cases = [(family, importlib.import_module(f"cases.{family}").CASES) for family in families]
    return {name: (family, case) for family, found in cases for name, case in found.items()}


def discover() -> dict[str, Case]:
    """Name -> case, of the files in cases/."""
    return {name: case for name, (_, case) in sorted(_families().items())}


def peers_of(case: Case) -> list[str]:
    """The peers that a case can be compared with."""
    if isinstance(case, ProcessCase):
        return [peer for peer in case.commands if peer != OURS]
    return sorted([TENSORFLOW, *case.variants])


def interpreter_of(side: str, case: Case | None = None) -> str | None:
    """The interpreter of a side; None if its variable is not set."""
    if side in INTERPRETERS:
        return os.environ.get(INTERPRETERS[side])
    if side == OURS and isinstance(case, ProcessCase):
        return os.environ.get(INSTALLED, sys.executable)
    return sys.executable


def compare(
    name: str, case: Case, peers: Sequence[str], *, short: bool = False
) -> tuple[list[Comparison], dict[str, str]]:
    """Measure a case on our side and on the peers', all in turn.

    Args:
        name: its key in `CASES`.
        case: what stands there.
        peers: of `peers_of(case)`; without any, ours is measured alone.
        short: one round of one sample, to see that the benchmark works.

    Returns:
        A comparison with each peer that worked, and side -> error of those that did not.
    """
    turns: dict[str, list[Turn]] = {side: [] for side in (OURS, *peers)}
    failures: dict[str, str] = {}
    account: Account | None = None
    workers = {side: Worker(interpreter_of(side, case) or sys.executable) for side in turns}
    try:
        for number in range(1 if short else case.rounds):
            sides = [side for side in turns if side not in failures]
            for side in sides if number % 2 == 0 else reversed(sides):
                request = _request(name, case, side, short=short)
                try:
                    turns[side].append(workers[side].measure(request))
                except RuntimeError as error:
                    failures[side] = f"{name}, {side}: {error}"
            if OURS in failures:
                break
        if OURS not in failures and not isinstance(case, ProcessCase):
            try:
                account = workers[OURS].account(name)
            except RuntimeError as error:  # what was measured stands
                failures["profile"] = f"{name}, what a call does: {error}"
    finally:
        for worker in workers.values():
            worker.close()
    if OURS in failures:
        return [], failures
    worked = [peer for peer in peers if peer not in failures]
    done = [Comparison(name, case, peer, turns[OURS], turns[peer], account) for peer in worked]
    return done or [Comparison(name, case, None, turns[OURS], [], account)], failures


def environment() -> dict[str, Any]:
    """Where the numbers come from, without naming the machine."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "threads": THREADS,
        "load": round(os.getloadavg()[0], 2),
        "system": sys.platform,
        "unset": sorted(name for name in os.environ if name.startswith(REMOVED)),
        "commit": _commit(),
        "versions": {
            OURS: _versions(sys.executable, ["pinnace", "numpy", "numba"]),
            **{
                peer: _versions(interpreter, packages)
                for peer, packages in PACKAGES.items()
                if (interpreter := interpreter_of(peer))
            },
        },
    }


def _request(name: str, case: Case, side: str, *, short: bool) -> dict[str, Any]:
    request: dict[str, Any] = {"repeat": 1 if short else case.repeats, "sample_s": case.sample_s}
    request["warm_up_s"] = 0.2 if short else case.warm_up_s
    request["rests"] = not short
    if isinstance(case, ProcessCase):
        return {**request, "command": case.commands[side], "tells": case.tells}
    family, _ = _families()[name]
    return {**request, "family": family, "bench": name, "peer": None if side == OURS else side}


def _summary(turns: list[Turn]) -> dict[str, Any]:
    seconds = [s for turn in turns for s in turn.seconds]
    return {
        "lower_quartile_s": Turn(seconds, 0).quartile,
        "median_s": statistics.median(seconds),
        "samples": len(seconds),
        "peak_bytes": turns[-1].peak_bytes,
    }


def _versions(interpreter: str, packages: list[str]) -> str:
    code = (
        "import importlib.metadata as m, platform, sys\n"
        "out = ['Python ' + platform.python_version()]\n"
        "for name in sys.argv[1:]:\n"
        "    for package in (name, name + '-cpu'):\n"
        "        try: out.append(package + ' ' + m.version(package))\n"
        "        except m.PackageNotFoundError: continue\n"
        "        break\n"
        "print(', '.join(out))"
    )
    command = [interpreter, "-c", code, *packages]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "unknown"


def _commit() -> str | None:
    command = ["git", "-C", str(FOLDER), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None
