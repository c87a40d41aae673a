"""Keras 2's configurations converted to Keras 3's form: calls, changed names and arguments."""

from __future__ import annotations

from typing import Any

from pinnace.keras import registry
from pinnace.keras.saving import keras_1_configs, older_functions
from pinnace.ops.math import clipping

_CLASSES = {
    "Model": "Functional",
    "Policy": "DTypePolicy",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "SyncBatchNormalization": "BatchNormalization",
    "LSTMV2": "LSTM",
    "GRUV2": "GRU",
    "CuDNNLSTM": "LSTM",
    "CuDNNGRU": "GRU",
}
# Arguments that Keras 2 stores without meaning: class -> arguments.
_SEPARABLE = ("groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint")
_LEFT_OUT: dict[str, tuple[str, ...]] = {
    "SeparableConv1D": _SEPARABLE,
    "SeparableConv2D": _SEPARABLE,
    "DepthwiseConv1D": (*_SEPARABLE, "filters"),
    "DepthwiseConv2D": (*_SEPARABLE, "filters"),
    "Conv1DTranspose": ("groups",),
    "Conv2DTranspose": ("groups",),
    "Conv3DTranspose": ("groups",),
    "MultiHeadAttention": ("query_shape", "key_shape", "value_shape"),
    "LSTM": ("implementation", "time_major"),
    "GRU": ("implementation", "time_major"),
    "SimpleRNN": ("implementation", "time_major"),
    "RNN": ("implementation", "time_major"),
    "LSTMCell": ("implementation",),
    "GRUCell": ("implementation",),
    "ConvLSTM1D": ("time_major",),
    "ConvLSTM2D": ("implementation", "time_major"),
    "ConvLSTM3D": ("time_major",),
    "Embedding": ("input_dtype", "input_length"),
    "TextVectorization": ("vocabulary_size", "idf_weights_size"),
    "StringLookup": ("vocabulary_size", "idf_weights_size"),
    "IntegerLookup": ("vocabulary_size", "idf_weights_size"),
}
# TensorFlow's function names in files -> Keras' names.
_FUNCTIONS = {"softmax_v2": "softmax", "log_softmax_v2": "log_softmax", "relu_v2": "relu"}
_RENAMED = {("LeakyReLU", "alpha"): "negative_slope"}
_RECURRENT = {
    *("RNN", "SimpleRNN", "LSTM", "GRU", "Bidirectional"),
    *("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"),
}
_GRUS = {"GRU", "GRUCell"}
_STATES = ("initial_state", "constants")
_OF_OPTIMIZERS = ("jit_compile", "is_legacy_optimizer", "decay")
_CONSTANT = "_CONSTANT_VALUE"


def is_older(about: Any, config: dict[str, Any]) -> bool:
    """Whether a .keras file is Keras 2's, by its version or a class in it."""
    version = str(about.get("keras_version", "")) if isinstance(about, dict) else ""
    return version.startswith("2.") or str(config.get("module", "")).startswith("tf_keras")


@registry.register_keras_serializable("pinnace")
def hard_sigmoid_of_keras_2(x: Any) -> Any:
    """0.2 x + 0.5 clipped to [0, 1]: `hard_sigmoid` before Keras 3."""
    return clipping.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)


_HARD_SIGMOID = {
    "module": "builtins",
    "class_name": "function",
    "config": "pinnace>hard_sigmoid_of_keras_2",
    "registered_name": "pinnace>hard_sigmoid_of_keras_2",
}


def with_older_rules(config: Any) -> Any:
    """A configuration of Keras 2, marked where Keras 3 has other rules; see ADR 46.

    Names whose meaning has changed are renamed, and layers are marked.
    """
    if isinstance(config, list):
        return [with_older_rules(item) for item in config]
    if not isinstance(config, dict):
        return config
    made = {key: _function(key, value) for key, value in config.items()}
    if isinstance(config.get("class_name"), str) and isinstance(config.get("config"), dict):
        made[registry.RULES] = 2
        if config["class_name"] in _GRUS:
            made["config"] = {"reset_after": False, **made["config"]}  # the default up to Keras 2.1
    return made


def _function(key: str, value: Any) -> Any:
    if key in {"activation", "recurrent_activation"} and isinstance(value, str):
        return _HARD_SIGMOID if value == "hard_sigmoid" else _FUNCTIONS.get(value, value)
    return with_older_rules(value)


def as_of_today(config: Any) -> Any:
    """The result of `to_json` in the form of Keras 3, which contains a version."""
    version = str(config.get("keras_version", "")) if isinstance(config, dict) else ""
    if keras_1_configs.is_of_keras_1(config, version or None):
        config = keras_1_configs.converted(config)
    elif not version.startswith("2."):
        return config
    return converted(with_older_rules(config))


def converted(config: Any) -> Any:
    """A configuration of Keras 2, or of Keras 3's .h5 files, in the form of Keras 3."""
    if isinstance(config, list):
        return [converted(item) for item in config]
    if not isinstance(config, dict):
        return config
    kind = config.get("class_name")
    if kind == "Sequential" and isinstance(config.get("config"), list):  # before 2.2.3
        config = {**config, "config": {"name": "sequential", "layers": config["config"]}}
    if not isinstance(kind, str) or not isinstance(config.get("config"), dict):
        return {key: converted(value) for key, value in config.items()}
    kind = _CLASSES.get(kind.rpartition(">")[2], kind) if ">" not in kind else kind
    kind = kind.removeprefix("Custom>") if kind.startswith("Custom>") else kind
    made: dict[str, Any] = {**config, "class_name": kind}
    inner = config["config"]
    if kind == "Functional" or (kind not in _LEFT_OUT and _is_graph(inner)):
        made["config"] = _graph(inner)
    else:
        made["config"] = _arguments(kind, {key: converted(x) for key, x in inner.items()})
    module = str(config.get("module") or "")
    if module.startswith("tf_keras"):
        made["module"] = module.replace("tf_keras", "keras", 1)
    for key in ("compile_config", "build_config"):
        if isinstance(config.get(key), dict):
            made[key] = converted(config[key])
    if isinstance(made.get("compile_config"), dict):
        made["compile_config"] = compilation(made["compile_config"])
    return made


def _arguments(kind: str, inner: dict[str, Any]) -> dict[str, Any]:
    made = {}
    for key, value in inner.items():
        if key == "time_major" and value:
            raise ValueError(
                f"{kind}: time_major=True, sequences whose first axis is time, is not supported\n"
                "  Try: a model that transposes them, where it was saved"
            )
        if key in _LEFT_OUT.get(kind, ("rng_type",)) or (
            key == "groups" and value == 1 and "Trans" in kind
        ):
            continue
        is_own = registry.own_object("", kind, is_function=False) is not None
        if key == "fn" and is_own and not kind.endswith("Wrapper"):
            continue  # the function of a loss, which the class implies
        if key.endswith("_initializer") and isinstance(value, dict):
            value = _initializer(value)
        made[_RENAMED.get((kind, key), key)] = value
    axis = made.get("axis")
    if kind == "BatchNormalization" and isinstance(axis, list) and len(axis) == 1:
        made["axis"] = axis[0]
    if "learning_rate" in made or "lr" in made:
        for key in _OF_OPTIMIZERS:
            made.pop(key, None)
    return made


def _initializer(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration without TensorFlow 1's `dtype`, which the weight has."""
    inner = config.get("config")
    if not isinstance(inner, dict) or "dtype" not in inner:
        return config
    return {**config, "config": {key: x for key, x in inner.items() if key != "dtype"}}


# Functional models.


def _is_graph(inner: dict[str, Any]) -> bool:
    """Whether it is a functional model, possibly of a subclass."""
    return {"layers", "input_layers", "output_layers"} <= inner.keys()


def _graph(inner: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(inner.get("layers"), list):
        raise ValueError("a functional model has no layers in its configuration")  # noqa: TRY004 (the file is wrong, not a type)
    entries = [entry for entry in inner["layers"] if isinstance(entry, dict)]
    names = _Names({entry.get("name"): _first_call(entry) for entry in entries})
    layers = [_layer(entry, names) for entry in inner["layers"]]
    found = {**inner, "layers": layers}
    older = any(isinstance(nodes, list) for entry in entries for nodes in _nodes(entry))
    for key in ("input_layers", "output_layers"):
        places = names.counted(inner.get(key)) if older else inner.get(key)
        found[key] = _alone(places)
    return found


class _Names(dict[Any, int]):
    """The layers of a model, each with the index of its first call."""

    def counted(self, places: Any) -> Any:
        """References with calls counted from 0."""
        if isinstance(places, dict):
            return {key: self.counted(value) for key, value in places.items()}
        if not isinstance(places, list):
            return places
        if len(places) >= 3 and isinstance(places[0], str) and type(places[1]) is int:
            return [places[0], max(places[1] - self.get(places[0], 0), 0), *places[2:]]
        return [self.counted(value) for value in places]


def _nodes(entry: dict[str, Any]) -> list[Any]:
    nodes = entry.get("inbound_nodes")
    return nodes if isinstance(nodes, list) else []


def _first_call(entry: dict[str, Any]) -> int:
    """1 if the model begins with an input, whose creation counts as the first call in Keras 2."""
    inner = entry.get("config")
    layers = inner.get("layers") if isinstance(inner, dict) else inner
    if not isinstance(layers, list) or not layers or not isinstance(layers[0], dict):
        return 0
    first = layers[0].get("config")
    has_shape = isinstance(first, dict) and "batch_input_shape" in first  # up to Keras 2.2
    return int(layers[0].get("class_name") == "InputLayer" or has_shape)


def _alone(places: Any) -> Any:
    """A single reference instead of a list of one: a model with one input takes a tensor."""
    if isinstance(places, list) and len(places) == 1 and isinstance(places[0], list):
        return places[0]
    return places


def _layer(entry: Any, names: _Names) -> Any:
    if not isinstance(entry, dict) or not isinstance(entry.get("inbound_nodes"), list):
        raise ValueError(  # noqa: TRY004 (as above)
            f"a layer's configuration must be a dict with its calls, got {entry!r:.80}"
        )
    nodes = entry["inbound_nodes"]
    if all(isinstance(node, dict) for node in nodes):  # Keras 3's form already
        return {**converted({**entry, "inbound_nodes": []}), "inbound_nodes": nodes}
    if entry.get("class_name") in older_functions.KINDS and isinstance(entry.get("config"), dict):
        return older_functions.layer(entry, [_call(node, names, keeps=True) for node in nodes])
    calls = [_call(node, names) for node in nodes]
    if entry.get("class_name") in _RECURRENT:
        calls = [_with_states(call) for call in calls]
    made: dict[str, Any] = {**converted({**entry, "inbound_nodes": []}), "inbound_nodes": calls}
    return made


def _with_states(call: dict[str, Any]) -> dict[str, Any]:
    """The call with states, which Keras 2 passes after the sequence, in one list, with the mask.

    Keras 3 looks for the mask of a sequence only where no states are given.
    """
    args = call["args"]
    kwargs = {key: x for key, x in call["kwargs"].items() if key not in _STATES or x is not None}
    if len(args) == 1 and isinstance(args[0], list) and len(args[0]) > 1:
        kwargs = {"initial_state": args[0][1:], **kwargs}
        args = args[0][:1]
    if kwargs.get("initial_state") is None or kwargs.get("mask") is not None or len(args) != 1:
        return {"args": args, "kwargs": kwargs}
    return {"args": args, "kwargs": {**kwargs, "mask": {**args[0], "class_name": registry.MASK}}}


def _call(node: Any, names: _Names, *, keeps: bool = False) -> dict[str, Any]:
    """A call as {args, kwargs}, with references [layer, call, output, keywords], nested or single.

    Args:
        node: the node in the file.
        names: the layers of the model.
        keeps: whether a list of one place is a list to the layer.
    """
    if isinstance(node, dict) and "args" in node:
        return node
    keywords: dict[str, Any] = {}
    inputs = _inputs(node, names, keywords)
    if isinstance(inputs, list) and len(inputs) == 1 and not keeps:
        inputs = inputs[0]
    kwargs = {key: _with_tensors(x, names) for key, x in keywords.items() if key != "name"}
    return {"args": [] if inputs == [] else [inputs], "kwargs": kwargs}


def _inputs(node: Any, names: _Names, keywords: dict[str, Any]) -> Any:
    """The first argument of a call; the others, repeated in each reference, go to `keywords`."""
    if isinstance(node, dict):
        return {key: _inputs(one, names, keywords) for key, one in node.items()}
    if not isinstance(node, list):
        raise ValueError(f"a call of a layer must be made of places, got {node!r:.120}")  # noqa: TRY004 (the file is wrong, not a type)
    if not node or not isinstance(node[0], str):
        return [_inputs(one, names, keywords) for one in node]
    if not 3 <= len(node) <= 4 or not isinstance(node[-1], dict if len(node) == 4 else object):
        raise ValueError(
            "a place must be [layer, call, output], and a dict of keywords maybe, got "
            f"{node!r:.120}"
        )
    keywords.update(node[3] if len(node) == 4 else {})
    return _with_tensors(node[2], names) if node[0] == _CONSTANT else _tensor(names.counted(node))


def _tensor(place: list[Any]) -> Any:
    return {"class_name": "__keras_tensor__", "config": {"keras_history": list(place[:3])}}


def _with_tensors(value: Any, names: _Names) -> Any:
    """A keyword's value, with references replaced by tensors."""
    if isinstance(value, list):
        if len(value) >= 3 and isinstance(value[0], str) and type(value[1]) is int:
            if value[0] == _CONSTANT:
                return value[2]
            if value[0] in names and type(value[2]) is int:
                return _tensor(names.counted(value))
        return [_with_tensors(item, names) for item in value]
    if isinstance(value, dict):
        if value.get("class_name") == "__ellipsis__":
            return {"config": {}, **value}
        if value.get("class_name") == "TensorShape":
            return value.get("items")
        if value.get("type") == "ndarray" or value.get("class_name") == "ndarray":
            return value.get("value", value.get("config"))
        return {key: _with_tensors(item, names) for key, item in value.items()}
    return value


# Compile arguments.


def compilation(config: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `compile` from Keras 2's training configuration."""
    made = {key: converted(value) for key, value in config.items()}
    optimizer = made.pop("optimizer_config", None)
    if optimizer is not None:
        made["optimizer"] = optimizer
    for key in ("metrics", "weighted_metrics"):
        made[key] = _metrics(made.get(key))
    made.pop("sample_weight_mode", None)
    return {
        key: value
        for key, value in made.items()
        if key in _OF_COMPILE and not (key in {"run_eagerly", "steps_per_execution"} and not value)
    }


_OF_COMPILE = {
    *("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly"),
    *("steps_per_execution", "jit_compile", "auto_scale_loss"),
}


def _metrics(given: Any) -> Any:
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    return _by_function(given)


def _by_function(given: Any) -> Any:
    """Metrics that wrap a function, by the function's name."""
    if isinstance(given, list):
        return [_by_function(one) for one in given]
    if isinstance(given, dict):
        if given.get("class_name") in {"MeanMetricWrapper", "SumOverBatchSizeMetricWrapper"}:
            inner = given.get("config") or {}
            name = inner.get("fn")
            if isinstance(name, dict):
                name = name.get("config")
            return name if isinstance(name, str) else given
        if "class_name" not in given:
            return {key: _by_function(one) for key, one in given.items()}
    return given
