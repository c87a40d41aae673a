"""Ops that LiteRT has no built-in operators for, and why."""

# Why -> the ops.
_REASONS: dict[str, str] = {}

NO_LITE: dict[str, str] = {
    name: reason for reason, names in _REASONS.items() for name in names.split()
}


def reason_of(name: str) -> str | None:
    """Why an op has no converter; None if it may have one."""
    return NO_LITE.get(name)
