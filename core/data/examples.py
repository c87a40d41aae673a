"""Protocol messages of `tf.train` from which datasets are made, re-exported."""

from pinnace.proto.example_pb2 import BytesList as BytesList
from pinnace.proto.example_pb2 import Example as Example
from pinnace.proto.example_pb2 import Feature as Feature
from pinnace.proto.example_pb2 import FeatureList as FeatureList
from pinnace.proto.example_pb2 import FeatureLists as FeatureLists
from pinnace.proto.example_pb2 import Features as Features
from pinnace.proto.example_pb2 import FloatList as FloatList
from pinnace.proto.example_pb2 import Int64List as Int64List
from pinnace.proto.example_pb2 import SequenceExample as SequenceExample
