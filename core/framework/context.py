"""The thread-local stack of tracers and tapes that observe ops.

This module is independent of tapes and tracers; `ops/execute.py` reads this state before it runs an
op. A new thread starts with an empty stack.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable


class Tracer(Protocol):
    """Takes ops instead of letting them run: each becomes a node of a graph."""

    graph: Any

    def add(
        self, op: object, arguments: Sequence[object], attrs: dict[str, object], name: str | None
    ) -> object:
        """The symbolic outputs of a new node, in the form `execute` returns them."""
        ...

    def constant(self, array: Any, dtype: Any, name: str | None) -> Tensor:
        """A constant of the graph; `dtype` None means the array's own."""
        ...


class Tape(Protocol):
    """Sees each op after it ran (or after it was traced)."""

    def record(
        self, op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: tuple[Tensor, ...]
    ) -> None:
        """Remember the op if one of its inputs is watched."""
        ...

    def record_call(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable[..., Sequence[Tensor | None]],
    ) -> None:
        """Remember a call that is not a single op and has its own gradient."""
        ...

    def record_customised(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable[..., Sequence[Tensor | None]],
        computed: Sequence[Tensor],
    ) -> None:
        """Record results of a `custom_gradient`, computed while this tape observed its inputs."""
        ...

    def watch_variable(self, variable: Variable) -> None:
        """Called when a variable is read; a tape that watches accessed variables watches it."""
        ...


class Stateless(Protocol):
    """Overrides the values of variables inside a block, without changing the variables."""

    def value_of(self, variable: Variable) -> Tensor | None:
        """The value that holds in the block; None if it is the variable's own."""
        ...

    def put(self, variable: Variable, value: Tensor) -> None:
        """Set the value from now on."""
        ...


class State(threading.local):
    """The context stack of one thread. Class attributes are each new thread's defaults."""

    tracer: Tracer | None = None
    tapes: tuple[Tape, ...] = ()
    # The observers that see every op, also while a function is traced and ops hidden from tapes.
    observers: tuple[Tape, ...] = ()
    scope: str = ""
    # The graphs called since `summary.trace_on`, None if it is off.
    graphs: list[Any] | None = None
    # The stop flag by which another thread cancels runs of this one (`ops/running.Stop`).
    stop: Any = None
    # Whether graphs run once: preparing a form would cost more than it gains.
    once: bool = False
    # Counts memory that NumPy does not allocate, in advance (`ops/memory.py`).
    claim: Callable[[int], None] | None = None
    # Converts a user's function by AutoGraph, if the calling code is converted.
    convert: Callable[[Any], Any] | None = None
    # The dtype to which weights are cast when read, in a layer whose compute dtype differs.
    autocast: DType | None = None
    # The scope that stores assigned values instead of the variables, if any.
    stateless: Stateless | None = None
    # Callbacks for each new variable.
    collectors: tuple[Callable[[Variable], None], ...] = ()
    # Variable creators, the innermost last: each is passed the next one.
    creators: tuple[Callable[..., Variable], ...] = ()
    # The strategy and replica that this thread is in (`framework/places.py`).
    place: Any = None
    # The rendezvous of this run's replicas; not part of `place`, which is part of graphs' keys.
    meeting: Any = None


state = State()
# State that worker threads inherit, in addition to `state`.
_carried: list[threading.local] = [state]


def carried(local: threading.local) -> None:
    """Have threads that continue the work of others inherit `local`."""
    _carried.append(local)


def taken_along() -> Callable[[], None]:
    """The context of this thread, for threads that continue its work."""
    held = [(local, dict(vars(local))) for local in _carried]

    def put() -> None:
        for local, values in held:
            vars(local).update(values)

    return put


@contextlib.contextmanager
def tracing(tracer: Tracer | None) -> Iterator[None]:
    """Redirects ops in the block to `tracer`; None lets them run."""
    saved, state.tracer = state.tracer, tracer
    try:
        yield
    finally:
        state.tracer = saved


@contextlib.contextmanager
def not_repeated() -> Iterator[None]:
    """Declares that runs inside the block are not repeated, so that they run step by step."""
    saved, state.once = state.once, True
    try:
        yield
    finally:
        state.once = saved


@contextlib.contextmanager
def tapes_hidden() -> Iterator[None]:
    """Hide ops inside the block from all tapes."""
    saved, state.tapes = state.tapes, state.observers
    try:
        yield
    finally:
        state.tapes = saved


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Runs the block eagerly even while a function is traced, unseen by tapes."""
    tracer, tapes, scope = state.tracer, state.tapes, state.scope
    state.tracer, state.tapes, state.scope = None, state.observers, ""
    try:
        yield
    finally:
        state.tracer, state.tapes, state.scope = tracer, tapes, scope


@contextlib.contextmanager
def variables_collected() -> Iterator[list[Variable]]:
    """Yields a list of the variables that are created inside the block."""
    found: list[Variable] = []
    saved, state.collectors = state.collectors, (*state.collectors, found.append)
    try:
        yield found
    finally:
        state.collectors = saved


class name_scope(contextlib.AbstractContextManager[str, None]):  # noqa: N801 -- TensorFlow's name
    """A block in which nodes and variables are named `name/...`; yields the full prefix.

    Args:
        name: below the scope around; with a slash at its end it is the whole prefix itself.

    Raises:
        ValueError: the name is no string.
    """

    __slots__ = ("_name", "_outer")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"name for name_scope must be a string, got {name!r}"
            )
        self._name = name
        self._outer: list[str] = []

    @property
    def name(self) -> str:
        """The name as given."""
        return self._name

    def __enter__(self) -> str:
        self._outer.append(state.scope)
        name = self._name
        if name and not name.endswith("/"):
            name = f"{state.scope}{name}/"
        state.scope = name
        return name

    def __exit__(self, *raised: object) -> None:
        state.scope = self._outer.pop()


def executing_eagerly() -> bool:
    """Whether an op would run now, instead of becoming a node."""
    return state.tracer is None


def inside_function() -> bool:
    """Whether a function is being traced."""
    return state.tracer is not None


def get_current_name_scope() -> str:
    """The current name scope, such as `a/b`; empty outside of all."""
    return state.scope.rstrip("/")


def push_tape(tape: Tape) -> None:
    """Have `tape` see the following ops."""
    state.tapes = (*state.tapes, tape)


def pop_tape(tape: Tape) -> None:
    """Remove `tape`; a tape of another thread or one already removed is ignored."""
    state.tapes = tuple(other for other in state.tapes if other is not tape)
