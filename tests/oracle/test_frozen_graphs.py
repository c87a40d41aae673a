"""Frozen graphs in files: those written here run in TensorFlow, and those it writes run here."""

import json
from pathlib import Path
from typing import Any

import pinnace as tf
from support.loaded_process import run_either

CALLS = [([1.0, 1.0], 0), ([-1.0, -2.0], 3), ([3.0, 4.0], 4)]

# Both define the same function of two variables; `tf` is imported already.
READ = """
v, table = tf.Variable([1.0, 2.0]), tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
@tf.function
def read(x, n):
    y = x * v
    if tf.reduce_sum(x) > 0:
        y += v
    else:
        y -= table[0]
    for i in tf.range(n):
        y = y * v + tf.cast(i, tf.float32)
    return tf.nn.relu(y), tf.gather(table, [2, 0])
concrete = read.get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([], tf.int32))
"""

THERE = """
import json, sys
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
exec(sys.argv[1])
folder, outputs, calls = sys.argv[2], sys.argv[3].split(","), json.loads(sys.argv[4])
frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
tf.io.write_graph(frozen.graph, folder, "theirs.pb", as_text=False)
with open(folder + "/ours.pb", "rb") as file:
    message = tf.compat.v1.GraphDef.FromString(file.read())
build = lambda: tf.compat.v1.import_graph_def(message, name="")
pruned = tf.compat.v1.wrap_function(build, []).prune(["x:0", "n:0"], outputs)
run = lambda f: [[t.numpy().tolist() for t in f(tf.constant(x), tf.constant(n))] for x, n in calls]
names = [tensor.name for tensor in frozen.outputs]
print(json.dumps({"own": run(concrete), "ours": run(pruned), "outputs": names}))
"""


def test_frozen_graphs_cross_over_in_files(tmp_path: Path, tensorflow_python: str) -> None:
    source = tmp_path / "read.py"  # AutoGraph reads the source of a file
    source.write_text(READ, "utf-8")
    load = (
        f"import pathlib; source = pathlib.Path({str(source)!r});"
        " exec(compile(source.read_text(), source, 'exec'))"
    )
    scope: dict[str, Any] = {"tf": tf}
    exec(load, scope)
    frozen = tf.graph_util.convert_variables_to_constants_v2(scope["concrete"])
    tf.io.write_graph(frozen.graph, tmp_path, "ours.pb", as_text=False)
    outputs = ",".join(tensor.name for tensor in frozen.outputs)
    arguments = (load, tmp_path, outputs, json.dumps(CALLS))
    printed = run_either(THERE, *arguments, python=tensorflow_python)
    told = json.loads(printed.strip().splitlines()[-1])

    def run(function: Any) -> Any:
        results = [function(tf.constant(x), tf.constant(n)) for x, n in CALLS]
        return [[tensor.numpy().tolist() for tensor in one] for one in results]

    assert told["ours"] == told["own"] == run(frozen)
    message = tf.compat.v1.GraphDef.FromString((tmp_path / "theirs.pb").read_bytes())
    wrapped = tf.compat.v1.wrap_function(
        lambda: tf.graph_util.import_graph_def(message, name=""), []
    )
    theirs = wrapped.prune(["x:0", "n:0"], told["outputs"])
    assert run(theirs) == told["own"]
