"""The default `data_format`: `channels_last`, unless a program changes it."""

from __future__ import annotations

FORMATS = ("channels_last", "channels_first")


class _Chosen:
    data_format = "channels_last"


_chosen = _Chosen()


def image_data_format() -> str:
    """The default `data_format`: `channels_last` at first, or `channels_first`."""
    return _chosen.data_format


def set_image_data_format(data_format: str) -> None:
    """Set the `data_format` of layers and functions that are given none.

    Networks of `keras.applications` support channels last only.

    Args:
        data_format: "channels_last" or "channels_first".

    Raises:
        ValueError: anything else.
    """
    found = str(data_format).lower()
    if found not in FORMATS:
        raise ValueError(
            "set_image_data_format: The `data_format` argument must be one of "
            f"{', '.join(FORMATS)}, got {data_format!r}"
        )
    _chosen.data_format = found


def checked_format(who: str, data_format: str | None) -> str:
    """A format that was given, or that of the process for None.

    Args:
        who: the layer or function, for messages.
        data_format: "channels_last", "channels_first" or None.

    Raises:
        ValueError: anything else.
    """
    found = image_data_format() if data_format is None else str(data_format).lower()
    if found not in FORMATS:
        raise ValueError(
            f"{who}: data_format must be channels_last or channels_first, got {data_format!r}"
        )
    return found
