"""The names of `train.experimental`."""

from pinnace.checkpoint.python_state import PythonState as PythonState
from pinnace.checkpoint.sharding import MaxShardSizePolicy as MaxShardSizePolicy
from pinnace.checkpoint.sharding import ShardableTensor as ShardableTensor
from pinnace.checkpoint.sharding import ShardByTaskPolicy as ShardByTaskPolicy
from pinnace.checkpoint.sharding import ShardingCallback as ShardingCallback

__all__ = [
    "MaxShardSizePolicy",
    "PythonState",
    "ShardByTaskPolicy",
    "ShardableTensor",
    "ShardingCallback",
]
