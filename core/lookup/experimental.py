"""`tf.lookup.experimental`: mutable tables."""

from pinnace.lookup.mutable import DenseHashTable as DenseHashTable
from pinnace.lookup.mutable import MutableHashTable as MutableHashTable
