"""Input pipelines: TensorFlow's `tf.data`."""

from pinnace.data import experimental as experimental
from pinnace.data import loops as _loops
from pinnace.data.dataset import Dataset as Dataset
from pinnace.data.dataset import FixedLengthRecordDataset as FixedLengthRecordDataset
from pinnace.data.dataset import Options as Options
from pinnace.data.dataset import TextLineDataset as TextLineDataset
from pinnace.data.dataset import TFRecordDataset as TFRecordDataset
from pinnace.data.elements import AUTOTUNE as AUTOTUNE
from pinnace.data.elements import INFINITE as INFINITE_CARDINALITY
from pinnace.data.elements import UNKNOWN as UNKNOWN_CARDINALITY
from pinnace.data.elements import DatasetSpec as DatasetSpec
from pinnace.data.iterator import DatasetIterator as Iterator
from pinnace.data.iterator import Optional as Optional

_loops.register()

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Optional",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
]
