"""preprocess_input of networks that scale pixels themselves."""

from __future__ import annotations

from typing import Any

from pinnace.framework.no_effect import ignored


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """x itself: the model scales pixels from 0 to 255.

    Args:
        x: pictures.
        data_format: has no effect, as in Keras, which a warning says.
    """
    ignored("preprocess_input", "the model scales pixels itself", data_format=data_format)
    return x
