"""The logger of TensorFlow's programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


def get_logger() -> logging.Logger:
    """The logger "tensorflow", which programs write to and set the level of."""
    import logging  # `import pinnace` does not need it

    return logging.getLogger("tensorflow")
