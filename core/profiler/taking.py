"""`profile`: runs and records one call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.engine import observing
from pinnace.framework.context import state
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.profiler.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable


def profile(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Profile:
    """The profile of `function(*args, **kwargs)`, called once.

    Call the function once before: its first call traces it, and the first call with a set of
    shapes makes their form.

    Args:
        function: a `function`, a model, a signature, or anything that calls ops.
        *args: its arguments.
        **kwargs: its arguments by name.

    Returns:
        The profile: its `str()` is the table, its `result` the call's result.

    Raises:
        TypeError: `function` cannot be called.
        InvalidArgumentError: the call ran no op.
        FailedPreconditionError: called while a function is traced.
        AlreadyExistsError: another profile is being taken.
    """
    if not callable(function):
        raise TypeError(f"profile: function must be something to call, got {function!r}")
    if state.tracer is not None:
        raise FailedPreconditionError(
            "profile: a function is being traced, nothing runs\n  Try: profile the call of it"
        )
    recorder = observing.Recorder(threading.get_ident())
    observing.observe(recorder)
    try:
        begin = recorder.now()
        result = function(*args, **kwargs)
        seconds = recorder.now() - begin
    finally:
        observing.observe(None)
    if not recorder.spans:
        raise InvalidArgumentError(
            f"profile: {function!r} ran no op of pinnace in this thread, there is nothing to show"
        )
    return Profile(recorder, seconds, result)
