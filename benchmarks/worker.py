"""One side of a pair: reads requests from its input, a line of JSON each, and answers with times.

{"family": file in cases/, "bench": name, "peer": null, "tensorflow" or a variant, "repeat": k,
"sample_s": s, "warm_up_s": w, "rests": whether what goes on in the background is waited for} times
a `Work`;
{"command": [...], "tells": whether it prints the seconds that count, "repeat": k}
times fresh processes of this interpreter; {"account": name} tells what a call of a `Work` does
(`accounting`), null where that is not known. The answer is
{"seconds": [per call, k of them], "peak_bytes": n} or {"error": text}.
"""

import importlib
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accounting
from asked import keep_to_cores
from harness import LIBRARIES, OURS

if TYPE_CHECKING:
    from harness import Work

MOST_CALLS = 1_000_000
# What a library makes in the background, such as machine code, is done before anything counts.
LONGEST_S = 60.0
PAUSE_S, BUSY = 0.1, 0.5  # a process that takes this part of a pause has not come to rest


class Bench:
    """A `Work` that was found right and warm, and how many calls make a sample."""

    def __init__(self, request: dict[str, Any]) -> None:
        # Nothing of the other families: their inputs would be memory that is measured.
        case = importlib.import_module(f"cases.{request['family']}").CASES[request["bench"]]
        peer, sample_s, warm_up_s = (request[k] for k in ("peer", "sample_s", "warm_up_s"))
        library = importlib.import_module(LIBRARIES.get(peer, OURS))
        self.work: Work = case.variants.get(peer, case.work)(library)
        self.work.check()
        self.calls = self._warm_up(sample_s, warm_up_s)
        end = time.perf_counter() + (LONGEST_S if request["rests"] else 0)
        # What was made is taken up by later calls, which may ask for more: twice.
        while time.perf_counter() < end and not (self._rests() and self._rests()):
            self.calls = self._warm_up(sample_s, warm_up_s)

    def sample(self) -> float:
        """Seconds per call of one sample; the garbage collector is on, it belongs to the work."""
        run, calls = self.work.run, range(self.calls)
        start = time.perf_counter()
        for _ in calls:
            run()
        return (time.perf_counter() - start) / self.calls

    def _rests(self) -> bool:
        """Whether the process does nothing in a pause after a few calls."""
        for _ in range(3):
            self.sample()
        before = time.process_time()
        time.sleep(PAUSE_S)
        return time.process_time() - before < BUSY * PAUSE_S

    def _warm_up(self, sample_s: float, warm_up_s: float) -> int:
        self.calls, start = 1, time.perf_counter()
        while True:
            seconds = self.sample()
            enough = max(1, min(MOST_CALLS, round(sample_s / max(seconds, 1e-9))))
            if time.perf_counter() - start >= warm_up_s and self.calls * 2 >= enough:
                return enough
            self.calls = min(enough, self.calls * 10)


def time_calls(benches: dict[str, Bench], request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request for calls within this process."""
    name = request["bench"]
    if name not in benches:
        benches[name] = Bench(request)
    bench = benches[name]
    bench.sample()  # after the other side's turn caches and clocks are cold
    seconds = [bench.sample() for _ in range(request["repeat"])]
    return {"seconds": seconds, "peak_bytes": peak_bytes(resource.RUSAGE_SELF)}


def time_processes(warm: set[str], request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request for processes; the first run, which fills caches, does not count."""
    command = [sys.executable, *request["command"]]
    key = json.dumps(request["command"])
    if key not in warm:
        warm.add(key)
        run_process(command)
    seconds = [run_process(command, tells=request["tells"]) for _ in range(request["repeat"])]
    return {"seconds": seconds, "peak_bytes": peak_bytes(resource.RUSAGE_CHILDREN)}


def run_process(command: list[str], *, tells: bool = False) -> float:
    """Seconds from start to end, or those it prints."""
    start = time.perf_counter()
    told = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    return float(told.stdout) if tells else time.perf_counter() - start


def peak_bytes(who: int) -> int:
    """The largest resident size of this process or of the largest child.

    Linux hands ru_maxrss on from the process that started this one, so /proc is asked instead;
    a child inherits at least this process, which therefore imports little.
    """
    status = Path("/proc/self/status")
    if who == resource.RUSAGE_SELF and status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(who).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Answer until the input ends."""
    # Libraries may print; answers go where only they go.
    keep_to_cores()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    benches: dict[str, Bench] = {}
    warm: set[str] = set()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "command" in request:
                answer = time_processes(warm, request)
            elif "account" in request:
                found = accounting.account(benches[request["account"]].work.run)
                answer = {"account": None if found is None else found.record()}
            else:
                answer = time_calls(benches, request)
        except Exception:  # whatever it is, the other process must know it
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    for bench in benches.values():
        bench.work.close()


if __name__ == "__main__":
    main()
