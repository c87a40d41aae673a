"""`keras.utils.Progbar`: a progress bar for a user's own training loop."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras import messages

if TYPE_CHECKING:
    from collections.abc import Iterable


class Progbar:
    """A progress line with the means of logged values.

    Args:
        target: how many steps there will be; None if that is not known.
        width: characters of the bar.
        verbose: 1 for a bar, 2 for one line at the end, 0 for nothing.
        interval: seconds between two times that it is drawn, at least.
        stateful_metrics: names of the metrics whose last value is shown; the mean of all steps is
            shown of the rest.
        stateless_metrics: names of the metrics shown as means; others show their last value. At
            most one of the two.
        unit_name: name of a step.

    Raises:
        ValueError: both `stateful_metrics` and `stateless_metrics` are given.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        stateless_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        if stateful_metrics is not None and stateless_metrics is not None:
            raise ValueError(
                "Progbar: Only one of stateful_metrics and stateless_metrics can be given: each "
                "names the metrics that are treated differently from the rest"
            )
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.unit_name = unit_name
        self.stateful_metrics = (
            None if stateless_metrics is not None else set(stateful_metrics or ())
        )
        self.stateless_metrics = None if stateless_metrics is None else set(stateless_metrics)
        self._is_drawn_over = sys.stdout.isatty() or "ipykernel" in sys.modules
        # For each metric: the sum of its values times steps; and the steps.
        self._values: dict[str, tuple[Any, int]] = {}
        self._seen = 0
        self._began = time.perf_counter()
        self._first_step: float | None = None
        self._drawn = 0.0
        self._length = 0

    def update(
        self,
        current: int,
        values: Iterable[tuple[str, Any]] | None = None,
        finalize: bool | None = None,
    ) -> None:
        """Show the number of completed steps.

        Args:
            current: the steps so far.
            values: name and number of each metric, of the steps since the last call.
            finalize: whether this is the end of the line; None: once `target` is reached.
        """
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        for name, value in values or ():
            self._note(name, value, max(current - self._seen, 1), finalize)
        self._seen = current
        now = time.perf_counter()
        pace = self._seconds_a_step(current, now)
        if self.verbose == 1 and (finalize or now - self._drawn >= self.interval):
            self._draw(current, now, pace, finalize)
            self._drawn = now
        elif self.verbose == 2 and finalize and self.target:
            elapsed = f"{now - self._began:.0f}s - {self._pace(pace)}"
            messages.write(f"{self._count(current)} - {elapsed}{self._metrics()}\n")

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Advance by `n` steps; values as in `update`."""
        self.update(self._seen + n, values)

    def _note(self, name: str, value: Any, steps: int, is_last: bool) -> None:
        if self.stateless_metrics is not None:
            is_mean = name in self.stateless_metrics
        else:
            is_mean = name not in (self.stateful_metrics or ())
        if not is_mean or is_last:
            self._values[name] = (value, 1)
        else:
            total, count = self._values.get(name, (0.0, 0))
            self._values[name] = (total + value * steps, count + steps)

    def _seconds_a_step(self, current: int, now: float) -> float:
        """The mean time of a step; the first, which includes tracing, counts only while alone."""
        if not current:
            return 0.0
        found = (now - self._began) / current
        if self._first_step is not None and current > 1:
            found = (now - self._first_step) / (current - 1)
        if current == 1:
            self._first_step = now
        return found

    def _draw(self, current: int, now: float, pace: float, is_last: bool) -> None:
        bar = f"{current:7d}/Unknown"
        if self.target:
            full = int(self.width * min(current / self.target, 1.0))
            bar = f"{self._count(current)} {'━' * full}{'╌' * (self.width - full)}"
        seconds = now - self._began
        if self.target and not is_last:
            seconds = pace * (self.target - current)
        line = f"{bar} {_clock(seconds)} {self._pace(pace)}{self._metrics()}"
        if not self._is_drawn_over or not messages.is_interactive_logging_enabled():
            messages.write(f"{line}\n")
            return
        messages.write("\r" + line.ljust(self._length) + ("\n" if is_last else ""))
        self._length = 0 if is_last else len(line)

    def _count(self, current: int) -> str:
        return f"{current:{len(str(self.target))}d}/{self.target}"

    def _pace(self, seconds: float) -> str:
        if seconds >= 1 or seconds == 0:
            return f"{seconds:.0f}s/{self.unit_name}"
        if seconds >= 1e-3:
            return f"{seconds * 1e3:.0f}ms/{self.unit_name}"
        return f"{seconds * 1e6:.0f}us/{self.unit_name}"

    def _metrics(self) -> str:
        text = ""
        for name, (total, count) in self._values.items():
            mean = float(np.mean(np.asarray(total))) / max(1, count)
            text += f" - {name}: " + (f"{mean:.4f}" if abs(mean) > 1e-3 else f"{mean:.4e}")
        return text


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if whole > 60 else f"{whole}s"
