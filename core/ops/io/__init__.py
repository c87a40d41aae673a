"""`tf.io` (with `ops.composites.parsing`): files, records and their parsing."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.io import examples as examples
from pinnace.ops.io import gfile as gfile
from pinnace.ops.io import sequence_examples as sequence_examples
from pinnace.ops.io.compressed import *
from pinnace.ops.io.csv import *
from pinnace.ops.io.files import *
from pinnace.ops.io.raw import *
from pinnace.ops.io.writers import *
