"""TensorFlow's logger for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


def get_logger() -> logging.Logger:
    """The logger "tensorflow", whose level programs set."""
    import logging  # `import pinnace` does not need it

    return logging.getLogger("tensorflow")
