"""Worker processes that score parts: each gets the next part when it has finished one.

A process that dies is replaced, and its part is given to another process once: unfinished files are
never visible. Workers end with the process that started them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from pinnace.deploy.score.scorer import PartResult, Scorer
from pinnace.deploy.termination import sigterm_raises
from pinnace.framework.errors import OpError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from pinnace.deploy.score.parts import Part
    from pinnace.deploy.score.settings import ScoreSettings

_TRIES = 2
_ROWS, _DONE, _FAILED = "rows", "done", "failed"


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    part: Part | None = None


@dataclass(slots=True)
class _Work:
    """The remaining work."""

    waiting: deque[Part]
    deaths: dict[str, int] = field(default_factory=dict)


def score_in_processes(
    settings: ScoreSettings,
    parts: Sequence[Part],
    count: int,
    report: Callable[[int], object] = lambda _: None,
) -> Iterator[PartResult]:
    """Yield the results of all parts in the order in which they finish.

    Args:
        settings: the run's settings; each process loads the model.
        parts: parts from `list_parts`.
        count: the number of processes.
        report: called with the number of further rows that are done.

    Raises:
        OpError: the model cannot be loaded, or results cannot be written.
    """
    work = _Work(deque(parts))
    count = min(count, len(parts))
    threads = max(1, _cores() // max(count, 1))
    workers = [_start(settings, threads) for _ in range(count)]
    try:
        for worker in workers:
            _give(worker, work)
        while any(worker.part is not None for worker in workers):
            busy = {worker.connection: worker for worker in workers if worker.part is not None}
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]  # wait returns these connections
                try:
                    kind, value = worker.connection.recv()
                except (EOFError, OSError):
                    lost = _bury(worker, work)
                    if lost is not None:
                        yield lost
                    workers.remove(worker)
                    if work.waiting:
                        workers.append(_start(settings, threads))
                        _give(workers[-1], work)
                    continue
                if kind == _ROWS:
                    report(value)
                elif kind == _DONE:
                    worker.part = None
                    yield value
                    _give(worker, work)
                else:
                    raise _error(*value)
    finally:
        _end(workers)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def _start(settings: ScoreSettings, threads: int) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(settings, threads, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _give(worker: _Worker, work: _Work) -> None:
    if work.waiting:
        worker.part = work.waiting.popleft()
        try:
            worker.connection.send(worker.part)
        except OSError:  # the process is dead, which a read will report
            return


def _bury(worker: _Worker, work: _Work) -> PartResult | None:
    """Give the part of a dead process to another one; return a failure on the second time."""
    worker.process.join()
    worker.connection.close()
    part, worker.part = worker.part, None
    if part is None:
        return None
    work.deaths[part.target] = work.deaths.get(part.target, 0) + 1
    if work.deaths[part.target] < _TRIES:
        work.waiting.appendleft(part)
        return None
    code = worker.process.exitcode or 0
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with {code}"
    return PartResult(
        part.target,
        error=f"{part.shown}: the process that scored it ended {how}, {_TRIES} times: is there "
        "too little memory?\n  Try: a smaller --batch-size, or fewer --workers",
    )


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.connection.close()
        worker.process.terminate()
    for worker in workers:
        worker.process.join()


def _error(kind: Any, text: str) -> OpError:
    error: OpError = kind(text)
    return error


def _work(settings: ScoreSettings, threads: int, connection: Connection) -> None:
    """The loop of a worker process, until it receives no more parts."""
    # Ctrl-C reaches all processes of a terminal; the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with sigterm_raises():
        _score_parts(settings, threads, connection)


def _score_parts(settings: ScoreSettings, threads: int, connection: Connection) -> None:
    from pinnace.framework import config

    config.set_intra_op_parallelism_threads(threads)
    try:
        scorer = Scorer(settings)
        while True:
            part = connection.recv()
            result = scorer.score(part, lambda rows: connection.send((_ROWS, rows)))
            connection.send((_DONE, result))
    except (EOFError, BrokenPipeError):
        return  # the parent process is gone
    except OpError as error:
        connection.send((_FAILED, (type(error), str(error))))
    except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:
        text = str(error) or type(error).__name__
        connection.send((_FAILED, (UnknownError, text)))
