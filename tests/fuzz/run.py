"""Damage files in many ways, and check that reading them succeeds or raises one clear error.

    python -m fuzz.run [--inputs 100000] [--seed 0] [--workers 2] [--only NUMBER]

Input NUMBER of a seed is always the same: `--only` repeats it, with its traceback. Every input is
read in a monitored worker process: a crash, more than a second of processor time, more memory than
four times the file plus a base, or an error other than OpError is a finding.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

SECONDS = 1.0  # of processor time
PATIENCE = 20.0  # seconds on the clock, after which a worker hangs
TIMES = 4
BASE = 24 << 20  # a first call builds tables and compiles patterns
LIMIT = 2 << 30  # what one may allocate beyond the size of the file
SHOWN = 20


class Process:
    """One worker, as seen by the parent; `hot.run` has a class of its own."""

    module, patience = "fuzz.run", PATIENCE

    def __init__(self, seed: int, start: int, end: int, step: int, scratch: Path) -> None:
        self.end, self.step = end, step
        self._seed = seed
        self._scratch = scratch
        self._place = scratch / f"at-{start % step}"
        self.findings: list[dict[str, Any]] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self._begin(start)

    def _begin(self, start: int) -> None:
        self.at, self._since = start, time.monotonic()
        self._started = start
        self._place.write_bytes(struct.pack("<q", start))
        command = [sys.executable, "-m", self.module, "--worker", str(self._place)]
        command += [f"{self._seed}", f"{start}", f"{self.end}", f"{self.step}"]
        self._log = (self._scratch / f"log-{start}").open("w+")
        self._child = subprocess.Popen(
            command, stdout=self._log, cwd=Path(__file__).parents[1], stderr=subprocess.STDOUT
        )

    def look(self) -> bool:
        """Whether it is still running; after a crash it continues with the next input."""
        at = struct.unpack("<q", self._place.read_bytes())[0]
        if at != self.at:
            self.at, self._since = at, time.monotonic()
        code = self._child.poll()
        if code is None:
            if time.monotonic() - self._since < self.patience:
                return True
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
            self._finding("hang", f"no end after {self.patience:.0f} s")
        elif code:
            self._finding("crash", f"the process ended with {code}: {self._output()[-600:]}")
            if self.at == self._started:
                # Not a single input has been read: the harness itself is broken.
                raise SystemExit(f"a worker cannot begin: {self._output()[-2000:]}")
        self._collect()
        if code == 0:
            return False
        if self.at + self.step < self.end:
            self._begin(self.at + self.step)
            return True
        return False

    def _finding(self, kind: str, text: str) -> None:
        self.findings.append({"input": self.at, "kind": kind, "text": text})

    def _output(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def _collect(self) -> None:
        for line in self._output().splitlines():
            if line.startswith("FINDING "):
                self.findings.append(json.loads(line[8:]))
            elif line.startswith("COUNTS "):
                self.counts.update(json.loads(line[7:]))
        self._log.close()


def memory() -> int:
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def peak() -> int:
    """Peak of its resident memory since `forget_peak`."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) << 10


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def targets(scratch: Path) -> list[Any]:
    import ml_dtypes  # noqa: F401 (else the first input with such a value is charged for it)

    from fuzz.targets import TARGETS

    made = []
    for number, kind in enumerate(TARGETS):
        folder = scratch / str(number)
        folder.mkdir()
        target = kind(folder)
        made += [target] * target.weight
    return made


def one(target: Any, draw: random.Random, *, show: bool) -> tuple[str, str]:
    """Damage and use a file; returns the outcome, and why it is a finding if it is one."""
    from pinnace.framework.errors import OpError

    size = target.damage(draw)
    before = memory()
    forget_peak()
    started = time.process_time()
    outcome, problem = "read", ""
    try:
        target.use()
    except OpError as error:
        outcome = type(error).__name__
        if not error.message.strip():
            problem = "an error without words"
    except Exception as error:
        outcome = "other"
        last = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"[:500]
        if show:
            traceback.print_exc()
    taken = time.process_time() - started
    grown = peak() - before
    if taken > SECONDS:
        problem = problem or f"took {taken:.2f} s"
    if grown > TIMES * size + BASE:
        problem = problem or f"took {grown >> 20} MB for a file of {size} bytes"
    return outcome, problem


def worker(place: Path, seed: int, start: int, end: int, step: int) -> None:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as scratch:
        made = targets(Path(scratch))
        for target in {id(one): one for one in made}.values():
            one(target, random.Random(0), show=False)  # what is loaded once is not due to an input
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + LIMIT, held + LIMIT))
        counts: collections.Counter[str] = collections.Counter()
        descriptor = os.open(place, os.O_WRONLY)
        for number in range(start, end, step):
            os.pwrite(descriptor, struct.pack("<q", number), 0)
            draw = random.Random(f"{seed}/{number}")
            target = draw.choice(made)
            outcome, problem = one(target, draw, show=False)
            counts[f"{type(target).__name__} {outcome}"] += 1
            if problem:
                found = {"input": number, "kind": type(target).__name__, "text": problem}
                sys.stdout.write(f"FINDING {json.dumps(found)}\n")
                sys.stdout.flush()
            if number % 1000 < step:
                sys.stdout.write(f"COUNTS {json.dumps(counts)}\n")
                sys.stdout.flush()
                counts.clear()
        sys.stdout.write(f"COUNTS {json.dumps(counts)}\n")


def memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run(inputs: int, seed: int, workers: int) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        processes = [Process(seed, n, inputs, workers, Path(scratch)) for n in range(workers)]
        working = list(processes)
        said = 0.0
        while working:
            time.sleep(0.1)
            working = [process for process in working if process.look()]
            done = min(inputs, sum(process.at // workers for process in processes))
            if time.monotonic() - said > 10:
                said = time.monotonic()
                found = sum(len(process.findings) for process in processes)
                sys.stdout.write(
                    f"{done} of {inputs} inputs, {said - began:.0f} s, {found} ended\n"
                )
                sys.stdout.flush()
    counts: collections.Counter[str] = sum((p.counts for p in processes), collections.Counter())
    findings = [finding for process in processes for finding in process.findings]
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"  {name:<40}{count:>9}\n")
    kinds: dict[str, dict[str, Any]] = {}
    for finding in findings:
        kinds.setdefault(f"{finding['kind']} {finding['text'][:60]}", finding)
    for finding in list(kinds.values())[:SHOWN]:
        sys.stdout.write(f"input {finding['input']}, {finding['kind']}: {finding['text']}\n")
    sys.stdout.write(
        f"{sum(counts.values())} inputs with seed {seed} in {time.monotonic() - began:.0f} s: "
        f"{len(findings)} findings of {len(kinds)} kinds\n"
    )
    return 1 if findings or sum(counts.values()) < inputs else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--worker", nargs=5)
    given = parser.parse_args()
    if given.worker:
        place, *numbers = given.worker
        worker(Path(place), *map(int, numbers))
        return 0
    if given.only is not None:
        with tempfile.TemporaryDirectory() as scratch:
            draw = random.Random(f"{given.seed}/{given.only}")
            target = draw.choice(targets(Path(scratch)))
            outcome, problem = one(target, draw, show=True)
            sys.stdout.write(f"{type(target).__name__}: {outcome} {problem}\n")
        return 1 if problem else 0
    return run(given.inputs, given.seed, given.workers)


if __name__ == "__main__":
    sys.exit(main())
