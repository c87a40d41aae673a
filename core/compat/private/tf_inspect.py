"""Python's `inspect` with support for decorated functions."""

from __future__ import annotations

import inspect
from inspect import *  # noqa: F403 -- its names are this module's
from inspect import FullArgSpec as FullArgSpec
from inspect import Parameter as Parameter
from inspect import signature as signature
from typing import Any


def getfullargspec(obj: Any) -> inspect.FullArgSpec:  # type: ignore[no-redef]
    """The arguments of a function, or of the function it wraps.

    Args:
        obj: a function, method or class.
    """
    target = inspect.unwrap(obj) if callable(obj) else obj
    found = inspect.getfullargspec(target)
    # TensorFlow's own functions have no annotations, and packages compare theirs with them.
    ours = str(getattr(target, "__module__", "")).startswith("pinnace.")
    return found._replace(annotations={}) if ours else found


def getargspec(obj: Any) -> inspect.FullArgSpec:
    """An older name of `getfullargspec`."""
    return getfullargspec(obj)
