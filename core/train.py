"""What training leaves on disk: checkpoints, and the examples of record files."""

from pinnace.checkpoint import Checkpoint as Checkpoint
from pinnace.checkpoint import CheckpointManager as CheckpointManager
from pinnace.checkpoint import CheckpointOptions as CheckpointOptions
from pinnace.checkpoint import CheckpointView as CheckpointView
from pinnace.checkpoint import TrackableView as TrackableView
from pinnace.checkpoint import checkpoint_exists as checkpoint_exists
from pinnace.checkpoint import checkpoints_iterator as checkpoints_iterator
from pinnace.checkpoint import experimental as experimental
from pinnace.checkpoint import get_checkpoint_state as get_checkpoint_state
from pinnace.checkpoint import latest_checkpoint as latest_checkpoint
from pinnace.checkpoint import list_variables as list_variables
from pinnace.checkpoint import load_checkpoint as load_checkpoint
from pinnace.checkpoint import load_variable as load_variable
from pinnace.distribute.clusters import ClusterSpec as ClusterSpec
from pinnace.framework.coordinator import Coordinator as Coordinator
from pinnace.ops.composites.averages import ExponentialMovingAverage as ExponentialMovingAverage
from pinnace.proto.example_pb2 import BytesList as BytesList
from pinnace.proto.example_pb2 import Example as Example
from pinnace.proto.example_pb2 import Feature as Feature
from pinnace.proto.example_pb2 import FeatureList as FeatureList
from pinnace.proto.example_pb2 import FeatureLists as FeatureLists
from pinnace.proto.example_pb2 import Features as Features
from pinnace.proto.example_pb2 import FloatList as FloatList
from pinnace.proto.example_pb2 import Int64List as Int64List
from pinnace.proto.example_pb2 import SequenceExample as SequenceExample
