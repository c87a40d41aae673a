"""Hooks of schemathesis: it sends only numbers whose products are finite.

Infinity and NaN are in responses as names, as TensorFlow Serving writes them, which no schema
allows.
"""

from typing import Any

import schemathesis

LARGEST = 1e15


def bounded(value: Any) -> Any:
    """The value, with large numbers reduced."""
    if isinstance(value, dict):
        return {key: bounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bounded(item) for item in value]
    if isinstance(value, float):
        return max(-LARGEST, min(LARGEST, value))
    return value


@schemathesis.hook
def map_body(_: Any, body: Any) -> Any:
    """The body to send."""
    return bounded(body)
