"""A server that has just started, under load second by second: when is it as fast as later?

Its cache folder is empty, as in a new container. The last ten seconds say what is settled.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from servers.bodies import FORMS
from servers.load import MODELS, Case, Side, clean_environment, load_command, run_load
from servers.processes import start

SECONDS, SETTLED = 60, 10
# Aims: seconds until nine tenths of the settled rate, and the 99th percentile of the first ten
# seconds beside the settled one.
MOST_S, MOST_TIMES, NEAR = 2, 2.0, 0.9
_EARLY = 10
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Curve:
    """What was measured in each second.

    Attributes:
        model: of `models.SIZES`.
        per_second: requests.
        p99_ms: of the answers' times.
        errors: in all.
    """

    model: str
    per_second: list[float]
    p99_ms: list[float]
    errors: int

    @property
    def settled(self) -> float:
        """The settled rate."""
        return statistics.median(self.per_second[-SETTLED:])

    @property
    def reached_s(self) -> int:
        """The first second that has nine tenths of it."""
        return next(n for n, one in enumerate(self.per_second, 1) if one >= NEAR * self.settled)

    @property
    def times(self) -> float:
        """The largest 99th percentile of the first seconds, beside the settled median."""
        return max(self.p99_ms[:_EARLY]) / statistics.median(self.p99_ms[-SETTLED:])

    @property
    def bars(self) -> str:
        """The rates as a line of bars."""
        top = max(self.per_second)
        return "".join(_BARS[round(one / top * (len(_BARS) - 1))] for one in self.per_second)

    def row(self) -> tuple[str, ...]:
        """A row of the table of servers."""
        first = ", ".join(f"{one:,.0f}" for one in self.per_second[:3])
        missed = self.errors or self.reached_s > MOST_S or self.times > MOST_TIMES
        return (
            f"{self.model}, json, 1 rows, 64 connections, a fresh server: {self.bars}",
            f"pinnace, seconds 1, 2, 3: {first}",
            f"{self.settled:,.0f}",
            "",
            "",
            f"{statistics.median(self.p99_ms[-SETTLED:]):.2f}",
            f"settled in second {self.reached_s}; p99 of ten seconds {self.times:.1f} times",
            f"second ≤ {MOST_S}; p99 ≤ {MOST_TIMES:g} times",
            "missed" if missed else "",
        )


def measure_fresh(model: str, seconds: int = SECONDS) -> Curve:
    """The curve of a server with one model."""
    form = FORMS["json"]
    path = f"/v1/models/{model}:predict"
    with tempfile.TemporaryDirectory() as temporary, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        folder = Path(temporary)
        environment = clean_environment() | {"PINNACE_CACHE": str(folder / "cache")}
        python = os.environ.get("PINNACE_WHEEL_PYTHON", sys.executable)
        flags = ["--host=127.0.0.1", "--port=0", f"--rest_api_port={port}"]
        command = [python, "-m", "pinnace.deploy.cli.main", "serve", *flags]
        started = start(
            [*command, f"{model}={MODELS / model}"],
            environment,
            folder,
            port,
            path,
            form.body(1),
            form.headers(1),
        )
        try:
            load = load_command(Side(started, path, form), Case(model, "json", 1, 64, {}), folder)
            found = [run_load(started, load, 1) for _ in range(seconds)]
        finally:
            started.stop()
    rates, _, p99, _, errors = zip(*found, strict=True)
    return Curve(model, [*rates], [*p99], int(sum(errors)))


def main() -> int:
    """Print the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["a", "b"])
    parser.add_argument("--seconds", type=int, default=SECONDS)
    given = parser.parse_args()
    for model in given.models:
        sys.stdout.write(" | ".join(measure_fresh(model, given.seconds).row()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
