"""Checkpoints: the values of an object's variables in a bundle, restored by children's names.

- `checkpoint.Checkpoint` writes and restores; `manager.CheckpointManager` keeps several in a
  folder, which `state_file` lists.
- `object_graph`: the objects below a root, numbered, as TensorFlow stores them; `keys`: the keys of
  their values in the bundle (`storage.bundle`).
- `restoring`: values go to objects, also to those that are created later.
- `sharding`: which values share a data file; `python_state`: objects that serialise themselves.
- `stored`, `reader`, `views`: a checkpoint's tensors and objects, without a program's objects.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnace.checkpoint import experimental as experimental
    from pinnace.checkpoint.checkpoint import Checkpoint as Checkpoint
    from pinnace.checkpoint.checkpoint import CheckpointOptions as CheckpointOptions
    from pinnace.checkpoint.manager import CheckpointManager as CheckpointManager
    from pinnace.checkpoint.reader import CheckpointReader as CheckpointReader
    from pinnace.checkpoint.reader import list_variables as list_variables
    from pinnace.checkpoint.reader import load_checkpoint as load_checkpoint
    from pinnace.checkpoint.reader import load_variable as load_variable
    from pinnace.checkpoint.state_file import checkpoint_exists as checkpoint_exists
    from pinnace.checkpoint.state_file import get_checkpoint_state as get_checkpoint_state
    from pinnace.checkpoint.state_file import latest_checkpoint as latest_checkpoint
    from pinnace.checkpoint.views import CheckpointView as CheckpointView
    from pinnace.checkpoint.views import TrackableView as TrackableView
    from pinnace.checkpoint.waiting import checkpoints_iterator as checkpoints_iterator

# Name -> its module, imported on first use. Loading a SavedModel needs only `stored`.
_LATE = {
    "Checkpoint": "checkpoint",
    "CheckpointManager": "manager",
    "CheckpointOptions": "checkpoint",
    "CheckpointReader": "reader",
    "CheckpointView": "views",
    "TrackableView": "views",
    "checkpoint_exists": "state_file",
    "checkpoints_iterator": "waiting",
    "get_checkpoint_state": "state_file",
    "latest_checkpoint": "state_file",
    "list_variables": "reader",
    "load_checkpoint": "reader",
    "load_variable": "reader",
}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name == "experimental":
            return importlib.import_module(f"{__name__}.experimental")
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, "experimental"})
