"""Several processes that answer on one port, and a supervisor.

Workers are forked by a process without threads of its own and without models: forking it is safe,
and fast at any time. They accept from one socket, so that connections that wait for a killed worker
are taken by another one. Weights are mapped from their files, so that they are in memory once.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import OpError, UnimplementedError
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.models.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinnace.serving.config.model_config import ModelConfig
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.version_loader import Loader
    from pinnace.serving.observing.ledger import Ledger

_QUICK_S = 5.0  # a worker that ends sooner is replaced after a growing delay
_LONGEST_PAUSE_S = 30.0
_GRACE_S = 5.0  # beyond the time for pending answers
_MAX_LINE = 65536


class Seat:
    """A worker's connection to the supervisor.

    Args:
        index: the worker's index, from 0.
        is_first: whether it reports for all workers at the start.
        channel: the socket to the supervisor.
    """

    def __init__(self, index: int, is_first: bool, channel: socket.socket) -> None:
        self.index = index
        self.is_first = is_first
        self._channel = channel
        self._lock = threading.Lock()

    def tell(self, message: dict[str, Any]) -> None:
        """Send the supervisor a message."""
        with self._lock, suppress(OSError):
            self._channel.sendall(json.dumps(message).encode() + b"\n")

    def listen(self, obey: Callable[[dict[str, Any]], None]) -> None:
        """Obey the supervisor, in a thread; end the process if the supervisor has ended."""

        def work() -> None:
            with suppress(OSError), self._channel.makefile("rb") as lines:  # a reset: it was killed
                for line in lines:
                    try:
                        obey(json.loads(line))
                    except OpError as error:
                        LOG.error("%s", one_line(error))
                    except Exception:
                        LOG.exception("a message of the supervisor failed")
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=work, name="pinnace-supervisor", daemon=True).start()


class SharedRepository(Repository):
    """The models of one of several workers; client requests to one apply to all.

    Args:
        settings: the models, and the interval of checks for changes.
        loader: loads the model in a folder.
        seat: the worker's seat.
    """

    def __init__(self, settings: Settings, loader: Loader, seat: Seat) -> None:
        super().__init__(settings, loader)
        self._seat = seat

    def load(self, name: str) -> None:
        """Serve an unloaded model again, in every worker."""
        super().load(name)
        self._pass_on("load", name)

    def unload(self, name: str) -> None:
        """Stop serving a model until `load`, in every worker."""
        super().unload(name)
        self._pass_on("unload", name)

    def replace_models(self, models: Iterable[ModelConfig]) -> None:  # noqa: ARG002 - the parent's
        """Refuse a client's request, which one of several workers cannot fulfil.

        Raises:
            UnimplementedError: always.
        """
        raise UnimplementedError(
            "With several workers, models come from the configuration file alone\n"
            "  Try: change --model_config_file, and send SIGHUP to the server"
        )

    def obey(self, message: dict[str, Any]) -> None:
        """Follow a message of another worker or the supervisor."""
        if message["do"] == "reload":
            self.reload()
        elif message["do"] == "load":
            super().load(message["model"])
        elif message["do"] == "unload":
            super().unload(message["model"])

    def _pass_on(self, verb: str, name: str) -> None:
        self._seat.tell({"do": verb, "model": name})


class _Worker:
    """A worker in the supervisor."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self.begun = time.monotonic()
        self.is_ready = False
        self.text = b""


class Supervisor:
    """Starts workers, replaces those that end, and ends all of them on a signal.

    Args:
        count: the number of workers.
        work: runs a worker; returns its exit code.
        ledger: the ledger, of which each worker claims a page.
        finish_s: time for workers to answer pending requests.
        drain_s: time before that in which they continue after SIGTERM.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[Seat], int],
        ledger: Ledger,
        finish_s: float,
        drain_s: float,
    ) -> None:
        self._count = count
        self._work = work
        self._ledger = ledger
        self._finish_s = finish_s
        self._drain_s = drain_s
        self._workers: dict[int, _Worker] = {}
        self._pauses: dict[int, float] = {}
        self._due: dict[int, float] = {}
        self._said: dict[str, dict[str, Any]] = {}
        self._selector = selectors.DefaultSelector()
        self._wakes, self._wake = socket.socketpair()
        self._signals: list[int] = []
        self._is_up = False  # whether the first worker answers
        self._is_ending = False
        self._kill_at = float("inf")

    def run(self) -> int:
        """Supervise until a signal.

        Returns:
            The exit code: that of the first worker if its start failed, otherwise 0.
        """
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        self._wakes.setblocking(False)
        self._wake.setblocking(False)
        self._selector.register(self._wakes, selectors.EVENT_READ)
        before = {number: signal.signal(number, self._note) for number in numbers}
        wakeup = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        try:
            self._start(0)
            while True:
                code = self._turn()
                if code is not None:
                    return code
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._kill()

    def _note(self, number: int, _: object) -> None:
        self._signals.append(number)

    def _turn(self) -> int | None:
        """Wait for an event and handle it; return the exit code when all workers have ended."""
        self._wait()
        while self._signals:
            self._obey_signal(self._signals.pop(0))
        for index, status in self._ended():
            if self._is_ending:
                continue
            if not self._is_up:
                return max(status, 1)
            self._plan_another(index, status)
        if self._is_ending:
            if time.monotonic() >= self._kill_at:
                self._kill()
            return None if self._workers else 0
        if not self._is_up and self._workers[0].is_ready:
            self._is_up = True
            self._due.update(dict.fromkeys(range(1, self._count), 0.0))
        now = time.monotonic()
        for index in [index for index, at in self._due.items() if now >= at]:
            del self._due[index]
            self._start(index, is_first=False)
        return None

    def _kill(self) -> None:
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)

    def _wait(self) -> None:
        times = [*self._due.values(), self._kill_at]
        timeout = min(max(min(times) - time.monotonic(), 0.0), 1.0)
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._wakes:
                with suppress(BlockingIOError):
                    self._wakes.recv(4096)
            else:
                self._read(key.data)

    def _read(self, index: int) -> None:
        worker = self._workers[index]
        try:
            data = worker.channel.recv(_MAX_LINE)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(worker.channel)
            worker.channel.close()
            return
        *lines, worker.text = (worker.text + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["do"] == "ready":
                worker.is_ready = True
                for said in self._said.values():
                    self._tell(worker, said)
            else:
                self._said[message["model"]] = message
                for other in self._workers.values():
                    if other is not worker:
                        self._tell(other, message)

    def _tell(self, worker: _Worker, message: dict[str, Any]) -> None:
        with suppress(OSError):
            worker.channel.sendall(json.dumps(message).encode() + b"\n")

    def _obey_signal(self, number: int) -> None:
        if number == signal.SIGHUP:
            for worker in self._workers.values():
                self._tell(worker, {"do": "reload"})
        elif number in (signal.SIGTERM, signal.SIGINT):
            now = time.monotonic()
            if self._is_ending:
                self._kill_at = now + _GRACE_S
                for worker in self._workers.values():
                    self._tell(worker, {"do": "hurry"})
                return
            self._is_ending = True
            drain_s = self._drain_s if number == signal.SIGTERM else 0.0
            self._kill_at = now + drain_s + self._finish_s + _GRACE_S
            for worker in self._workers.values():
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, number)

    def _ended(self) -> list[tuple[int, int]]:
        """The index and exit code of each worker that has ended since the last call."""
        found = []
        for index, worker in list(self._workers.items()):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                del self._workers[index]
                with suppress(KeyError, ValueError):
                    self._selector.unregister(worker.channel)
                worker.channel.close()
                is_quick = time.monotonic() - worker.begun < _QUICK_S
                pause = self._pauses.get(index, 0.0)
                self._pauses[index] = (
                    min(max(pause * 2, 0.1), _LONGEST_PAUSE_S) if is_quick else 0.0
                )
                found.append((index, os.waitstatus_to_exitcode(status)))
        return found

    def _plan_another(self, index: int, status: int) -> None:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
        LOG.error("worker %d %s; another one takes its place", index, how)
        self._due[index] = time.monotonic() + self._pauses[index]

    def _start(self, index: int, *, is_first: bool = True) -> None:
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # NumPy's own threads handle forks; this process has no others.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._become_worker(ours)
                self._ledger.claim(index)
                code = self._work(Seat(index, is_first, theirs))
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException:
                LOG.exception("worker %d failed", index)
            finally:
                os._exit(code)
        theirs.close()
        self._workers[index] = _Worker(pid, ours)
        self._selector.register(ours, selectors.EVENT_READ, index)

    def _become_worker(self, ours: socket.socket) -> None:
        """Release the supervisor's resources."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor decides when to reload
        self._selector.close()
        for one in (ours, self._wake, self._wakes, *(w.channel for w in self._workers.values())):
            one.close()
        self._workers.clear()
