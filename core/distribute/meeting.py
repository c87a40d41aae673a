"""The replicas of one run, which execute one after the other and synchronise at merge calls.

The first replica runs in the thread that called `run`, the others in separate threads. Only one
runs at a time: the first until its merge call, then each other one until its own, then the merge
function runs in the cross-replica context. So the order of ops is the same in every run, and the
replicas of a traced function add to one graph.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from pinnace.distribute.values import regroup, select
from pinnace.framework.context import state, taken_along, tapes_hidden
from pinnace.framework.places import ReplicaPlace, entered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_UNEQUAL = (
    "Some replicas made a different number of replica_context().merge_call() calls.\n"
    "  Try: the same assignments, reductions and optimizer steps in each replica"
)
_INSIDE = (
    "`merge_call` called while defining a new graph or a tf.function: the replicas of "
    "`strategy.run` cannot meet inside a function, or a branch or loop, that each of them traces "
    "for itself\n"
    "  Try: the function around `strategy.run`, or as its argument, instead of inside of what it "
    "runs; aggregation and optimizer steps outside of `cond` and loops"
)


class _Ended(BaseException):
    """Unwinds the stack of a replica whose run was ended."""


class Meeting:
    """One run of a function on all replicas of a strategy.

    Args:
        strategy: the strategy, which has more than one replica.
        function: the function that each replica calls.
        args: its arguments, PerReplica values among them.
        kwargs: keyword arguments, likewise.
    """

    def __init__(
        self,
        strategy: Any,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._strategy = strategy
        self._function = function
        self._args, self._kwargs = args, kwargs
        self.tracer = state.tracer
        # Variables that the first replica made, by name: those of the others are the same.
        self.made: dict[str, list[Any]] = {}
        self._begin = taken_along()
        self._scope = state.scope
        count = strategy.num_replicas_in_sync
        self._others = [_Other(self, replica) for replica in range(1, count)]

    def run(self) -> Any:
        """The grouped results of the replicas."""
        try:
            results = [self.call(0)]
            for other in self._others:
                other.proceed()
                if not other.done:
                    raise RuntimeError(_UNEQUAL)
                results.append(other.result)
        finally:
            for other in self._others:
                other.end()
        return regroup(results)

    def call(self, replica: int) -> Any:
        """Run the function as one replica, in this thread."""
        saved = state.scope
        if replica:
            state.scope = f"{self._scope}replica_{replica}/"
        try:
            here = entered(ReplicaPlace(self._strategy, replica), self)
            with tapes_hidden(), here, self._sharing(replica):
                return self._function(*select(replica, self._args), **select(replica, self._kwargs))
        finally:
            state.scope = saved

    @contextlib.contextmanager
    def _sharing(self, replica: int) -> Iterator[None]:
        """Shares variables among replicas: the first replica creates them, the others find them."""
        counts: dict[str, int] = {}

        def create(next_creator: Callable[..., Any], **options: Any) -> Any:
            name = str(options.get("name"))
            number = counts[name] = counts.get(name, -1) + 1
            known = self.made.setdefault(name, [])
            if number < len(known):
                return known[number]
            if replica:
                raise RuntimeError(
                    f"variable {name!r} is made in replica {replica} and not in the first one: "
                    "every replica must make the same variables"
                )
            known.append(next_creator(**options))
            return known[number]

        saved, state.creators = state.creators, (*state.creators, create)
        try:
            yield
        finally:
            state.creators = saved

    def merge(
        self,
        replica: int,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Wait for the other replicas and return the result of a function of all; see `merge_call`.

        Raises:
            RuntimeError: inside a graph that one replica makes alone, or the others do not merge.
        """
        if state.tracer is not self.tracer:
            raise RuntimeError(_INSIDE)
        if replica:
            return self._others[replica - 1].wait(args, kwargs)
        gathered = [(args, kwargs)]
        for other in self._others:
            other.proceed()
            if other.done:
                raise RuntimeError(_UNEQUAL)
            gathered.append(other.given)
        with tapes_hidden(), entered(ReplicaPlace(self._strategy)):
            merged = function(
                self._strategy,
                *regroup([one for one, _ in gathered]),
                **regroup([one for _, one in gathered]),
            )
        for other in self._others:
            other.answer = select(other.replica, merged)
        return select(0, merged)


class _Other:
    """A replica in its own thread, which runs only while the first one waits for it."""

    def __init__(self, meeting: Meeting, replica: int) -> None:
        self._meeting = meeting
        self.replica = replica
        self.done = False
        self.result: Any = None
        self.given: tuple[Any, Any] = ((), {})
        self.answer: Any = None
        self._error: BaseException | None = None
        self._ending = False
        self._thread: threading.Thread | None = None
        self._go = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)

    def proceed(self) -> None:
        """Run until a merge call or the end; exceptions are raised here."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name=f"replica_{self.replica}", daemon=True
            )
            self._thread.start()
        self._go.release()
        self._paused.acquire()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def wait(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """In the replica's thread: pass on the merge call, and continue with its result."""
        self.given = (args, kwargs)
        self._paused.release()
        self._go.acquire()
        if self._ending:
            raise _Ended
        return self.answer

    def end(self) -> None:
        """End the replica wherever it is."""
        if self._thread is not None:
            self._ending = True
            self._go.release()
            self._thread.join()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._meeting._begin()
            if not self._ending:
                self.result = self._meeting.call(self.replica)
        except _Ended:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self.done = True
            self._paused.release()
