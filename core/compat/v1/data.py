"""`tf.compat.v1.data`: version 1's iterators."""

from __future__ import annotations

from typing import Any, NoReturn

from pinnace.compat.v1.names import giver, lister
from pinnace.framework import structure


def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator over a dataset; its `get_next()` gives an element.

    Args:
        dataset: the dataset.
    """
    return iter(dataset)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> NoReturn:
    """An iterator that a session would initialize; there are no sessions.

    Raises:
        RuntimeError: always, as in TensorFlow's eager mode.
    """
    del dataset, shared_name
    raise RuntimeError(
        "make_initializable_iterator: there are no sessions to start it\n"
        "  Try: iter(dataset), or `for element in dataset`"
    )


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of an element, in its structure."""
    return _of_each(dataset_or_iterator, "shape")


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of an element, in its structure."""
    return _of_each(dataset_or_iterator, "dtype")


def _of_each(thing: Any, what: str) -> Any:
    return structure.map_structure(lambda spec: getattr(spec, what), thing.element_spec)


__getattr__ = giver("tf.data", globals())
__dir__ = lister("tf.data", globals())
