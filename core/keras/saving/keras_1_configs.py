"""Keras 1's configurations converted to Keras 2's form, with later names.

Layers that joined others (`Merge`) become one layer for each mode, and a `Sequential` that begins
with one becomes a functional model. Layers that no later Keras computes are refused by name.
"""

from __future__ import annotations

from typing import Any

from pinnace.keras import ops, registry
from pinnace.keras.layer import Layer

_CLASSES = {
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "AtrousConv1D": "Conv1D",
    "AtrousConv2D": "Conv2D",
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "Deconvolution2D": "Conv2DTranspose",
    "Deconvolution3D": "Conv3DTranspose",
    "SeparableConvolution2D": "SeparableConv2D",
    "TimeDistributedDense": "Dense",
}
_SILENT = frozenset(
    f"{kind}{rank}D" for kind in ("UpSampling", "ZeroPadding", "Cropping") for rank in (2, 3)
)
# Class -> why no current layer replaces it.
_GONE = {
    "Highway": "a gate between a layer and its input",
    "MaxoutDense": "the largest of several dense layers",
    "SReLU": "an activation of three pieces whose ends are learned",
    "ParametricSoftplus": "a softplus whose scales are learned",
    "ConvRecurrent2D": "a base class",
}
_RENAMED = {
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "bias": "use_bias",
    "border_mode": "padding",
    "subsample": "strides",
    "subsample_length": "strides",
    "stride": "strides",
    "nb_filter": "filters",
    "filter_length": "kernel_size",
    "atrous_rate": "dilation_rate",
    "p": "rate",
    "sigma": "stddev",
    "pool_length": "pool_size",
    "length": "size",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "dim_ordering": "data_format",
    "forget_bias_init": "unit_forget_bias",
    "depthwise_init": "depthwise_initializer",
    "pointwise_init": "pointwise_initializer",
}
_KERNELS = (("nb_row", "nb_col"), ("kernel_dim1", "kernel_dim2", "kernel_dim3"))
_ORDERS = {"tf": "channels_last", "th": "channels_first", "default": None}
# Options of Keras 1 that current layers infer or do not need: how a recurrence is computed, the
# input size that the kernel determines.
_LEFT_OUT = frozenset(
    [
        *("consume_less", "input_dim", "input_dtype", "input_length", "output_shape", "weights"),
        *(name for names in _KERNELS for name in names),
    ]
)
_MERGES = {
    "sum": "Add",
    "mul": "Multiply",
    "ave": "Average",
    "max": "Maximum",
    "concat": "Concatenate",
    "dot": "Dot",
}
# Arguments that no later Keras has, in any layer of a file.
_MARKS = frozenset(
    {"nb_filter", "W_regularizer", "b_regularizer", "border_mode", "dim_ordering", "output_dim"}
)


@registry.register_keras_serializable("pinnace")
class CosineOfKeras1(Layer):
    """`Merge(mode="cos")`: x·y / √(x·x · y·y), batched matrix products.

    Args:
        axes: the axes of the two inputs that are summed over.
    """

    def __init__(self, axes: Any, **options: Any) -> None:
        super().__init__(**options)
        self.axes = axes

    def call(self, inputs: list[Any]) -> Any:
        """[batch, 1, …] of two tensors of one shape."""
        x, y = inputs
        axes = [axis % len(x.shape) for axis in self.axes]
        norm = ops.sqrt(self._product(x, x, axes) * self._product(y, y, axes))
        return ops.expand_dims(self._product(x, y, axes) / ops.maximum(norm, 1e-7), 1)

    def _product(self, x: Any, y: Any, axes: list[int]) -> Any:
        if len(x.shape) == 2:
            return ops.sum(x * y, 1, keepdims=True)
        left, right = (ops.moveaxis(z, axis, -1) for z, axis in zip((x, y), axes, strict=True))
        return ops.matmul(left, ops.moveaxis(right, -1, -2))

    def get_config(self) -> dict[str, Any]:
        """The configuration, with the axes."""
        return {**super().get_config(), "axes": self.axes}


def is_of_keras_1(config: Any, version: str | None) -> bool:
    """Whether a configuration is from Keras 1, whose first files contain no version."""
    if version is not None:
        return version.startswith(("0.", "1."))
    return isinstance(config, dict) and any(
        _MARKS & layer["config"].keys() and layer.get("class_name") not in {"Embedding"}
        for layer in _layers(config)
    )


def _layers(config: dict[str, Any]) -> list[dict[str, Any]]:
    inner = config.get("config")
    listed = inner.get("layers") if isinstance(inner, dict) else inner
    return [
        layer
        for layer in (listed if isinstance(listed, list) else [])
        if isinstance(layer, dict) and isinstance(layer.get("config"), dict)
    ]


def converted(config: Any) -> Any:
    """A configuration in Keras 2's form.

    Args:
        config: configuration of a layer or a model.

    Raises:
        ValueError: a layer that no later Keras has.
    """
    return _converted(_with_orders(config, "th" if _orders(config) == {"th"} else "tf"))


def _orders(config: Any) -> set[str]:
    """The axis orders that layers specify."""
    if isinstance(config, dict):
        told = config.get("dim_ordering")
        own = {told} if isinstance(told, str) else set()
        return own.union(*map(_orders, config.values()))
    return set().union(*map(_orders, config)) if isinstance(config, list) else set()


def _with_orders(config: Any, order: str) -> Any:
    """The layers with an axis order, where it was left to the user's settings."""
    if isinstance(config, list):
        return [_with_orders(item, order) for item in config]
    if not isinstance(config, dict):
        return config
    made = {key: _with_orders(value, order) for key, value in config.items()}
    if made.get("class_name") in _SILENT and isinstance(made.get("config"), dict):
        made["config"] = {"dim_ordering": order, **made["config"]}
    return made


def _converted(config: Any) -> Any:
    if isinstance(config, list):
        return [_converted(item) for item in config]
    if not isinstance(config, dict):
        return config
    kind, inner = config.get("class_name"), config.get("config")
    if not isinstance(kind, str) or not isinstance(inner, (dict, list)):
        return {key: _converted(value) for key, value in config.items()}
    if kind == "Sequential":
        return _sequential(config)
    if kind in {"Model", "Container", "Functional"} and isinstance(inner, dict):
        return {**config, "config": {**inner, "layers": _converted(inner.get("layers"))}}
    if not isinstance(inner, dict):
        raise ValueError(f"the configuration of a {kind} must be a dict, got {inner!r:.80}")  # noqa: TRY004 (the file is wrong, not a type)
    if kind in _GONE:
        raise ValueError(
            f"layer {inner.get('name', kind)!r} is a {kind} of Keras 1, {_GONE[kind]}, which no "
            "later Keras has\n"
            "  Try: custom_objects={" + repr(kind) + ": a layer of your own} with a file whose "
            "class has another name, or the model written anew and load_weights"
        )
    if kind == "Merge":
        kind, made = _merge(inner)
    else:
        made = _arguments(kind, inner)
    return {**config, "class_name": _CLASSES.get(kind, kind), "config": made}


def _arguments(kind: str, inner: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for names in _KERNELS:
        if names[0] in inner:
            made["kernel_size"] = [inner[name] for name in names if name in inner]
    if kind == "BatchNormalization":
        _check_mode(inner)
    for key, value in inner.items():
        if key == "input_dtype" and kind == "InputLayer":
            made["dtype"] = value
        elif key not in _LEFT_OUT or (kind == "Embedding" and key == "input_dim"):
            made[_name(kind, key)] = _value(kind, key, value)
    for key in _NEVER.get(kind, ()):
        made.pop(key, None)
    return made


# Arguments that current layers do not have: an initializer that is split into two, word dropout,
# which is now SpatialDropout1D, and the mode, which was handled.
_NEVER = {
    "SeparableConvolution2D": ("kernel_initializer",),
    "Embedding": ("dropout",),
    "BatchNormalization": ("mode",),
}


def _name(kind: str, key: str) -> str:
    weight = {"Embedding": "embeddings", "PReLU": "alpha"}.get(kind, "kernel")
    if key == "init":
        return f"{weight}_initializer"
    owner, _, what = key.partition("_")
    if what in {"regularizer", "constraint"} and owner in _OWNERS:
        return f"{_OWNERS[owner] or weight}_{what}"
    if key == "output_dim" and kind != "Embedding":
        return "units"
    return _RENAMED.get(key, key)


_OWNERS = {"W": None, "U": "recurrent", "b": "bias"}


def _value(kind: str, key: str, value: Any) -> Any:
    if key == "dim_ordering":
        return _ORDERS.get(value, value)
    if key == "forget_bias_init":
        return value == "one"
    if key.endswith("_regularizer"):
        return _regularizer(value)
    if key.endswith("_constraint"):
        return _constraint(value)
    if key == "padding" and kind.startswith("ZeroPadding"):
        return _padding(value)
    if isinstance(value, dict) and "class_name" in value:
        return _converted(value)  # of a wrapper
    return value


def _check_mode(inner: dict[str, Any]) -> None:
    if inner.get("mode", 0) != 0:
        raise ValueError(
            f"layer {inner.get('name')!r} is a BatchNormalization with mode={inner['mode']}, of "
            "each sample (1) or of each batch also where it answers (2), which later versions lack"
        )


def _regularizer(value: Any) -> Any:
    if not isinstance(value, dict) or "name" not in value:
        return value
    if not {"l1", "l2"} & value.keys():
        raise ValueError(f"a regularizer of Keras 1, {value['name']}, which no later Keras has")
    numbers = {key: float(value.get(key, 0.0)) for key in ("l1", "l2")}
    return {"class_name": "L1L2", "config": numbers}


_OF_CONSTRAINTS = {"m": "max_value", "low": "min_value", "high": "max_value"}


def _constraint(value: Any) -> Any:
    if not isinstance(value, dict) or "name" not in value:
        return value
    arguments = {_OF_CONSTRAINTS.get(k, k): x for k, x in value.items() if k != "name"}
    return {"class_name": value["name"], "config": arguments}


def _padding(value: Any) -> Any:
    if isinstance(value, dict):
        names = ("top_pad", "bottom_pad", "left_pad", "right_pad")
        value = [value.get(n, 0) for n in (names if "top_pad" in value else names[2:])]
    if isinstance(value, list) and len(value) == 4:
        return [value[:2], value[2:]]
    return value


# Layers that join others.


def _merge(inner: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    mode = inner.get("mode")
    name: dict[str, Any] = {"name": inner.get("name")}
    axes = inner.get("dot_axes")
    if mode == "cos":
        return "pinnace>CosineOfKeras1", {**name, "axes": _pair(axes)}
    name["trainable"] = True  # it distinguishes a layer from an operation of the same name
    if mode not in _MERGES or inner.get("mode_type", "raw") != "raw":
        raise ValueError(
            f"layer {inner.get('name')!r} joins its inputs by a function of Python, which a file "
            "of Keras 1 holds as machine code of another Python; it is not run"
        )
    if mode == "concat":
        return "Concatenate", {**name, "axis": inner.get("concat_axis", -1)}
    if mode == "dot":
        return "Dot", {**name, "axes": _pair(axes)}
    return _MERGES[mode], name


def _pair(axes: Any) -> list[int]:
    """One axis per input; files of Keras 1.0 have nested lists."""
    if isinstance(axes, int):
        return [axes, axes]
    return [axis[0] if isinstance(axis, list) else axis for axis in axes]


def _sequential(config: dict[str, Any]) -> dict[str, Any]:
    inner = config["config"]
    layers = inner.get("layers") if isinstance(inner, dict) else inner
    if not isinstance(layers, list):
        raise ValueError("a Sequential has no layers in its configuration")  # noqa: TRY004 (the file is wrong, not a type)
    first = layers[0] if layers else None
    if isinstance(first, dict) and first.get("class_name") == "Merge":
        return _joined(config, first, layers[1:])
    name = inner.get("name") if isinstance(inner, dict) else None
    return {
        **config,
        "config": {"name": name or config.get("name"), "layers": _converted(layers)},
    }


def _settings(layer: Any) -> dict[str, Any]:
    inner = layer.get("config") if isinstance(layer, dict) else None
    if not isinstance(inner, dict):
        raise ValueError(f"a layer's configuration must be a dict, got {layer!r:.80}")  # noqa: TRY004 (the file is wrong, not a type)
    return inner


def _joined(
    config: dict[str, Any], merge: dict[str, Any], rest: list[dict[str, Any]]
) -> dict[str, Any]:
    """A `Sequential` that begins with several: a functional model of all their layers.

    Files list the weights of such a model by these layers, branch by branch.
    """
    made: list[dict[str, Any]] = []
    inputs, ends = [], []

    def add(layer: dict[str, Any], *before: str) -> str:
        name = _settings(layer).get("name") or layer.get("name")
        calls = [[[one, 0, 0] for one in before]] if before else []
        made.append({**_converted(layer), "name": name, "inbound_nodes": calls})
        return str(name)

    for branch in _settings(merge).get("layers") or ():
        if not isinstance(branch, dict) or branch.get("class_name") != "Sequential":
            raise ValueError("a Sequential that joins something else than Sequentials")
        listed = branch.get("config")
        listed = listed.get("layers") if isinstance(listed, dict) else listed
        if not isinstance(listed, list) or not listed:
            raise ValueError("a Sequential that joins one without layers")
        first = _settings(listed[0])
        given = {
            "name": f"{first.get('name')}_input",
            "batch_input_shape": first.get("batch_input_shape"),
            "dtype": first.get("input_dtype") or "float32",
            "sparse": False,
        }
        end = add({"class_name": "InputLayer", "config": given})
        inputs.append([end, 0, 0])
        for layer in listed:
            end = add(layer, end)
        ends.append(end)
    end = add(merge, *ends)
    for layer in rest:
        end = add(layer, end)
    inner = {
        "name": config.get("name") or "sequential",
        "layers": made,
        "input_layers": inputs,
        "output_layers": [[end, 0, 0]],
    }
    return {**config, "class_name": "Model", "config": inner}
