"""ProgbarLogger: a bar on a terminal, an updated line in a notebook, separate lines elsewhere."""

# Hooks have fixed parameters, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from pinnace.keras import messages
from pinnace.keras.callbacks.callback import Callback

if TYPE_CHECKING:
    from collections.abc import Callable

# A bar is drawn at most this often (seconds): drawing costs more than a small step.
_EVERY_S = 0.1
# If output cannot be overwritten (a log file), a line is printed at this interval in seconds.
_LINE_EVERY_S = 30.0
_BAR = "━" * 20


class ProgbarLogger(Callback):
    """Shows the progress of training, with loss and metrics."""

    of_the_chief = True
    wants_batches = False

    def __init__(self) -> None:
        super().__init__()
        self._level = 1
        self._kind = "train"
        self._epochs = 1
        self._batches: Any = None
        self._bar: Any = None
        self._task: Any = None
        # Characters of the line that the next one is written over, in a notebook.
        self._width: int | None = None
        self._started = self._drawn = 0.0
        self._done = 0

    def begin(self, level: int, batches: Any, kind: str, epochs: int) -> None:
        """Called before training.

        Args:
            level: 1 for a bar, 2 for lines.
            batches: the training data: has `count`, the number in an epoch; or None.
            kind: `train`, `test` or `predict`.
            epochs: how many there will be.
        """
        self._level = level
        self._batches = batches
        self._kind = kind
        self._epochs = epochs

    def _start(self, title: str) -> None:
        self._started = self._drawn = time.perf_counter()
        self._done = 0
        if title:
            _say(title)
        self._width = None
        draws = self._level == 1 and messages.is_interactive_logging_enabled()
        if draws and in_notebook():
            self._width = 0
        elif draws and sys.stdout.isatty():
            self._bar = _bar()
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total(), text="")

    def _total(self) -> int | None:
        return None if self._batches is None else self._batches.count

    def advance(self, index: int, logs: Callable[[], dict[str, Any]]) -> None:
        """Count a batch; `logs()` is called only when the bar is drawn."""
        self._done = index + 1
        if self._level != 1:
            return
        now = time.perf_counter()
        drawn_over = self._bar is not None or self._width is not None
        if now - self._drawn <= (_EVERY_S if drawn_over else _LINE_EVERY_S):
            return
        self._drawn = now
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, text=self._text(logs()))
            self._bar.refresh()
        elif self._width is None:
            _say(self._line("- ", logs()))
        else:
            total = self._total() or 0
            share = min(self._done / total, 1.0) if total else 0.0
            full = round(share * len(_BAR))
            self._redraw(self._line(f"{_BAR[:full]}{'╌' * (len(_BAR) - full)} ", logs()))

    def _line(self, bar: str, logs: dict[str, Any]) -> str:
        total = self._total()
        return f"{self._done}/{'?' if total is None else total} {bar}{self._text(logs)}"

    def _redraw(self, line: str) -> None:
        messages.write("\r" + line.ljust(self._width or 0))
        self._width = len(line)

    def close(self) -> None:
        """Stop drawing the bar, also after an exception."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._width:
            messages.write("\n")
        self._width = None

    def _text(self, logs: dict[str, Any]) -> str:
        elapsed = time.perf_counter() - self._started
        pace = f"{elapsed:.0f}s {_duration(elapsed / max(self._done, 1))}/step"
        return " - ".join([pace, *(f"{name}: {_number(value)}" for name, value in logs.items())])

    def _finish(self, logs: dict[str, Any]) -> None:
        """Print the bar's final state as a line."""
        bar = f"{_BAR} " if self._bar is not None or self._width is not None else "- "
        total = self._total()
        self._done = self._done or total or 0
        line = f"{self._done}/{self._done if total is None else total} {bar}{self._text(logs)}"
        if self._width is not None:
            self._redraw(line)
            self.close()
            return
        self.close()
        _say(line)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch."""
        self._start(f"Epoch {epoch + 1}/{self._epochs}")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch."""
        self._finish(logs or {})

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before testing."""
        if self._kind == "test":
            self._start("")

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after testing."""
        if self._kind == "test":
            self._finish(logs or {})

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before `predict`."""
        self._start("")

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after `predict`."""
        self._finish({})


def in_notebook() -> bool:
    """Whether output is in a notebook cell, which supports no cursor movement."""
    return "ipykernel" in sys.modules


def _bar() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        MofNCompleteColumn(),
        BarColumn(bar_width=len(_BAR)),
        TextColumn("{task.fields[text]}"),
        auto_refresh=False,
        transient=True,
    )


def _number(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return f"{number:.4f}" if abs(number) > 1e-3 or number == 0 else f"{number:.4e}"


def _duration(seconds: float) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _say(text: str) -> None:
    messages.write(f"{text}\n")
