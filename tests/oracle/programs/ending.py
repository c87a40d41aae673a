"""The end of the process, as TensorFlow's checks bring it about."""

import os
from typing import Any


def aborted(_tf: Any, _ops: Any) -> None:
    """Give no answer."""
    os.abort()
