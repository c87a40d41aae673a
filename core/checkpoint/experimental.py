"""The names of `train.experimental`."""

from pinnace.checkpoint.python_state import PythonState as PythonState

__all__ = ["PythonState"]
