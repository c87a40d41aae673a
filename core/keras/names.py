"""Names of layers, optimizers and metrics: the class in snake case, numbered if repeated."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import defaultdict
from typing import TYPE_CHECKING

from pinnace.framework.no_effect import ignored

if TYPE_CHECKING:
    from collections.abc import Iterator

_counts: defaultdict[str, int] = defaultdict(int)
_lock = threading.Lock()


def unique_name(stem: str) -> str:
    """`stem`, then `stem_1`, `stem_2`, …: a new name at each call."""
    with _lock:
        count = _counts[stem]
        _counts[stem] += 1
    return stem if count == 0 else f"{stem}_{count}"


def checked_name(who: str, name: object) -> str:
    """A name that was given, which may be empty.

    Args:
        who: the class, for the message.
        name: the given name.

    Raises:
        ValueError: no text, or one with a slash, which parts the names in a path.
    """
    if not isinstance(name, str) or "/" in name:
        problem = "must not hold a slash" if isinstance(name, str) else "must be a text"
        raise ValueError(
            f"{who}: name {problem}, got {name!r}: Argument `name` must be a string and cannot "
            f"contain character `/`. Received: name={name} (of type {type(name)})"
        )
    return name


def scope_of(name: str) -> str:
    """The prefix of names below `name`; empty if `name` is empty."""
    return f"{name}/" if name else ""


def get_uid(prefix: str = "") -> int:
    """1, then 2, 3, …: the next number for names with this stem.

    Args:
        prefix: the stem.
    """
    with _lock:
        count = max(_counts[prefix], 1)
        _counts[prefix] = count + 1
    return count


def class_name_in_snake_case(name: str) -> str:
    """`Conv2D` as `conv2d`, `BatchNormalization` as `batch_normalization`."""
    # Keras: as it names layers; tf.Module splits otherwise (framework/module.py).
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return name.lstrip("_") or name


def clear_session(free_memory: bool = True) -> None:
    """Restart the numbering of names.

    Args:
        free_memory: accepted for Keras' sake; memory is freed when nothing refers to it.
    """
    ignored("clear_session", "Python frees memory as it goes", True, free_memory=free_memory)
    with _lock:
        _counts.clear()


@contextlib.contextmanager
def names_anew() -> Iterator[None]:
    """Restart the numbering of names inside the block, and continue the previous one afterwards."""
    with _lock:
        saved = dict(_counts)
        _counts.clear()
    try:
        yield
    finally:
        with _lock:
            _counts.clear()
            _counts.update(saved)
