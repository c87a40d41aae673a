"""Tables whose entries come and go: `tf.lookup.experimental`."""

from pinnace.lookup.mutable import DenseHashTable as DenseHashTable
from pinnace.lookup.mutable import MutableHashTable as MutableHashTable
