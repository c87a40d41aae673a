"""Shared by both captures: a log to resume from, and TensorFlow's results for changed inputs.

Run by TensorFlow's interpreter.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from peers.captures.cases import Case, Feed, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TEST_S = 240


class TooLong(BaseException):
    """A test took too long."""


class Enough(BaseException):
    """All wanted cases of a test have been captured."""


class Log:
    """Started tests and the results of their cases; a second run continues after the last.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        lines = path.read_text().splitlines() if path.exists() else []
        self.begun = {row["begin"] for row in map(json.loads, lines) if "begin" in row}
        self._file = path.open("a")

    def say(self, **row: Any) -> None:
        print(json.dumps(row), file=self._file, flush=True)

    def begin(self, test: str) -> None:
        self.say(begin=test)
        signal.alarm(_TEST_S)


def _late(*_: object) -> None:
    raise TooLong


def watch() -> None:
    """End tests that take too long."""
    signal.signal(signal.SIGALRM, _late)


class Writer:
    """Writes cases to a folder, and records them in a log.

    Args:
        folder: folder of all cases.
        log: log of this module.
        limit: maximum number of cases of one test.
    """

    def __init__(self, folder: Path, log: Log, limit: int) -> None:
        self._folder, self._log, self._limit = folder, log, limit
        self._test, self.count = "", 0

    def begin(self, test: str) -> None:
        self._log.begin(test)
        self._test, self.count = test, 0

    def next(self) -> None:
        """Start another case of the test."""
        self.count += 1
        if self.count > self._limit:
            raise Enough

    def write(
        self,
        ending: str,
        model: Callable[[Path], None],
        feeds: list[tuple[str, dict[str, Any]]],
        settings: dict[str, Any],
    ) -> bool:
        """Save a model, and record TensorFlow's results.

        Args:
            ending: suffix of the case's name, after test and number.
            model: function that writes it to a folder.
            feeds: kinds and inputs; those that TensorFlow refuses are omitted.
            settings: settings of the case.
        """
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{self._test}.{self.count}{ending}")[:180]
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            model(folder)
            answered = list(_answers(folder, feeds))
            save(Case(name, folder, feeds=tuple(answered), **settings))
        except (TooLong, Enough):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            self._log.say(case=name, ok=False, error=f"{type(error).__name__}: {error}"[:400])
            return False
        self._log.say(case=name, ok=True, kinds=[feed.kind for feed in answered])
        return True


def _answers(folder: Path, feeds: list[tuple[str, dict[str, Any]]]) -> Iterator[Feed]:
    loaded = tf.saved_model.load(str(folder))
    signature = loaded.signatures["serving_default"]
    specs = signature.structured_input_signature[1]
    for kind, feed in feeds:
        # TensorFlow also accepts feeds of other shapes than declared; a file need not.
        if not all(specs[name].shape.is_compatible_with(v.shape) for name, v in feed.items()):
            continue
        try:
            given = {k: tf.convert_to_tensor(v, specs[k].dtype) for k, v in feed.items()}
            found = {k: v.numpy() for k, v in signature(**given).items()}
        except Exception:
            if kind == "own":
                raise
            continue
        yield Feed(kind, {k: v.numpy() for k, v in given.items()}, found)


def changed(feed: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The inputs with other sizes of their axes; TensorFlow decides which of them are valid."""
    yield "doubled", {k: np.concatenate([v, v]) if v.ndim else v for k, v in feed.items()}
    yield "one row", {k: v[:1] if v.ndim else v for k, v in feed.items()}
    yield (
        "longer",
        {k: np.concatenate([v, v[..., :3]], -1) if v.ndim else v for k, v in feed.items()},
    )
    for name in feed if len(feed) > 1 else ():
        if feed[name].ndim:
            twice = np.concatenate([feed[name], feed[name]])
            yield f"doubled {name}", {**feed, name: twice}
    yield "no row", {k: v[:0] if v.ndim else v for k, v in feed.items()}


def arguments() -> tuple[str, Path, Log, int, list[str]]:
    """The command line's module, folder of cases, its log, cases per test, words of tests."""
    module, folder, limit, *words = sys.argv[1:]
    cases = Path(folder)
    cases.mkdir(parents=True, exist_ok=True)
    return module, cases, Log(cases.parent / f"{module}.log"), int(limit), words
