"""Names of reductions as older programs use them."""

from __future__ import annotations


class Reduction:
    """The reduction of the samples' values to a loss; `AUTO` is their mean."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every name."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise for an unknown name.

        Args:
            key: the name.

        Raises:
            ValueError: another.
        """
        if key not in cls.all():
            raise ValueError(f"Reduction: expected one of {', '.join(cls.all())}, got {key!r}")
