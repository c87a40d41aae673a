"""Write the definitions of the ops of decision forests, as `make.py` does TensorFlow's.

Run with a Python that has tensorflow 2.21, ydf 0.16.1 and ydf-tf 2.21.0: python make_forests.py
"""

import gzip
from pathlib import Path

import ydf_tf  # noqa: F401 (adds its ops)
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session as session

HERE = Path(__file__).resolve().parent
found = op_def_pb2.OpList.FromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
# Ops for training, and those of older models, are not run here.
kept = op_def_pb2.OpList(op=[op for op in found.op if op.name.startswith("SimpleML")])
for op in kept.op:
    for field in ("summary", "description"):
        op.ClearField(field)
    for arg in (*op.input_arg, *op.output_arg):
        arg.ClearField("description")
    for attr in op.attr:
        attr.ClearField("description")
        attr.ClearField("allowed_values")
data = kept.SerializeToString(deterministic=True)
(HERE / "forests.pb.gz").write_bytes(gzip.compress(data, 9, mtime=0))
