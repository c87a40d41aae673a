"""`tf.io`: files, records, and their contents."""

from pinnace.functions.graph_files import write_graph as write_graph
from pinnace.ops.composites.matched_files import match_filenames_once as match_filenames_once
from pinnace.ops.composites.parsing import FixedLenFeature as FixedLenFeature
from pinnace.ops.composites.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from pinnace.ops.composites.parsing import RaggedFeature as RaggedFeature
from pinnace.ops.composites.parsing import SparseFeature as SparseFeature
from pinnace.ops.composites.parsing import VarLenFeature as VarLenFeature
from pinnace.ops.composites.parsing import parse_example as parse_example
from pinnace.ops.composites.parsing import parse_sequence_example as parse_sequence_example
from pinnace.ops.composites.parsing import parse_single_example as parse_single_example
from pinnace.ops.composites.parsing import (
    parse_single_sequence_example as parse_single_sequence_example,
)
from pinnace.ops.composites.sparse.serializing import (
    deserialize_many_sparse as deserialize_many_sparse,
)
from pinnace.ops.composites.sparse.serializing import serialize_many_sparse as serialize_many_sparse
from pinnace.ops.composites.sparse.serializing import serialize_sparse as serialize_sparse
from pinnace.ops.image.codecs import decode_bmp as decode_bmp
from pinnace.ops.image.codecs import decode_gif as decode_gif
from pinnace.ops.image.codecs import decode_image as decode_image
from pinnace.ops.image.codecs import decode_png as decode_png
from pinnace.ops.image.codecs import decode_webp as decode_webp
from pinnace.ops.image.codecs import encode_png as encode_png
from pinnace.ops.image.jpeg import decode_and_crop_jpeg as decode_and_crop_jpeg
from pinnace.ops.image.jpeg import decode_jpeg as decode_jpeg
from pinnace.ops.image.jpeg import encode_jpeg as encode_jpeg
from pinnace.ops.image.jpeg import extract_jpeg_shape as extract_jpeg_shape
from pinnace.ops.image.jpeg import is_jpeg as is_jpeg
from pinnace.ops.io import TFRecordOptions as TFRecordOptions
from pinnace.ops.io import TFRecordWriter as TFRecordWriter
from pinnace.ops.io import decode_compressed as decode_compressed
from pinnace.ops.io import decode_csv as decode_csv
from pinnace.ops.io import decode_raw as decode_raw
from pinnace.ops.io import gfile as gfile
from pinnace.ops.io import matching_files as matching_files
from pinnace.ops.io import parse_tensor as parse_tensor
from pinnace.ops.io import read_file as read_file
from pinnace.ops.io import serialize_tensor as serialize_tensor
from pinnace.ops.io import write_file as write_file
from pinnace.ops.io.json_examples import decode_json_example as decode_json_example
from pinnace.ops.io.protos import decode_proto as decode_proto
from pinnace.ops.io.protos import encode_proto as encode_proto
from pinnace.ops.strings.encoding import decode_base64 as decode_base64
from pinnace.ops.strings.encoding import encode_base64 as encode_base64
