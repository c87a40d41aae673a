"""What schemathesis does differently here: it sends numbers that no product of two makes infinite.

Infinity and NaN stand in replies by name, as TensorFlow Serving writes them; no schema knows them.
"""

from typing import Any

import schemathesis

LARGEST = 1e15


def bounded(value: Any) -> Any:
    """The value, with large numbers made smaller."""
    if isinstance(value, dict):
        return {key: bounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bounded(item) for item in value]
    if isinstance(value, float):
        return max(-LARGEST, min(LARGEST, value))
    return value


@schemathesis.hook
def map_body(_: Any, body: Any) -> Any:
    """A body as it is sent."""
    return bounded(body)
