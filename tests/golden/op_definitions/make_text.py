"""Write the definitions of the ops that TensorFlow Text adds, as `make.py` does TensorFlow's.

Run with a Python that has tensorflow 2.21 and tensorflow-text 2.21.1: python make_text.py
"""

import gzip
from pathlib import Path

import tensorflow_text  # noqa: F401 (adds its ops)
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session as session

HERE = Path(__file__).resolve().parent
FIRST = op_def_pb2.OpList.FromString(gzip.decompress((HERE / "tensorflow.pb.gz").read_bytes()))
known = {op.name for op in FIRST.op}
found = op_def_pb2.OpList.FromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
kept = op_def_pb2.OpList(op=[op for op in found.op if op.name not in known])
for op in kept.op:
    for field in ("summary", "description"):
        op.ClearField(field)
    for arg in (*op.input_arg, *op.output_arg):
        arg.ClearField("description")
    for attr in op.attr:
        attr.ClearField("description")
        attr.ClearField("allowed_values")
data = kept.SerializeToString(deterministic=True)
(HERE / "tensorflow_text.pb.gz").write_bytes(gzip.compress(data, 9, mtime=0))
