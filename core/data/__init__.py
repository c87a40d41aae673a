"""`tf.data`: input pipelines.

- `dataset.Dataset`: the public class. Each method makes a `stage.Stage`, one step of a pipeline.
- Stages by subject: `sources`, `records` and `file_datasets` (where elements come from), `map`,
  `batch`, `shuffle`, `windows`, `interleave`, `counting`, `sampling`, `reducing`, `storing`.
- `elements`: a tuple of arrays inside, the user's structure of tensors outside; `functions`: the
  user's functions, traced once and run as plans, by `row_wise` on several batches in one call.
- `iterator`: one pass, whose position is saved; `traced_iterator`, `loops` and `variants`: datasets
  in traced functions and in SavedModels.
- `prefetch` and `workers`: threads that work ahead; `options`: how many, and in what order.
"""

from pinnace.data import experimental as experimental
from pinnace.data import loops as _loops
from pinnace.data.dataset import Dataset as Dataset
from pinnace.data.dataset_spec import DatasetSpec as DatasetSpec
from pinnace.data.elements import AUTOTUNE as AUTOTUNE
from pinnace.data.elements import INFINITE as INFINITE_CARDINALITY
from pinnace.data.elements import UNKNOWN as UNKNOWN_CARDINALITY
from pinnace.data.file_datasets import FixedLengthRecordDataset as FixedLengthRecordDataset
from pinnace.data.file_datasets import TextLineDataset as TextLineDataset
from pinnace.data.file_datasets import TFRecordDataset as TFRecordDataset
from pinnace.data.iterator import DatasetIterator as Iterator
from pinnace.data.iterator import IteratorSpec as IteratorSpec
from pinnace.data.numpy_iterator import NumpyIterator as NumpyIterator
from pinnace.data.optionals import Optional as Optional
from pinnace.data.options import Options as Options
from pinnace.data.options import ThreadingOptions as ThreadingOptions

_loops.register()

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Optional",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
