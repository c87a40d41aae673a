"""Restoring: the state shared by all objects made while one configuration is read."""

from __future__ import annotations

import math
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import ResourceExhaustedError
from pinnace.keras.config_errors import MalformedConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.dtypes import DType


# Numbers that a metric of a file may hold: a confusion matrix of 4,096 classes.
_MOST_NUMBERS = 1 << 24


class Restoring:
    """The state of one reading of a configuration.

    Args:
        budget: bytes that the weights of all layers may take together: what stands in the file.
            None sets no bound, and leaves first values to the initializers.
        compiles: whether models are compiled as they were.
        safe_mode: without effect: code in a configuration is never run.
    """

    def __init__(self, budget: int | None = None, compiles: bool = True) -> None:
        self.budget = budget
        self.compiles = compiles
        # Objects that occur several times in the configuration, by number.
        self.shared: dict[int, Any] = {}
        self._waiting: list[tuple[Any, Any, Any]] = []

    @property
    def fills(self) -> bool:
        """Whether the values of all weights come from a file."""
        return self.budget is not None

    def take(self, who: str, sizes: Sequence[int], kind: DType) -> None:
        """Account for a weight that will be created.

        Raises:
            ResourceExhaustedError: the file is too small for the values of the weights.
        """
        if self.budget is None:
            return
        self.budget -= math.prod(sizes) * kind.size
        if self.budget < 0:
            raise ResourceExhaustedError(
                f"{who}: shape {list(sizes)} needs more values than the file holds"
            )

    def later(self, made: Any, build: Any, compilation: Any) -> None:
        """Note how an object is built and compiled once the objects around it are made."""
        if build or compilation:
            self._waiting.append((made, build, compilation))

    def finish(self) -> None:
        """Build and compile the waiting objects, outer ones first, since they build inner ones."""
        while self._waiting:
            made, build, compilation = self._waiting.pop()
            if build and not getattr(made, "built", True):
                made.build_from_config(build)
            if compilation and self.compiles:
                compile_again(made, compilation)


def compile_again(model: Any, told: Any) -> None:
    """Compile a model as a file describes; warn with the reason if that is impossible.

    Its weights are useful without it: a retired argument of an optimizer is no reason to refuse the
    file.

    Args:
        model: the model read.
        told: the arguments of `compile`, as a configuration.

    Raises:
        ValueError: the configuration is damaged, or contains an unknown name.
    """
    try:
        model.compile_from_config(told)
    except (MalformedConfigError, UnknownNameError):
        raise
    except (TypeError, ValueError) as error:
        warnings.warn(
            f"load_model: {model.name!r} is not compiled: {error}\n"
            "  Try: model.compile(...) before fit or evaluate",
            stacklevel=6,
        )


class _Current(threading.local):
    reading: Restoring | None = None


_current = _Current()


def current() -> Restoring | None:
    """The reading in progress in this thread."""
    return _current.reading


def check_metric(who: str, what: str, count: int, size: int) -> None:
    """Raise for a metric of a file that would take much memory, whose size no values bound.

    Args:
        who: the metric's class.
        what: the argument.
        count: the value given for it.
        size: numbers that the metric then holds.

    Raises:
        ValueError: the metric is too large, and a file is being read.
    """
    if current() is not None and size > _MOST_NUMBERS:
        raise ValueError(
            f"{who}: {what}={count} needs {size} numbers; a metric in a file may have at most "
            f"{_MOST_NUMBERS}"
        )


@contextmanager
def reading(restoring: Restoring | None = None) -> Iterator[Restoring]:
    """A block in which objects are created for one reading; they are built and compiled at its end.

    Args:
        restoring: None joins the reading around this one, or begins one if there is none.
    """
    around = _current.reading
    if restoring is None and around is not None:
        yield around
        return
    own = _current.reading = restoring or Restoring()
    try:
        yield own
        own.finish()
    finally:
        _current.reading = around
