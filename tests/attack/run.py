"""`make attack`: replays known attacks on a separate server, and measures their cost.

    python -m attack.run [--short] [--only TEXT] [--seconds S]

Servers listen on 127.0.0.1, and everything ends by itself. Each attack lasts some seconds, while a
probe in another process calls another model; the table shows the probe's latency before, during and
after it, and the memory of the server. The exit code is 1 if a bound is exceeded three times in a
row: a single time may be due to the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1]))

from attack import connections, control, models
from attack.bodies import Body, all_bodies
from attack.probe import Seen, seen
from attack.sending import Sender
from attack.world import World, save_models, world

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Work: TypeAlias = "Callable[[World, float], Awaitable[Counter[str]]]"

_MB = 2**20
_TRIES = 3
# Memory is returned to the system half a second later; runs that an attack started end before that.
_QUIET_S, _LEAST_QUIET_S = 0.6, 0.1


@dataclass
class Bounds:
    """The permitted cost of an attack.

    Attributes:
        memory: megabytes at any time.
        kept: megabytes after its end.
        p99: milliseconds by which the probe's 99th percentile may rise.
        stall: milliseconds by which a single answer to the probe may be delayed.
    """

    memory: float = 64.0
    kept: float = 48.0
    p99: float = 20.0
    stall: float = 50.0


FLOOD = Bounds(memory=192.0, kept=96.0, p99=20.0, stall=100.0)

# A response of 120 MB is in memory as numbers, and twice as encoded text; others get answers.
LONG = Bounds(memory=900.0, kept=400.0, p99=300.0, stall=1500.0)

# Here it may use what is requested; the criterion is that it survives, and that all get answers.
FULL = Bounds(memory=1600.0, kept=400.0, p99=1000.0, stall=5000.0)


@dataclass
class Row:
    """The cost of an attack."""

    name: str
    statuses: Counter[str]
    memory: float
    kept: float
    before: Seen
    during: Seen
    after: Seen
    problems: list[str] = field(default_factory=list)


async def measured(
    one: World,
    name: str,
    work: Work,
    bounds: Bounds,
    seconds: float,
) -> Row:
    """The cost of some work for a server."""
    watched = min(max(seconds, 0.2), 1.0)
    # The latencies after the previous attack are those before this one.
    await asyncio.sleep(one.quiet_since + watched - time.monotonic())
    begin = time.monotonic()
    before = seen(one.notes, begin - watched, begin)
    held, tracebacks = one.memory(), one.tracebacks()
    one.forget_peak()
    statuses = await work(one, seconds)
    end = time.monotonic()
    peak = one.peak()
    await at_rest(one, held + bounds.kept * _MB / 2)
    one.quiet_since = time.monotonic()
    await asyncio.sleep(watched)
    during = seen(one.notes, begin, end)
    after = seen(one.notes, one.quiet_since, time.monotonic())
    row = Row(
        name, statuses, (peak - held) / _MB, (one.memory() - held) / _MB, before, during, after
    )
    if row.memory > bounds.memory:
        row.problems.append(f"memory {row.memory:.0f} MB")
    if row.kept > bounds.kept:
        row.problems.append(f"kept {row.kept:.0f} MB")
    quiet = max(before.p99, after.p99)  # the machine's own variation
    if during.p99 - quiet > bounds.p99:
        row.problems.append(f"p99 moved by {during.p99 - quiet:.0f} ms")
    if during.longest - quiet > bounds.stall:
        row.problems.append(f"an answer took {during.longest:.0f} ms")
    if after.p99 - before.p99 > bounds.stall:
        row.problems.append(f"answers still take {after.p99:.0f} ms")
    for status in statuses:
        if status.startswith("!") or status in ("500", "501", "502", "INTERNAL", "UNKNOWN"):
            row.problems.append(f"{statuses[status]} times {status.removeprefix('!')}")
    if one.tracebacks() > tracebacks:
        row.problems.append("a traceback in the log")
    return row


async def at_rest(one: World, memory: float) -> None:
    """Wait until a server has freed the memory of an attack, well below what it may keep."""
    end = time.monotonic() + _QUIET_S
    await asyncio.sleep(_LEAST_QUIET_S)
    while one.memory() > memory and time.monotonic() < end:
        await asyncio.sleep(0.02)


async def tried(
    one: World,
    name: str,
    work: Work,
    bounds: Bounds,
    seconds: float,
) -> Row:
    """The row of an attack; the last of three if a bound is exceeded each time."""
    for left in reversed(range(_TRIES)):
        row = await measured(one, name, work, bounds, seconds)
        if not row.problems or not left:
            break
    return row


def body_attack(body: Body, front: str) -> Work:
    """The same request repeatedly, one at a time."""

    async def work(one: World, seconds: float) -> Counter[str]:
        statuses: Counter[str] = Counter()
        async with Sender(one) as sender:
            end = time.monotonic() + seconds
            while not statuses or time.monotonic() < end:
                statuses[await sender.send(body, front)] += 1
        return statuses

    return work


def show(row: Row) -> None:
    """Print a row of the table."""
    statuses = " ".join(f"{status}×{count}" for status, count in sorted(row.statuses.items()))
    sys.stdout.write(
        f"{'MISSED' if row.problems else 'ok':<7}{row.name[:52]:<53}"
        f"{row.memory:7.1f}{row.kept:7.1f}"
        f"{row.before.p99:8.1f}{row.during.p99:8.1f}{row.after.p99:8.1f}{row.during.longest:8.1f}"
        f"  {statuses[:48]}{'  <- ' + ', '.join(row.problems) if row.problems else ''}\n"
    )
    sys.stdout.flush()


class Attacks:
    """Runs attacks, one after the other, and prints the cost of each.

    Args:
        seconds: duration of each.
        only: text that the names of the attacks to run contain.
        bodies: bounds for single requests.
    """

    def __init__(self, seconds: float, only: str, bodies: Bounds) -> None:
        self._seconds = seconds
        self._only = only
        self._bodies = bodies
        self.rows: list[Row] = []

    async def take(self, one: World, name: str, work: Work, bounds: Bounds | None = None) -> None:
        """Attack a server, if the name of the attack is selected."""
        if self._only in name:
            self.rows.append(await tried(one, name, work, bounds or self._bodies, self._seconds))
            show(self.rows[-1])

    async def take_bodies(self, one: World, short: bool) -> None:
        """Run every body on each front end, in the short form on one of them."""
        async with Sender(one) as sender:  # what the first requests load is not due to an attack
            for body in all_bodies()[::7]:
                for front in ("hot", "cold"):
                    await sender.send(body, front)
        for i, body in enumerate(all_bodies()):
            fronts = ("grpc",) if body.is_grpc else ("hot", "cold")
            if "Content-Encoding" in body.headers:
                fronts = ("cold",)
            for front in fronts[i % len(fronts) :][:1] if short else fronts:
                await self.take(one, f"{front}: {body.name}", body_attack(body, front))


async def attack(folder: Path, seconds: float, only: str, short: bool) -> list[Row]:
    """Run all attacks, one after the other."""
    # So few answers have no 99th percentile: the slowest one is taken.
    bodies = Bounds(128.0, 96.0, p99=100.0, stall=150.0) if short else Bounds()
    flood = Bounds(192.0, 96.0, p99=100.0, stall=250.0) if short else FLOOD
    attacks = Attacks(seconds, only, bodies)
    with world(folder, ["--max_run_ms=2000", "--file_system_poll_wait_seconds=0.2"]) as one:
        await attacks.take_bodies(one, short)
        for name, work in {**connections.ATTACKS, **control.ATTACKS, **models.ATTACKS}.items():
            await attacks.take(one, name, work, LONG if name in models.LONG else flood)
    for name, (work, find_options, flags) in {**connections.OTHERS, **models.OTHERS}.items():
        if only not in name or (short and name in models.MAY_END_THE_SERVER):
            continue
        options = find_options(folder)
        with world(folder, [*flags, *options.pop("flags", [])], **options) as one:
            await attacks.take(one, name, work, FULL if name == "no memory is left" else flood)
    return attacks.rows


def main() -> int:
    """Run the attacks and print their costs.

    Returns:
        1 if a bound was exceeded.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="about a minute")
    parser.add_argument("--only", default="", help="attacks whose names have this in them")
    parser.add_argument("--seconds", type=float, default=0.0, help="of each attack")
    given = parser.parse_args()
    seconds = given.seconds or float(os.environ.get("ATTACK_SECONDS") or 0)
    seconds = seconds or (0.15 if given.short else 2.0)
    begin = time.monotonic()
    sys.stdout.write(
        f"{'':7}{'attack':<53}{'MB':>7}{'kept':>7}{'before':>8}{'during':>8}"
        f"{'after':>8}{'longest':>8}"
        "  ms, p99 of another model\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        save_models(Path(scratch))
        rows = asyncio.run(attack(Path(scratch), seconds, given.only, given.short))
    missed = [row.name for row in rows if row.problems]
    sys.stdout.write(
        f"{len(rows)} attacks in {time.monotonic() - begin:.0f} s; "
        f"{len(missed)} missed a bound{': ' + ', '.join(missed) if missed else ''}\n"
    )
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
