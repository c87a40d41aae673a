"""Arguments that Keras has and that change nothing here: they say so, once."""

from __future__ import annotations

import warnings

_told: set[tuple[str, str]] = set()


def no_effect(who: str, argument: str, why: str) -> None:
    """Warn, the first time, that an argument was given that has no effect.

    Args:
        who: the class or function.
        argument: its name.
        why: what is so instead.
    """
    if (who, argument) in _told:
        return
    _told.add((who, argument))
    warnings.warn(f"{who}: {argument} has no effect: {why}", UserWarning, stacklevel=3)
