"""Write the definitions of all of TensorFlow's ops: `python make.py` where TensorFlow is installed.

Summaries, descriptions and allowed values are left out: the file is for comparing names, types and
defaults.
"""

import gzip
from pathlib import Path

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session as session

ops = op_def_pb2.OpList.FromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
for op in ops.op:
    for field in ("summary", "description"):
        op.ClearField(field)
    for arg in (*op.input_arg, *op.output_arg):
        arg.ClearField("description")
        arg.ClearField("experimental_full_type")
    for attr in op.attr:
        attr.ClearField("description")
        attr.ClearField("allowed_values")
data = ops.SerializeToString(deterministic=True)
Path(__file__).with_name("tensorflow.pb.gz").write_bytes(gzip.compress(data, 9, mtime=0))
