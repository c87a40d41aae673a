"""Iterators inside traced functions."""

from typing import Any


def iterated(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """The next element, an optional element, and a reduction of all elements."""
    dataset = tf.data.Dataset.from_tensor_slices(x).map(lambda row: row * 2)

    def function(x: Any) -> list[Any]:
        elements = iter(dataset)
        first = next(elements)
        second = elements.get_next_as_optional()
        total = dataset.reduce(tf.zeros_like(x[0]), lambda old, row: old + row)
        kept = [second.has_value(), second.get_value()]
        for _ in range(len(x)):
            last = elements.get_next_as_optional()
        return [first, *kept, last.has_value(), total]

    return list(ops.trace(function, x))
