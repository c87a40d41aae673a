"""preprocess_input of networks trained on pixels in [-1, 1]."""

from __future__ import annotations

from typing import Any

from pinnace.keras.applications import imagenet_utils


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Pixels scaled to [-1, 1]; see `imagenet_utils.preprocess_input`.

    Args:
        x: pictures, red, green, blue in 0 to 255.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
