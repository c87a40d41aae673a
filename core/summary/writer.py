"""Writers, and the default writer and step of each thread."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace.framework import dtypes, jobs
from pinnace.framework.context import carried, init_scope, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor, wrap
from pinnace.framework.variable import handle_of
from pinnace.ops.array import casting
from pinnace.ops.summary import writing
from pinnace.summary.event_file import EventFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Defaults(threading.local):
    """A thread's default writer and step. Class attributes are the initial values."""

    writer: SummaryWriter | None = None
    step: Any = None
    recording: Any = True


_defaults = _Defaults()
carried(_defaults)


class SummaryWriter:
    """Writes summaries to an event file, or nowhere.

    Args:
        file: the event file; None writes nothing.
    """

    def __init__(self, file: EventFile | None = None) -> None:
        self._file = file
        self._handle: Tensor | None = None if file is None else handle_of(file)

    @property
    def handle(self) -> Tensor | None:
        """The resource through which ops write; None for a writer that writes nothing."""
        return self._handle

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Write summaries in the block to this writer, at `step` unless they have their own."""
        if self._file is not None and self._file.closed:
            raise FailedPreconditionError(
                f"the summary writer of {self._file.path.parent} is closed"
            )
        saved, _defaults.writer = _defaults.writer, self
        saved_step = _defaults.step
        if step is not None:
            _defaults.step = step
        try:
            yield self
            if state.tracer is None:
                self.flush()
        finally:
            _defaults.writer, _defaults.step = saved, saved_step

    def set_as_default(self, step: Any = None) -> None:
        """Write this thread's summaries to this writer from now on."""
        _defaults.writer = self
        if step is not None:
            _defaults.step = step

    def init(self) -> None:
        """Does nothing: the file exists already."""

    def flush(self) -> None:
        """Write everything so far to the file."""
        if self._handle is not None:
            writing.flush(self._handle)

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            with init_scope():
                writing.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SummaryWriter {self._file}>"


def create_file_writer(
    logdir: Any,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """A writer of a new event file in `logdir`, which TensorBoard reads while it grows.

    Args:
        logdir: the folder, made if it is not there. In a job of several processes the chief writes,
            and the others are given a writer that writes nothing.
        max_queue: how many events may wait before they are handed to the system; 10 if None.
        flush_millis: how long they may wait; two minutes if None.
        filename_suffix: end of the file's name; ".v2" if None.
        name: accepted.
        experimental_trackable: accepted.
        experimental_mesh: without effect, and told so.
    """
    del name
    why = "no checkpoint holds a writer"
    ignored("create_file_writer", why, False, experimental_trackable=experimental_trackable)
    ignored("create_file_writer", "there are no meshes", experimental_mesh=experimental_mesh)
    if not jobs.is_chief():
        return create_noop_writer()
    with init_scope():
        return SummaryWriter(
            EventFile(
                _path(logdir),
                10 if max_queue is None else int(max_queue),
                120_000 if flush_millis is None else int(flush_millis),
                ".v2" if filename_suffix is None else filename_suffix,
            )
        )


def _path(logdir: Any) -> str:
    if isinstance(logdir, Tensor):
        logdir = logdir.numpy()
    try:
        return os.fsdecode(logdir)
    except TypeError:
        raise TypeError(f"create_file_writer: logdir must be a path, got {logdir!r}") from None


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing."""
    return SummaryWriter()


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write everything so far to the file of `writer`, by default the default writer."""
    del name
    chosen = writer or _defaults.writer
    if chosen is not None:
        chosen.flush()


def get_step() -> Any:
    """The default step of this thread; None if there is none."""
    return _defaults.step


def set_step(step: Any) -> None:
    """Set the default step for summaries of this thread.

    Args:
        step: a number or, so that it need not be set again, a variable.
    """
    _defaults.step = step


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Write summaries inside the block only if `condition` holds.

    Args:
        condition: a bool, a bool tensor, or a function that gives one, which is asked each time.
    """
    saved, _defaults.recording = _defaults.recording, condition
    try:
        yield
    finally:
        _defaults.recording = saved


def recording() -> Any:
    """Whether summaries are currently written: a bool or symbolic tensor."""
    if _defaults.writer is None:
        return False
    condition = _defaults.recording
    value = (
        condition() if callable(condition) and not isinstance(condition, Operands) else condition
    )
    if isinstance(value, Operands):
        tensor = convert_to_tensor(value)
        return tensor if isinstance(tensor, SymbolicTensor) else bool(tensor)
    return bool(value)


def should_record_summaries() -> Tensor:
    """Whether summaries are currently written, as a bool tensor."""
    value = recording()
    return value if isinstance(value, Tensor) else wrap(np.array(value))


def step_tensor(step: Any, who: str) -> Tensor:
    """The step of a summary, int64."""
    chosen = _defaults.step if step is None else step
    if chosen is None:
        raise ValueError(
            f"summary.{who}: no step is set\n"
            "  Try: step=…, writer.as_default(step=…), or summary.experimental.set_step(…)"
        )
    tensor = convert_to_tensor(chosen, None if isinstance(chosen, Operands) else dtypes.int64)
    return tensor if tensor.dtype is dtypes.int64 else casting.cast(tensor, dtypes.int64)


def recorded(step: Any, who: str, write: Callable[[Tensor, Tensor], None]) -> Tensor:
    """Call `write(handle, step)` if summaries are being written; return whether it was called."""
    condition = recording()
    writer = _defaults.writer
    if condition is False or writer is None or writer.handle is None:
        return wrap(np.array(False))
    handle = writer.handle
    if condition is True:
        write(handle, step_tensor(step, who))
        return wrap(np.array(True))
    return _recorded_if(condition, handle, step, who, write)


def _recorded_if(
    condition: Tensor, handle: Tensor, step: Any, who: str, write: Callable[[Tensor, Tensor], None]
) -> Tensor:
    from pinnace.functions.control.conditional import cond

    def written() -> Tensor:
        write(handle, step_tensor(step, who))
        return convert_to_tensor(True)

    result: Tensor = cond(condition, written, lambda: convert_to_tensor(False))
    return result
