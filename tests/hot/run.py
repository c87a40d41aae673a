"""Draw random graphs, run each in every way, and compare.

    python -m hot.run [--graphs 100000] [--seed 0] [--workers 2] [--only NUMBER]

Graph NUMBER of a seed is always the same: `--only` repeats it, and shows the smallest graph that
still differs. Workers are monitored: one that crashes is restarted after the graph that crashed it.

Every graph runs as eager ops, as a plan, in leased memory, and with its regions and tables in
memory with guard pages.
"""

from __future__ import annotations

import argparse
import collections
import json
import logging
import os
import resource
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.run import SHOWN, Process

# Time limit in seconds of a graph, including its shrinking.
PATIENCE = 240.0
_SHRUNK = 3
_SAID_EVERY_S = 10.0


class Worker(Process):
    """One worker, as seen by the parent."""

    module, patience = "hot.run", PATIENCE


def worker(place: Path, seed: int, start: int, end: int, step: int) -> None:
    """Run graphs `start`, `start + step`, … below `end`."""
    from hot.comparing import Comparison
    from hot.drawing import drawn
    from hot.kernels import Maker
    from hot.shrinking import smallest, told
    from hot.tiers import Compiled, everything_is_worth_it
    from pinnace.framework import config

    config.settings.cache = None
    logging.disable(logging.WARNING)
    compiled = Compiled(Maker())
    comparison = Comparison(compiled)
    counts: collections.Counter[str] = collections.Counter()
    descriptor = os.open(place, os.O_WRONLY)
    shrunk = 0

    def say() -> None:
        counts.update({f"way/{name}": count for name, count in compiled.regions.items()})
        compiled.regions.clear()
        sys.stdout.write(f"COUNTS {json.dumps(counts)}\n")
        sys.stdout.flush()
        counts.clear()

    with everything_is_worth_it():
        for number in range(start, end, step):
            os.pwrite(descriptor, struct.pack("<q", number), 0)
            case = drawn(seed, number)
            report = comparison.run(case, number)
            counts.update(report.counts)
            counts[f"graph/{case.kind}"] += 1
            if report.differences:
                text = "; ".join(report.differences)[:1500]
                if shrunk < _SHRUNK:
                    shrunk += 1
                    way = report.differences[0].split(":")[0]

                    def differs(one: Any, number: int = number, way: str = way) -> bool:
                        found = comparison.run(one, number, every_way=True).differences
                        return any(line.startswith(way) for line in found)

                    text += f"\n{told(smallest(case, differs))}"
                found = {"input": number, "kind": case.kind, "text": text}
                sys.stdout.write(f"FINDING {json.dumps(found)}\n")
            if number % 500 < step:
                say()
    say()


def run(graphs: int, seed: int, workers: int) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        processes = [Worker(seed, n, graphs, workers, Path(scratch)) for n in range(workers)]
        working = list(processes)
        said = 0.0
        while working:
            time.sleep(0.1)
            working = [process for process in working if process.look()]
            if time.monotonic() - said > _SAID_EVERY_S:
                said = time.monotonic()
                done = min(graphs, sum(process.at // workers for process in processes))
                found = sum(len(process.findings) for process in processes)
                sys.stdout.write(
                    f"{done} of {graphs} graphs, {said - began:.0f} s, {found} ended\n"
                )
                sys.stdout.flush()
    counts: collections.Counter[str] = sum((p.counts for p in processes), collections.Counter())
    findings = [finding for process in processes for finding in process.findings]
    return _summary(counts, findings, graphs, seed, time.monotonic() - began)


def _summary(
    counts: collections.Counter[str],
    findings: list[dict[str, Any]],
    graphs: int,
    seed: int,
    seconds: float,
) -> int:
    write = sys.stdout.write
    drawn = {name.partition("/")[2]: n for name, n in counts.items() if name.startswith("graph/")}
    write("graphs, by what they are made of\n")
    for name, count in sorted(drawn.items()):
        write(f"  {name:<44}{count:>10}\n")
    write("regions that ran, by kind\n")
    ran = {name[4:]: n for name, n in counts.items() if name.startswith("way/")}
    for kind, count in sorted(ran.items()):
        write(f"  {kind:<44}{count:>10}\n")
    write("what was done\n")
    for name, count in sorted(counts.items()):
        if not name.startswith(("graph/", "way/")):
            write(f"  {name:<44}{count:>10}\n")
    kinds_found: dict[str, dict[str, Any]] = {}
    for finding in findings:
        kinds_found.setdefault(f"{finding['kind']} {finding['text'][:40]}", finding)
    for finding in list(kinds_found.values())[:SHOWN]:
        write(f"graph {finding['input']}, {finding['kind']}: {finding['text']}\n")
    if findings:
        write(f"all that differ: {' '.join(str(finding['input']) for finding in findings)}\n")
    count = sum(drawn.values())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    write(f"{used.ru_utime + used.ru_stime:.0f} s of processor time\n")
    write(
        f"{count} graphs with seed {seed} in {seconds:.0f} s, {count / max(seconds, 1e-9):.0f} a "
        f"second: {counts['numbers']} numbers compared, {len(findings)} graphs differ\n"
    )
    return 1 if findings or count < graphs else 0


def only(number: int, seed: int) -> int:
    """Run one graph, and find the smallest with the same difference."""
    from hot.comparing import Comparison
    from hot.drawing import drawn
    from hot.kernels import Maker
    from hot.shrinking import smallest, told
    from hot.tiers import Compiled, everything_is_worth_it
    from pinnace.framework import config

    config.settings.cache = None
    with everything_is_worth_it():
        comparison = Comparison(Compiled(Maker()))
        case = drawn(seed, number)
        sys.stdout.write(f"{told(case)}\n")
        report = comparison.run(case, number, every_way=True)
        for line in report.differences:
            sys.stdout.write(f"{line}\n")
        if report.differences:
            way = report.differences[0].split(":")[0]
            small = smallest(
                case,
                lambda one: any(
                    line.startswith(way)
                    for line in comparison.run(one, number, every_way=True).differences
                ),
            )
            sys.stdout.write(f"the smallest that differs:\n{told(small)}\n")
        else:
            sys.stdout.write(f"{case.kind}: no difference\n")
    return 1 if report.differences else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=100_000)
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
        return only(given.only, given.seed)
    return run(given.graphs, given.seed, given.workers)


if __name__ == "__main__":
    sys.exit(main())
