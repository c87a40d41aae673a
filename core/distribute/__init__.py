"""`tf.distribute`: several replicas of a program, in one or several processes.

A strategy has replicas (`strategies`), which run a function one after the other and synchronise at
merge calls (`meeting`). A thread's context is in `framework/places.py`; variables (`variables`)
have a copy per replica. Values that differ between replicas are PerReplica (`values`), and are
combined by a `CrossDeviceOps` (`reductions`); datasets yield them (`inputs`, `feeding`). ADR 30 has
the reasons.

Over several processes (`workers`) each has one replica. MPI starts them (`starting`) and joins them
(`processes`, `collectives`); each reads its share of a dataset (`sharding`). ADR 32 says why.
"""

from pinnace.distribute import cluster_resolver as cluster_resolver
from pinnace.distribute import experimental as experimental
from pinnace.distribute import loops as _loops
from pinnace.distribute.current import experimental_set_strategy as experimental_set_strategy
from pinnace.distribute.current import get_replica_context as get_replica_context
from pinnace.distribute.current import get_strategy as get_strategy
from pinnace.distribute.current import has_strategy as has_strategy
from pinnace.distribute.current import in_cross_replica_context as in_cross_replica_context
from pinnace.distribute.extended import StrategyExtended as StrategyExtended
from pinnace.distribute.inputs import DistributedDataset as DistributedDataset
from pinnace.distribute.inputs import DistributedIterator as DistributedIterator
from pinnace.distribute.inputs import InputContext as InputContext
from pinnace.distribute.inputs import InputOptions as InputOptions
from pinnace.distribute.inputs import InputReplicationMode as InputReplicationMode
from pinnace.distribute.options import RunOptions as RunOptions
from pinnace.distribute.reductions import CrossDeviceOps as CrossDeviceOps
from pinnace.distribute.reductions import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from pinnace.distribute.reductions import NcclAllReduce as NcclAllReduce
from pinnace.distribute.reductions import ReduceOp as ReduceOp
from pinnace.distribute.reductions import ReductionToOneDevice as ReductionToOneDevice
from pinnace.distribute.replica_context import ReplicaContext as ReplicaContext
from pinnace.distribute.strategies import MirroredStrategy as MirroredStrategy
from pinnace.distribute.strategies import OneDeviceStrategy as OneDeviceStrategy
from pinnace.distribute.strategy import Strategy as Strategy
from pinnace.distribute.values import DistributedValues as DistributedValues
from pinnace.distribute.workers import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy

_loops.register()  # with AutoGraph
