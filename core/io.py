"""TensorFlow's `tf.io`: files, records, and what is in them."""

from pinnace.data.parsing import FixedLenFeature as FixedLenFeature
from pinnace.data.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from pinnace.data.parsing import RaggedFeature as RaggedFeature
from pinnace.data.parsing import VarLenFeature as VarLenFeature
from pinnace.data.parsing import parse_example as parse_example
from pinnace.data.parsing import parse_single_example as parse_single_example
from pinnace.ops.io import TFRecordOptions as TFRecordOptions
from pinnace.ops.io import TFRecordWriter as TFRecordWriter
from pinnace.ops.io import decode_csv as decode_csv
from pinnace.ops.io import decode_raw as decode_raw
from pinnace.ops.io import gfile as gfile
from pinnace.ops.io import matching_files as matching_files
from pinnace.ops.io import parse_tensor as parse_tensor
from pinnace.ops.io import read_file as read_file
from pinnace.ops.io import serialize_tensor as serialize_tensor
from pinnace.ops.io import write_file as write_file
from pinnace.ops.strings.encoding import decode_base64 as decode_base64
from pinnace.ops.strings.encoding import encode_base64 as encode_base64
