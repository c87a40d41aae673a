"""`tf.distribute.experimental`."""

from pinnace.distribute.inputs import ValueContext as ValueContext
from pinnace.distribute.options import CollectiveCommunication as CollectiveCommunication
from pinnace.distribute.options import CollectiveHints as CollectiveHints
from pinnace.distribute.options import CommunicationImplementation as CommunicationImplementation
from pinnace.distribute.options import CommunicationOptions as CommunicationOptions
from pinnace.distribute.strategies import CentralStorageStrategy as CentralStorageStrategy
from pinnace.distribute.workers import OlderMultiWorkerMirroredStrategy

# TensorFlow's old name; the new one is in the parent package.
MultiWorkerMirroredStrategy = OlderMultiWorkerMirroredStrategy
