"""Models of programs and libraries that save in unusual ways."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from casebook import case, numbers, texts
from tensorflow.core.protobuf import saved_model_pb2

v1 = tf.compat.v1


def change(folder: Path, edit: Any) -> None:
    """Let `edit` change the graph of a model, as another version would have written it."""
    path = folder / "saved_model.pb"
    message = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    edit(message.meta_graphs[0])
    path.write_bytes(message.SerializeToString(deterministic=True))
    path.with_name("fingerprint.pb").unlink(missing_ok=True)  # it belongs to the previous graph


def _frozen() -> Any:
    """A graph of version 1, as a function without arguments."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        y = v1.placeholder(tf.float32, [None, 2], "Y")
        total = tf.identity(x * 2.0 + y, "total")
        tf.reduce_sum(total, name="sum")
        tf.strings.as_string(tf.size(x), name="count")
    message = graph.as_graph_def()
    return v1.wrap_function(lambda: tf.import_graph_def(message, name=""), [])


@case("wrapped")
def pruned(folder: Path) -> Any:
    """As by the guide's `wrap_frozen_graph`: the function's arguments are not recorded."""
    model = tf.Module()
    whole = _frozen()
    element = whole.graph.as_graph_element
    inputs = [element("x:0"), element("Y:0")]
    model.named = whole.prune(inputs, {"total": element("total:0"), "s": element("sum:0")})
    model.one = whole.prune(inputs[::-1], element("total:0"))
    model.listed = whole.prune(["x:0"], [["count:0"], "x:0"])
    model.nothing = whole.prune([], [])
    tf.saved_model.save(model, str(folder))
    both = {"x": numbers(2, 2), "Y": numbers(3, 2)[:2]}
    return [("@named", both), ("@one", both), ("@listed", {"x": numbers(4, 2)})]


@case("wrapped")
def pruned_signature(folder: Path) -> Any:
    model = tf.Module()
    whole = _frozen()
    element = whole.graph.as_graph_element
    model.pruned = whole.prune(
        {"x": element("x:0"), "Y": element("Y:0")}, {"out": element("total:0")}
    )
    tf.saved_model.save(model, str(folder), signatures=model.pruned)
    return [("serving_default", {"x": numbers(2, 2), "Y": numbers(2, 2)})]


@case("wrapped")
def loaded_from_version_1(folder: Path) -> Any:
    """As by TFX's transform layer: a version 1 model with a table, whose signatures are pruned."""
    first = folder.parent / "first"
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], "words")
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1.0, 2.0])), 0.5
        )
        scale = v1.get_variable("scale", initializer=numbers(1), use_resource=True)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        v1.saved_model.simple_save(
            session,
            str(first),
            {"words": words},
            {"y": table.lookup(words) * scale},
            legacy_init_op=v1.tables_initializer(),
        )
    loaded = tf.saved_model.load(str(first))
    model = tf.Module()
    model.inner = loaded
    model.transform = loaded.signatures["serving_default"]
    tf.saved_model.save(model, str(folder), signatures=model.transform)
    for path in sorted(first.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    first.rmdir()
    given = {"words": texts("b", "z", "a")}
    return [("serving_default", given), ("@transform", given)]


@case("wrapped")
def wrapped_with_variable(folder: Path) -> Any:
    """A wrapped function, and a pruned one, that share one variable."""
    model = tf.Module()

    def scaled(x: Any) -> Any:
        w = v1.get_variable("w", initializer=numbers(2), use_resource=True)
        return tf.identity(x * w, "scaled")

    model.whole = v1.wrap_function(scaled, [tf.TensorSpec([None, 2], tf.float32)])
    element = model.whole.graph.as_graph_element
    model.cut = model.whole.prune(model.whole.inputs[0], element("scaled:0"))
    model.held = list(model.whole.graph.variables)
    tf.saved_model.save(model, str(folder))
    (name,) = model.cut._arg_keywords
    return [("@cut", {name: numbers(1, 2)})]


@case("old methods")
def methods_of_2_0(folder: Path) -> Any:
    """TensorFlow 2.0 and 2.1 wrote `self` among the parameters, and is_method=False."""

    class Scaled(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(numbers(3))

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
        def scale(self, x: Any) -> Any:
            return x * self.w

        @tf.function
        def shift(self, x: Any, by: float = 1.0, *, twice: bool = False) -> Any:
            return x + by * (2.0 if twice else 1.0)

        @tf.function
        def __call__(self, x: Any) -> Any:
            return self.scale(x) - 1.0

    model = Scaled()
    model(tf.zeros([1, 3]))
    model.shift(tf.zeros([1, 3]))
    model.shift(tf.zeros([1, 3]), 2.0, twice=True)
    tf.saved_model.save(model, str(folder))

    def as_2_0(meta: Any) -> None:
        for node in meta.object_graph_def.nodes:
            if node.WhichOneof("kind") == "function":
                spec = node.function.function_spec
                spec.is_method = False
                (args,) = (
                    one.value.list_value.values
                    for one in spec.fullargspec.named_tuple_value.values
                    if one.key == "args"
                )
                names = [one.string_value for one in args]
                if names[:1] != ["self"]:
                    names.insert(0, "self")
                del args[:]
                for name in names:
                    args.add(string_value=name)

    change(folder, as_2_0)
    x = {"x": numbers(1, 3)}
    return [
        ("@scale", x),
        ("@shift", x),
        ("@shift", {**x, "by": 2.0, "twice": True}),
        ("@__call__", x),
    ]


@case("signs")
def policy(folder: Path) -> Any:
    """Inputs and outputs of a policy named as by TF-Agents: with slashes, digits first."""
    model = tf.Module()
    model.w = tf.Variable(numbers(2))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.float32, "0/discount"),
            (
                tf.TensorSpec([None, 2], tf.float32, "0/observation/x"),
                tf.TensorSpec([None], tf.int32, "0/step_type"),
            ),
            tf.TensorSpec([], tf.float32, "base"),
        ]
    )
    def action(discount: Any, rest: Any, base: Any) -> Any:
        moved = discount + tf.linalg.matvec(rest[0], model.w) + base
        return {"action/0": moved, "info": tf.cast(rest[1], tf.float32) - discount}

    model.action = action
    tf.saved_model.save(model, str(folder), signatures={"action": action})
    given = {
        "0/discount": np.float32([0.5, 1.0]),
        "0/observation/x": numbers(2, 2),
        "0/step_type": np.int32([1, 2]),
        "base": np.float32(3.0),
    }
    as_keywords = {
        ("arg_" + name.replace("/", "_") if name != "base" else name): value
        for name, value in given.items()
    }
    return [("action", given), ("action", as_keywords)]


@case("signs")
def old_policy(folder: Path) -> Any:
    """The same as written by versions before 2.14: the names themselves are parameters."""
    calls = policy(folder)

    def as_before(meta: Any) -> None:
        known = list(meta.signature_def["action"].inputs)
        own = {("arg_" + name.replace("/", "_")): name for name in known if "/" in name}
        for name, info in meta.object_graph_def.concrete_functions.items():
            if "signature_wrapper" in name:
                values = info.canonicalized_input_signature.tuple_value.values
                fields = values[1].dict_value.fields
                for key in list(fields):
                    if key in own:
                        fields[own[key]].CopyFrom(fields[key])
                        del fields[key]

    change(folder, as_before)
    return calls[:1]


def _implementing(interface: str, added: float, device: str | None) -> Any:
    """One implementation of an interface; the number that it adds shows which one ran."""
    marks = {"api_implements": interface}
    if device is not None:
        marks["api_preferred_device"] = device
    return tf.function(lambda x: x + added, autograph=False, experimental_attributes=marks)


@case("implementations")
def for_devices(folder: Path) -> Any:
    """Like TensorFlow Probability's samplers: a model calls one, and another runs on CPUs."""
    x = tf.TensorSpec([None], tf.float32, "x")
    signatures = {}

    def asked(name: str, *devices: str | None) -> None:
        made = [_implementing(name, 1.0 + i, device) for i, device in enumerate(devices)]

        def serve(x: Any) -> Any:
            y = made[0](x)
            for other in made[1:]:
                other.get_concrete_function(x).add_to_graph()
            inside = tf.cond(tf.size(x) > 2, lambda: made[0](x), lambda: -x)
            end = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, made[0](x)), (0, x))[1]
            return {"y": y, "in_branch": inside, "in_loop": end}

        signatures[name] = tf.function(serve, input_signature=[x])

    asked("plain", None, "CPU")
    asked("written_on_a_gpu", "GPU", "CPU")
    asked("for_cpus_already", "CPU", "GPU")
    asked("several", None, "GPU", "CPU")
    asked("none_for_cpus", None, None)
    asked("small_letters", None, "cpu")
    tf.saved_model.save(tf.Module(), str(folder), signatures=signatures)
    return [(name, {"x": numbers(length)}) for name in signatures for length in (2, 3)]
