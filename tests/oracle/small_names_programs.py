"""Single names of `tf.types`, `tf.dtypes`, `tf.io` and the like; see `both`.

python small_names_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
FOLDER = Path(sys.argv[2])


def told(call: Any) -> Any:
    """The result of a call, or the class of its error."""
    try:
        return call()
    except SystemExit as done:
        return str(done.code)
    except (tf.errors.OpError, AssertionError, OSError, TypeError, ValueError) as error:
        return type(error).__name__


def specs() -> Any:
    values = (
        *(tf.constant([1]), np.ones(2), 3, "a", [1.5, 2.5], (1, 2), None, tf.TensorShape([1])),
        tf.ragged.constant([[1], []]),
    )
    found = [told(lambda x=x: str(tf.type_spec_from_value(x))) for x in values]
    dataset = tf.type_spec_from_value(tf.data.Dataset.range(3))
    return [*found, str(dataset.element_spec), told(lambda: tf.type_spec_from_value(object()))]


def functions() -> Any:
    types = tf.types.experimental
    function = tf.function(lambda x: x + 1)
    concrete = function.get_concrete_function(tf.TensorSpec([]))
    kinds = ("Callable", "ConcreteFunction", "GenericFunction", "PolymorphicFunction")
    found = [[isinstance(f, getattr(types, k)) for k in kinds] for f in (function, concrete)]
    values = (tf.constant(1), 1, 1.5, "a", b"a", 1j, [1], (1,), np.ones(2), {}, None)
    return [*found, [isinstance(value, types.TensorLike) for value in values]]


def dtypes() -> Any:
    names = [name for name in dir(tf.dtypes.experimental) if not name.startswith("_")]
    quantized = {dtype.name for dtype in tf.dtypes.QUANTIZED_DTYPES}
    return [
        [[name, getattr(tf.experimental, name).as_datatype_enum] for name in sorted(names)],
        sorted(name for name in quantized if not name.endswith("_ref")),
    ]


def json_examples() -> Any:
    texts = [
        '{"features": {"feature": {"a": {"int64List": {"value": [3, "-4"]}}}}}',
        '{"features": {"feature": {"b": {"floatList": {"value": [1.5]}}}}}',
        "{}",
    ]
    spec = {"a": tf.io.VarLenFeature(tf.int64), "b": tf.io.VarLenFeature(tf.float32)}
    parsed = tf.io.parse_example(tf.io.decode_json_example(texts), spec)
    return [
        *(tf.sparse.to_dense(parsed[key]).numpy().tolist() for key in ("a", "b")),
        *(told(lambda text=text: tf.io.decode_json_example(text)) for text in ("{", '{"x": 1}')),
    ]


def files() -> Any:
    for name in ("b.txt", "a.txt", "c.csv"):
        (FOLDER / name).touch()
    found = tf.io.match_filenames_once(str(FOLDER / "*.txt"))
    return [Path(name.decode()).name for name in tf.convert_to_tensor(found).numpy()]


def policies() -> Any:
    policy = tf.saved_model.experimental.VariablePolicy
    return [
        *(policy.from_obj(x).name for x in (None, "save_variable_devices", policy.NONE)),
        told(lambda: policy.from_obj("other")),
        told(lambda: tf.saved_model.experimental.read_fingerprint(str(FOLDER / "none"))),
        tf.saved_model.experimental.Fingerprint(0, 1, 2, 3, 4)
        == tf.saved_model.experimental.Fingerprint(0, 1, 2, 3, 4, 5),
    ]


def graphs() -> Any:
    def graph(f: Any) -> Any:
        return tf.function(f).get_concrete_function(tf.TensorSpec([2])).graph.as_graph_def()

    first = graph(lambda x: x * 2)
    turned = type(first)()
    turned.CopyFrom(first)
    del turned.node[:]
    turned.node.extend(reversed(first.node))
    return [
        told(lambda: tf.test.assert_equal_graph_def(first, turned)),
        told(lambda: tf.test.assert_equal_graph_def(first, graph(lambda x: x * 3))),
        told(lambda: tf.test.assert_equal_graph_def(first, graph(tf.exp))),
        told(lambda: tf.test.assert_equal_graph_def(first, None)),
        tf.test.is_cpu_target_available("x86"),
    ]


def schemes() -> Any:
    gfile = tf.io.gfile
    named = f"file://{FOLDER}/named"
    gfile.makedirs(named)
    with gfile.GFile(f"{named}/a.txt", "w") as file:
        file.write("text")
    return [
        {"", "file"} <= set(gfile.get_registered_schemes()),
        [gfile.exists(named), gfile.isdir(named), gfile.listdir(named)],
        [path.removeprefix(named) for path in gfile.glob(f"{named}/*")],
        [[a.removeprefix(named), b, c] for a, b, c in gfile.walk(named)],
        gfile.join("file:///tmp", "a"),
        (FOLDER / "named" / "a.txt").read_text(),
    ]


def clusters() -> Any:
    train = tf.train
    spec = train.ClusterSpec({"worker": ["a:1", "b:2"], "chief": {3: "c:4"}})
    definition = spec.as_cluster_def()
    server = train.ServerDef(
        cluster=definition, job_name="worker", task_index=1, protocol="grpc", port=3, replica=2
    )
    server.cluster_device_filters.jobs.add(name="x").tasks[1].device_filters.append("/gpu:0")
    job = train.JobDef(name="a", tasks={0: "b"})
    return [
        str(definition),
        definition.SerializeToString(deterministic=True).hex(),
        server.SerializeToString(deterministic=True).hex(),
        job.SerializeToString().hex(),
        train.ClusterSpec(train.ClusterDef(job=[job])).as_dict(),
        train.ClusterSpec(train.ClusterDef.FromString(definition.SerializeToString())) == spec,
        told(lambda: train.ClusterSpec(server)),
    ]


class Measured(tf.test.Benchmark):  # type: ignore[misc]
    """A function type that reports its arguments."""

    def benchmark_figures(self) -> None:
        self.report_benchmark(
            iters=3,
            cpu_time=0.5,
            wall_time=0.25,
            throughput=7.0,
            extras={"a": 1},
            metrics=[{"name": "m", "value": 1.0, "max_value": 2.0}],
        )

    def benchmark_named(self) -> None:
        self.report_benchmark(name="other/name", wall_time=1.0, extras={"b": [2]})

    def benchmark_wrong(self) -> None:
        self.report_benchmark(metrics=[{"name": "m"}])


def benchmarks() -> Any:
    os.environ["TEST_REPORT_FILE_PREFIX"] = f"{FOLDER}/report."
    measured = Measured()
    outcomes = [told(measured.benchmark_figures), told(measured.benchmark_figures)]
    outcomes += [told(measured.benchmark_named), told(measured.benchmark_wrong)]
    sys.argv[1:] = ["--benchmark_filter=Measured.benchmark_nothing"]
    outcomes.append(told(tf.test.main))
    (FOLDER / "report.Measured.other__name").unlink()
    sys.argv[1:] = ["--benchmark_filter=Measured.*named"]
    outcomes.append(told(tf.test.main))
    reports = sorted(FOLDER.glob("report.*"))
    return [
        *outcomes,
        [[path.name, path.read_bytes().hex()] for path in reports],
        [tf.test.Benchmark.is_abstract(), Measured.is_abstract()],
    ]


PROGRAMS = {
    "schemes": schemes,
    "clusters": clusters,
    "benchmarks": benchmarks,
    "specs": specs,
    "functions": functions,
    "dtypes": dtypes,
    "json examples": json_examples,
    "files": files,
    "policies": policies,
    "graphs": graphs,
}


if __name__ == "__main__":
    report(PROGRAMS)
