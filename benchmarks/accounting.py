"""What one call of ours computes and moves, beside what the machine reaches: what bounds a row."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

CALLS = 5
# Steps of unknown operations, such as loops, that take this part of a call leave its sum unknown.
_UNKNOWN = 0.2


@dataclass(frozen=True, slots=True)
class Account:
    """One call, as the profiler counted it.

    Attributes:
        flops: floating-point operations; None where most of it is loops, which are not counted.
        bytes: what its steps read and wrote, each once a step: of memory or of a cache; None where
            steps do not tell.
        outside_s: seconds in which no step ran: Python, between them and around them.
        peak_flops: of a product of matrices by BLAS, a second.
    """

    flops: int | None
    bytes: int | None
    outside_s: float
    peak_flops: float

    def record(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return asdict(self)


def account(run: Callable[[], object]) -> Account | None:
    """The quickest of a few calls; None where no op of ours runs in this thread."""
    import pinnace as tf  # late: reports are also made where only their numbers are

    try:
        profiles = [tf.profiler.profile(run) for _ in range(CALLS)]
    except tf.errors.InvalidArgumentError:
        return None
    best = min(profiles, key=lambda profile: profile.seconds)
    leaves = leaves_of(best.rows)
    unknown_s = sum(row.seconds for row in leaves if row.flops is None)
    return Account(
        None if unknown_s > _UNKNOWN * best.seconds else sum(row.flops or 0 for row in leaves),
        sum(row.bytes for row in leaves) or None,
        max(best.seconds - best.covered_s, 0.0),
        best.peak.flops,
    )


def leaves_of(rows: Sequence[Any]) -> list[Any]:
    """The rows that have no parts: what a whole counts is counted with its parts."""
    following = [row.depth for row in rows[1:]]
    return [row for row, depth in zip(rows, [*following, 0], strict=True) if depth <= row.depth]
