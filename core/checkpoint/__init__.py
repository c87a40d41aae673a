"""Checkpoints: the values below an object in a bundle, found again by the names of children."""

from pinnace.checkpoint.checkpoint import Checkpoint as Checkpoint
from pinnace.checkpoint.checkpoint import CheckpointOptions as CheckpointOptions
from pinnace.checkpoint.manager import CheckpointManager as CheckpointManager
from pinnace.checkpoint.reader import CheckpointReader as CheckpointReader
from pinnace.checkpoint.reader import list_variables as list_variables
from pinnace.checkpoint.reader import load_checkpoint as load_checkpoint
from pinnace.checkpoint.reader import load_variable as load_variable
from pinnace.checkpoint.state_file import checkpoint_exists as checkpoint_exists
from pinnace.checkpoint.state_file import latest_checkpoint as latest_checkpoint
