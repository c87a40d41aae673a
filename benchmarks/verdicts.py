"""What ratios of times (ours / theirs) amount to: the best peer, marks, aims, and the gate."""

import statistics
from collections.abc import Iterable, Mapping

# A row without an aim of its own is held to what the best peer takes.
LEVEL = 1.0
# The gate fails where a ratio is so many times what was recorded.
WORSE = 1.3
MET, MISSED = "✓", "✗"


def best_peer(ratios: Mapping[str, float]) -> tuple[str, float]:
    """The peer that is quickest, which is the one with the greatest ratio.

    Raises:
        ValueError: there is no peer.
    """
    if not ratios:
        raise ValueError("best_peer: no ratios: a row needs a peer to be compared with")
    return max(ratios.items(), key=lambda pair: pair[1])


def mark(ratio: float, aim: float | None = None) -> str:
    """`✓` where a ratio is at most its aim, or 1 without one; else `✗`."""
    return MET if ratio <= (LEVEL if aim is None else aim) else MISSED


def median_ratio(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """The median of the rounds' ratios: a machine that slows down slows both sides of a round."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def worsened(recorded: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """The names whose ratio is `WORSE` times the recorded, or was not found at all."""
    return [
        name
        for name, ratio in sorted(recorded.items())
        if name not in found or found[name] > WORSE * ratio
    ]
