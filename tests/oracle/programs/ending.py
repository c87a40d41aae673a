"""The end of the process, as caused by TensorFlow's checks."""

import os
from typing import Any


def aborted(_tf: Any, _ops: Any) -> None:
    """Abort without a reply."""
    os.abort()
