"""Scoring on a Ray cluster: actors hold the model and score parts of the data.

A part is only given to an actor that runs and has loaded the model; actors for which the cluster
has no room wait without delaying the others. An actor that dies is replaced, and its part is given
to another: unfinished results were never visible, and finished ones are written again under the
same name. Actors end with the process that started them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import AuthenticationError, RayActorError, RayError, RayTaskError

from pinnace.deploy.score.scorer import PartResult, Scorer
from pinnace.deploy.score.stores import is_url, local_path
from pinnace.framework import config
from pinnace.framework.errors import (
    InvalidArgumentError,
    OpError,
    UnauthenticatedError,
    UnavailableError,
    UnknownError,
)
from pinnace.framework.extras import install_command
from pinnace.keras.own_modules import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.deploy.score.parts import Part
    from pinnace.deploy.score.run import Engine
    from pinnace.deploy.score.settings import ScoreSettings

# Ray's environment variable, its address for a local cluster, and its word for a running one.
_ADDRESS, _LOCAL, _FOUND = "RAY_ADDRESS", "local", "auto"
# How often a part, or loading the model, may crash an actor.
_TRIES = 3
# The object store of a local cluster: Ray's minimum is 75 MB, and no rows go through it.
_STORE_BYTES = 100_000_000
_CONNECT_S = 10.0
_ANSWER_S = 60.0
# The program that checks an address in a separate process, and Ray's message for a refused token.
_ASK = """
import sys
import ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
_REFUSED = "Unauthenticated"
_MODE = "RAY_AUTH_MODE"
# The environment variables that influence results; actors get the same values.
_PASSED = (VARIABLE, "PINNACE_TIER", "PINNACE_FUSION", "PINNACE_DETERMINISM", "PINNACE_EAGER")


def actor_pool(
    address: str | None = None, actors: int | None = None, *, start_timeout_s: float = 600.0
) -> Engine:
    """An engine for `run_plan`: actors of a Ray cluster, each with the model and one CPU.

    All machines must reach the model, the data and the output under the same paths or URLs; paths
    are made absolute here. A part during which three actors died is reported as an error. A process
    that is connected to a cluster stays connected; otherwise it is connected while parts are left.

    Args:
        address: address of the cluster, `HOST:PORT`, or `auto` for one that runs on this machine;
            None takes `RAY_ADDRESS`, or starts a cluster on this machine, which ends with the run.
        actors: how many, at most; None makes one for each CPU of the cluster.
        start_timeout_s: how long no actor may have started, in seconds, where none is at work.

    Returns:
        A function of settings, parts and a report of rows, which returns the results of the parts
        in the order in which they finish. It raises `UnauthenticatedError` if the cluster requires
        another token, `UnavailableError` if no cluster answers or starts an actor, and the errors
        of `Scorer`.

    Raises:
        InvalidArgumentError: the address is none, `actors` is below 1.
    """
    where = _checked(address or os.environ.get(_ADDRESS) or _LOCAL)
    if actors is not None and actors < 1:
        raise InvalidArgumentError(f"actor_pool: actors must be at least 1, got {actors}")

    def score(
        settings: ScoreSettings, parts: Sequence[Part], report: Callable[[int], object]
    ) -> Iterator[PartResult]:
        with _connected(where):
            count = actors or max(1, int(ray.cluster_resources().get("CPU", 1)))
            pool = _Pool(_reachable(settings), count, start_timeout_s)
            for result in pool.score([_reachable_part(part) for part in parts]):
                report(result.rows + result.bad)
                yield result

    return score


class _Actor:
    """A process of the cluster with the model; errors of this library are returned as values."""

    def __init__(self, settings: ScoreSettings, folder: str) -> None:
        if folder not in sys.path:
            sys.path.append(folder)  # for modules of `--import`
        self._settings = settings
        self._scorer: Scorer | None = None

    def load(self) -> OpError | None:
        """Load the model."""
        config.set_intra_op_parallelism_threads(1)  # an actor has one CPU of the cluster
        try:
            self._scorer = Scorer(self._settings)
        except _KNOWN as error:
            return _plain(error)
        return None

    def score(self, part: Part) -> PartResult | OpError:
        """Score a part."""
        if self._scorer is None:
            raise RuntimeError("an actor is given parts once it has loaded the model")
        try:
            return self._scorer.score(part)
        except _KNOWN as error:
            return _plain(error)


_KNOWN = (OpError, OSError, ValueError, TypeError, ImportError, MemoryError)


def _plain(error: BaseException) -> OpError:
    """An error that can be sent."""
    text = str(error) or type(error).__name__
    return type(error)(text) if isinstance(error, OpError) else UnknownError(text)


@dataclass(slots=True)
class _Pool:
    """The actors, and the part that each one is scoring.

    Attributes:
        settings: settings of the run.
        count: number of actors, at most.
        start_timeout_s: how long none may have started, where none is at work.
        waiting: parts that no actor has.
        deaths: how many actors a part took with it, by its target.
        calls: pending calls, by Ray's names: the actor, and its part; None loads the model.
        idle: actors that have the model, and no part.
        failed_starts: how many died in a row while they loaded the model.
    """

    settings: ScoreSettings
    count: int
    start_timeout_s: float
    waiting: deque[Part] = field(default_factory=deque)
    deaths: dict[str, int] = field(default_factory=dict)
    calls: dict[Any, tuple[Any, Part | None]] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    failed_starts: int = 0

    def score(self, parts: Sequence[Part]) -> Iterator[PartResult]:
        """The results of all parts."""
        self.waiting.extend(parts)
        try:
            while self.waiting or self._at_work():
                self._give()
                self._start()
                done, _ = ray.wait(list(self.calls), num_returns=1, timeout=self.start_timeout_s)
                if done:
                    result = self._finish(done[0])
                    if result is not None:
                        yield result
                elif not self._at_work():
                    raise UnavailableError(
                        f"ray: no actor has started for {self.start_timeout_s:g} s; the cluster "
                        f"has {ray.cluster_resources().get('CPU', 0):g} CPUs, and "
                        f"{ray.available_resources().get('CPU', 0):g} of them are free"
                    )
        finally:
            for actor in [*self.idle, *(actor for actor, _ in self.calls.values())]:
                with contextlib.suppress(RayError):  # the cluster may be gone
                    ray.kill(actor)

    def _at_work(self) -> int:
        return sum(part is not None for _, part in self.calls.values())

    def _give(self) -> None:
        while self.waiting and self.idle:
            actor, part = self.idle.pop(), self.waiting.popleft()
            self.calls[actor.score.remote(part)] = (actor, part)

    def _start(self) -> None:
        """Start as many actors as there is work for."""
        wanted = min(self.count, len(self.waiting) + self._at_work())
        told = {name: os.environ[name] for name in _PASSED if os.environ.get(name)}
        options = {"runtime_env": {"env_vars": told}} if told else {}
        made = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, **options)(_Actor)
        while len(self.calls) + len(self.idle) < wanted:
            actor = made.remote(self.settings, str(Path.cwd()))
            self.calls[actor.load.remote()] = (actor, None)

    def _finish(self, call: Any) -> PartResult | None:
        """Take the result of a call; the result of a part, if it is one."""
        actor, part = self.calls.pop(call)
        try:
            found = ray.get(call)
        except RayTaskError as error:  # an error of our code: a retry would fail too
            raise UnknownError(f"ray: an actor failed: {_line(error)}") from error
        except RayError as error:
            with contextlib.suppress(RayError):
                ray.kill(actor)  # it may still run on a machine that cannot be reached
            return self._bury(part, error)
        self.idle.append(actor)
        if isinstance(found, OpError):
            raise found
        if part is None:
            self.failed_starts = 0
        return found if isinstance(found, PartResult) else None

    def _bury(self, part: Part | None, error: RayError) -> PartResult | None:
        """Give the part of a dead actor to another; after the last try, report its failure."""
        if part is None:
            self.failed_starts += 1
            is_final = isinstance(error, RayActorError) and error.actor_init_failed
            if is_final or self.failed_starts >= _TRIES:
                raise UnavailableError(
                    f"ray: actors cannot start: {_line(error)}\n  Try: {install_command('ray')} on "
                    "all machines of the cluster, in the versions of this one"
                ) from error
            return None
        self.deaths[part.target] = self.deaths.get(part.target, 0) + 1
        if self.deaths[part.target] < _TRIES:
            self.waiting.appendleft(part)
            return None
        return PartResult(
            part.target,
            error=f"{part.shown}: the actor that scored it died, {_TRIES} times: {_line(error)}\n"
            "  Try: a smaller --batch-size, if there is too little memory",
        )


def _line(error: BaseException) -> str:
    """The end of Ray's message, which contains the reason; the whole may fill a page."""
    text = str(getattr(error, "cause", None) or error).strip()
    return text.splitlines()[-1].strip()[:300] if text else type(error).__name__


def _checked(where: str) -> str:
    host, _, port = where.rpartition(":")
    if where in (_LOCAL, _FOUND) or (host and "/" not in where and port.isdecimal()):
        return where
    raise InvalidArgumentError(
        f"ray: the address of a cluster is HOST:PORT, {_FOUND} or {_LOCAL}, got {where!r}"
    )


@contextlib.contextmanager
def _connected(where: str) -> Iterator[None]:
    """Makes this process a driver of the cluster inside the block."""
    if ray.is_initialized():
        yield
        return
    if where != _LOCAL:
        _ask(where)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if where == _LOCAL:
        options |= {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=where, **options)
    except AuthenticationError as error:
        raise _refused(where, f"{error}") from error
    except Exception as error:  # Ray's errors have no common base class
        raise _absent(where, _line(error)) from error
    finally:
        # Only the main thread may set handlers, and only those that were set from Python.
        with contextlib.suppress(ValueError, TypeError):
            signal.signal(signal.SIGTERM, handler)  # Ray sets its own
    try:
        yield
    finally:
        ray.shutdown()


def _ask(where: str) -> None:
    """Whether the cluster at an address accepts a driver.

    A separate process connects first: with a wrong token, Ray retries for a long time and prints
    pages of output, and without one it may abort the process.
    """
    host, _, port = where.rpartition(":")
    if host:
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
        except (OSError, OverflowError) as error:
            raise _absent(where, getattr(error, "strerror", None) or str(error)) from error
    # -P: a file ray.py in the folder of the command is not Ray.
    command = [sys.executable, "-P", "-c", _ASK, where]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        command,
        stdin=nothing,
        stdout=nothing,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as asked:
        late = threading.Timer(_ANSWER_S, asked.kill)
        late.start()
        try:
            said = _until_refused(asked)
        finally:
            late.cancel()
            asked.kill()
    if said is None:
        return
    if _REFUSED in said or said.startswith(AuthenticationError.__name__):
        raise _refused(where, said)
    raise _absent(where, said)


def _until_refused(asked: subprocess.Popen[str]) -> str | None:
    """The last output of a process that failed or was refused; None if the cluster accepted it."""
    said = ""
    for line in asked.stderr or ():
        said = line.strip() or said
        if _REFUSED in line:
            return said
    code = asked.wait()
    if code < 0:  # what was said last is of Ray's tries, or of a stack
        name = signal.Signals(-code).name
        is_late = -code == signal.SIGKILL
        return f"no answer in {_ANSWER_S:g} s" if is_late else f"Ray ended by {name}"
    return (said or f"Ray ended with {code}") if code else None


def _refused(where: str, said: str) -> UnauthenticatedError:
    if os.environ.get(_MODE, "disabled").lower() == "disabled":
        why = f"it wants a token, and none was sent, as {_MODE} is not `token`"
    elif _REFUSED in said:
        why = "its token is another than this process has"
    else:
        why = said.removeprefix(f"{AuthenticationError.__name__}: ").partition(". ")[0]
    return UnauthenticatedError(
        f"ray: the cluster at {where} cannot be asked: {why}\n  Try: {_MODE}=token, and the "
        "cluster's token in RAY_AUTH_TOKEN, or in the file that RAY_AUTH_TOKEN_PATH names"
    )


def _absent(where: str, why: str) -> UnavailableError:
    advice = "`ray start --head` there; without an address, one is started on this machine"
    if where == _LOCAL:
        advice = "the logs in /tmp/ray/session_latest/logs"
    return UnavailableError(f"ray: no cluster at {where}: {why[:300]}\n  Try: {advice}")


def _reachable(settings: ScoreSettings) -> ScoreSettings:
    """The settings with absolute paths, since actors run in other folders."""
    model, output = _absolute(settings.model), _absolute(settings.output)
    return replace(settings, model=model, output=output)


def _reachable_part(part: Part) -> Part:
    source = part.source
    files = tuple((name, _absolute(location)) for name, location in source.files)
    return replace(part, source=replace(source, location=_absolute(source.location), files=files))


def _absolute(place: str) -> str:
    return place if is_url(place) else str(Path(local_path(place)).absolute())
