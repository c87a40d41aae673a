"""TensorFlow's `profiler.experimental`: profiles of what all threads do, from `start` to `stop`."""

# TensorFlow's options are accepted, with a message if they have no effect.

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pinnace.engine import observing
from pinnace.framework.errors import UnavailableError
from pinnace.framework.no_effect import no_effect

if TYPE_CHECKING:
    import os
    from types import TracebackType

__all__ = ["Profile", "ProfilerOptions", "Trace", "start", "stop"]


class ProfilerOptions(NamedTuple):
    """The options of TensorFlow's profiler.

    Attributes:
        host_tracer_level: without effect, and told so; 2 is TensorFlow's default.
        python_tracer_level: without effect, and told so.
        device_tracer_level: without effect: there are no devices.
        delay_ms: without effect, and told so.
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


class _Session:
    """The profile that is being taken."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.recorder: observing.Recorder | None = None
        self.logdir = ""


_session = _Session()


def start(logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
    """Profile all threads from now on, until `stop`.

    Args:
        logdir: TensorBoard's log folder.
        options: without effect.

    Raises:
        AlreadyExistsError: a profile is being taken.
    """
    import os

    for name, given, plain in zip(
        ProfilerOptions._fields, options or (), ProfilerOptions(), strict=False
    ):
        if given != plain:
            no_effect("profiler.experimental.start", name, "all ops are traced, and nothing else")
    with _session.lock:
        recorder = observing.Recorder()
        observing.observe(recorder)
        _session.recorder, _session.logdir = recorder, os.fspath(logdir)


def stop(save: bool = True) -> None:
    """Stop the profile, and write it to the folder that `start` was given.

    Args:
        save: whether it is written.

    Raises:
        UnavailableError: no profile is being taken.
        OpError: the profile cannot be written.
    """
    with _session.lock:
        recorder = _session.recorder
        if recorder is None:
            raise UnavailableError(
                "profiler: no profile is being taken\n  Try: profiler.experimental.start(logdir)"
            )
        _session.recorder = None
        observing.observe(None)
        logdir = _session.logdir
    if save:
        from pinnace.profiler.files import save as write

        write(recorder, logdir)


class Profile:
    """A context manager that calls `start` and `stop`.

    Args:
        logdir: TensorBoard's log folder.
        options: see `start`.
    """

    def __init__(
        self, logdir: str | os.PathLike[str], options: ProfilerOptions | None = None
    ) -> None:
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop()


class Trace:
    """A named block of the profile; has no effect without a profile.

    Args:
        name: name of the block.
        **kwargs: shown with it, such as `step_num`.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._facts = kwargs
        self._recorder: observing.Recorder | None = None
        self._begin = 0.0

    def set_metadata(self, **kwargs: Any) -> None:
        """Add metadata to the block.

        Args:
            **kwargs: names and values.
        """
        self._facts.update(kwargs)

    def __enter__(self) -> Self:
        self._recorder = observing.here()
        if self._recorder is not None:
            self._begin = self._recorder.now()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recorder is not None:
            self._recorder.mark(self._name, self._begin, dict(self._facts))
