"""One library in a process of its own, asked in lines of JSON by `paired.py`.

{"do": "open", "library": l, "workload": {…}} opens a workload and calls it for a second: the answer
has `first_s`, from opening to the first answer, the library imported, `at_one_s`, seconds a call a
second later, and `second_s`, the call behind the first.
{"do": "settle", "seconds": s} goes on until s seconds have passed and the process rests.
{"do": "turn", "seconds": s} answers with `seconds` a call, several, and `cpu_s` a call.
"""

import importlib
import json
import os
import statistics
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from asked import keep_to_cores
from harness import Work
from zoo import programs
from zoo.workloads import Workload

# Calls that touch this part of the time after the first are those at one second.
FROM_S, TO_S = 0.75, 1.25
LEAST_SAMPLE_S = 0.002
PAUSE_S, BUSY, LONGEST_S = 0.1, 0.5, 20.0
# Calls before anything counts: what runs them may be decided by their number.
FEWEST_CALLS = 40


class Side:
    """The workload that is open, and how many of its calls make a sample."""

    work: Work
    calls = 1

    def make(self, request: dict[str, Any]) -> Work:
        """The workload by the library."""
        return programs.make(request["library"], Workload(**request["workload"]))

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """The first answer, and calls around a second after it."""
        importlib.import_module(request["library"])  # that takes what `make bench` says it does
        start = time.perf_counter()
        self.work = self.make(request)
        self.work.run()
        first_s = time.perf_counter() - start
        ends, durations, now = [], [], 0.0
        begin = before = time.perf_counter()
        while now < TO_S:
            self.work.run()
            after = time.perf_counter()
            ends.append(now := after - begin)
            durations.append(after - before)
            before = after
        around = [s for s, end in zip(durations, ends, strict=True) if end >= FROM_S]
        self.work.check()
        return {
            "first_s": first_s,
            "at_one_s": statistics.median(around),
            "second_s": durations[0],
        }

    def settle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Until it rests; and right answers then."""
        start = time.perf_counter()
        for _ in range(FEWEST_CALLS):
            self.work.run()
            if time.perf_counter() - start > LONGEST_S:
                break
        self._go_on(max(0.0, request["seconds"] - (time.perf_counter() - start)))
        while time.perf_counter() - start < LONGEST_S + request["seconds"] and not self._rests():
            self._go_on(0.5)
        self.work.check()
        seconds = self._sample()
        self.calls = max(1, round(LEAST_SAMPLE_S / max(seconds, 1e-9)))
        return {}

    def turn(self, request: dict[str, Any]) -> dict[str, Any]:
        """Samples for so many seconds, one at least."""
        self.work.run()  # after the other sides' turns caches are cold
        samples = []
        start, busy = time.perf_counter(), time.process_time()
        while not samples or time.perf_counter() - start < request["seconds"]:
            samples.append(self._sample())
        cpu_s = (time.process_time() - busy) / (len(samples) * self.calls)
        return {"seconds": samples, "cpu_s": cpu_s}

    def _sample(self) -> float:
        run, calls = self.work.run, range(self.calls)
        start = time.perf_counter()
        for _ in calls:
            run()
        return (time.perf_counter() - start) / self.calls

    def _go_on(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.work.run()

    def _rests(self) -> bool:
        before = time.process_time()
        time.sleep(PAUSE_S)
        return time.process_time() - before < BUSY * PAUSE_S


def answer_requests(side: Side) -> None:
    """Answer until the input ends."""
    # Libraries may print; answers go where only they go.
    keep_to_cores()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(side, request["do"])(request)
        except Exception as error:  # whatever it is, the table must show it
            wrong = isinstance(error, AssertionError)
            answer = {"error": traceback.format_exc(), "wrong": wrong}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    answer_requests(Side())
