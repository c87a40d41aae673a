"""`tf.queue`: queues between threads, and their ops."""

from pinnace.ops.queue import ops as ops
from pinnace.ops.queue.classes import FIFOQueue as FIFOQueue
from pinnace.ops.queue.classes import PaddingFIFOQueue as PaddingFIFOQueue
from pinnace.ops.queue.classes import PriorityQueue as PriorityQueue
from pinnace.ops.queue.classes import QueueBase as QueueBase
from pinnace.ops.queue.classes import RandomShuffleQueue as RandomShuffleQueue

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]
