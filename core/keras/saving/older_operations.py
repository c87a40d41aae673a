"""TensorFlow's functions as nodes of Keras 2's models, told as operations of Keras 3."""

from __future__ import annotations

from typing import Any

_X = {"x": "x1", "y": "x2"}
_AXIS = {"axis": "axis", "keepdims": "keepdims"}
_NUMPY = "numpy"

# TensorFlow's function -> module and class in Keras 3, and TensorFlow's argument -> Keras'.
# `_CALLED` says which of these are arguments of the call; the class keeps the others.
_FUNCTIONS: dict[str, tuple[str, str, dict[str, str]]] = {
    "__operators__.getitem": (_NUMPY, "GetItem", {"slice_spec": "key"}),
    **{
        f"{place}{name}": (_NUMPY, cls, _X)
        for place in ("__operators__.", "math.", "")
        for name, cls in {
            "add": "Add",
            "subtract": "Subtract",
            "sub": "Subtract",
            "multiply": "Multiply",
            "mul": "Multiply",
            "truediv": "TrueDivide",
            "divide": "Divide",
            "divide_no_nan": "DivideNoNan",
            "floordiv": "FloorDivide",
            "floormod": "Mod",
            "mod": "Mod",
            "pow": "Power",
            "maximum": "Maximum",
            "minimum": "Minimum",
            "equal": "Equal",
            "not_equal": "NotEqual",
            "greater": "Greater",
            "greater_equal": "GreaterEqual",
            "less": "Less",
            "less_equal": "LessEqual",
            "logical_and": "LogicalAnd",
            "logical_or": "LogicalOr",
            "logical_xor": "LogicalXor",
        }.items()
    },
    **{
        f"{place}{name}": (module, cls, {})
        for place in ("math.", "nn.", "", "keras.activations.", "keras.backend.")
        for name, (module, cls) in {
            "negative": (_NUMPY, "Negative"),
            "abs": (_NUMPY, "Abs"),
            "sign": (_NUMPY, "Sign"),
            "square": (_NUMPY, "Square"),
            "sqrt": (_NUMPY, "Sqrt"),
            "rsqrt": ("math", "Rsqrt"),
            "reciprocal": (_NUMPY, "Reciprocal"),
            "exp": (_NUMPY, "Exp"),
            "expm1": (_NUMPY, "Expm1"),
            "log": (_NUMPY, "Log"),
            "log1p": (_NUMPY, "Log1p"),
            "floor": (_NUMPY, "Floor"),
            "ceil": (_NUMPY, "Ceil"),
            "round": (_NUMPY, "Round"),
            "sin": (_NUMPY, "Sin"),
            "cos": (_NUMPY, "Cos"),
            "tan": (_NUMPY, "Tan"),
            "tanh": (_NUMPY, "Tanh"),
            "erf": ("math", "Erf"),
            "is_nan": (_NUMPY, "Isnan"),
            "is_finite": (_NUMPY, "Isfinite"),
            "logical_not": (_NUMPY, "LogicalNot"),
            "sigmoid": ("nn", "Sigmoid"),
            "relu": ("nn", "Relu"),
            "relu6": ("nn", "Relu6"),
            "elu": ("nn", "Elu"),
            "selu": ("nn", "Selu"),
            "softplus": ("nn", "Softplus"),
            "softsign": ("nn", "Softsign"),
            "silu": ("nn", "Silu"),
            "swish": ("nn", "Silu"),
            "log_sigmoid": ("nn", "LogSigmoid"),
        }.items()
    },
    **{
        f"math.{name}": (module, cls, _AXIS)
        for name, (module, cls) in {
            "reduce_sum": (_NUMPY, "Sum"),
            "reduce_mean": (_NUMPY, "Mean"),
            "reduce_max": (_NUMPY, "Max"),
            "reduce_min": (_NUMPY, "Min"),
            "reduce_prod": (_NUMPY, "Prod"),
            "reduce_std": (_NUMPY, "Std"),
            "reduce_variance": (_NUMPY, "Var"),
            "reduce_any": (_NUMPY, "Any"),
            "reduce_all": (_NUMPY, "All"),
            "reduce_logsumexp": ("math", "Logsumexp"),
        }.items()
    },
    "nn.softmax": ("nn", "Softmax", {"axis": "axis"}),
    "nn.log_softmax": ("nn", "LogSoftmax", {"axis": "axis"}),
    "nn.leaky_relu": ("nn", "LeakyRelu", {"alpha": "negative_slope"}),
    "nn.gelu": ("nn", "Gelu", {"approximate": "approximate"}),
    "math.l2_normalize": ("nn", "Normalize", {"axis": "axis", "epsilon": "epsilon"}),
    "linalg.matmul": (_NUMPY, "Matmul", {"a": "x1", "b": "x2"}),
    "reshape": (_NUMPY, "Reshape", {"shape": "newshape"}),
    "transpose": (_NUMPY, "Transpose", {"perm": "axes"}),
    "expand_dims": (_NUMPY, "ExpandDims", {"axis": "axis"}),
    "squeeze": (_NUMPY, "Squeeze", {"axis": "axis"}),
    "concat": (_NUMPY, "Concatenate", {"axis": "axis"}),
    "stack": (_NUMPY, "Stack", {"axis": "axis"}),
    "unstack": ("core", "Unstack", {"axis": "axis", "num": "num"}),
    "split": (_NUMPY, "Split", {"num_or_size_splits": "indices_or_sections", "axis": "axis"}),
    "tile": (_NUMPY, "Tile", {"multiples": "repeats"}),
    "repeat": (_NUMPY, "Repeat", {"repeats": "repeats", "axis": "axis"}),
    "reverse": (_NUMPY, "Flip", {"axis": "axis"}),
    "cast": ("core", "Cast", {"dtype": "dtype"}),
    "clip_by_value": (_NUMPY, "Clip", {"clip_value_min": "x_min", "clip_value_max": "x_max"}),
    "where": (_NUMPY, "Where", {"condition": "condition", "x": "x1", "y": "x2"}),
    "gather": (_NUMPY, "Take", {"indices": "indices", "axis": "axis"}),
    "one_hot": ("nn", "OneHot", {"depth": "num_classes", "axis": "axis", "dtype": "dtype"}),
    "math.cumsum": (_NUMPY, "Cumsum", {"axis": "axis"}),
    "math.argmax": (_NUMPY, "Argmax", {"axis": "axis"}),
    "math.argmin": (_NUMPY, "Argmin", {"axis": "axis"}),
    "zeros_like": (_NUMPY, "ZerosLike", {"dtype": "dtype"}),
    "ones_like": (_NUMPY, "OnesLike", {"dtype": "dtype"}),
    "broadcast_to": (_NUMPY, "BroadcastTo", {"shape": "shape"}),
    "stop_gradient": ("core", "StopGradient", {}),
    "identity": (_NUMPY, "Copy", {}),
    "pad": (_NUMPY, "Pad", {"paddings": "pad_width", "mode": "mode", "constant_values": ""}),
}
# Arguments of calls; all others are settings. In the order in which the class takes them.
_CALLED = ("x", "x1", "x2", "condition", "key", "indices")
# TensorFlow's defaults that differ from those of Keras.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "nn.gelu": {"approximate": False},
    "math.l2_normalize": {"epsilon": 1e-12},
    "gather": {"axis": 0},
    "math.cumsum": {"axis": 0},
    "math.argmax": {"axis": 0},
    "math.argmin": {"axis": 0},
    "one_hot": {"axis": -1},
}
# Arguments that may be there, as long as they say nothing.
_NOTHING: tuple[Any, ...] = (None, False, "channels_last")


def operation_of(entry: dict[str, Any], calls: list[dict[str, Any]]) -> dict[str, Any]:
    """A layer around a function of TensorFlow, as an operation.

    Args:
        entry: its configuration.
        calls: of it, in the form of Keras 3.

    Raises:
        ValueError: a function that is not known here, or an argument of it.
    """
    config = entry.get("config")
    function = config.get("function") if isinstance(config, dict) else None
    if isinstance(function, str):
        function = function.removeprefix("compat.v1.")
    if not isinstance(function, str) or function not in _FUNCTIONS:
        known = ", ".join(sorted({name.rpartition(".")[2] for name in _FUNCTIONS}))
        raise ValueError(
            f"the model calls tf.{function}, which is not known in files of Keras 2\n"
            f"  known: {known}\n"
            "  Try: a Layer of your own around it, where the model was made; or a SavedModel"
        )
    if len(calls) != 1:
        raise ValueError(f"tf.{function} is called {len(calls)} times by one layer, not once")
    module, cls, arguments = _FUNCTIONS[function]
    settings, args = _distributed(function, arguments, calls[0])
    if function == "split":
        _cut(settings)
    if function == "math.l2_normalize":
        settings["epsilon"] = settings["epsilon"] ** 0.5
    name = entry.get("name")
    return {
        "module": f"keras.src.ops.{module}",
        "class_name": cls,
        "registered_name": cls,
        "config": {"name": str(name).replace("/", "_"), **settings},
        "name": name,
        "inbound_nodes": [{"args": args, "kwargs": {}}],
    }


def _distributed(
    function: str, names: dict[str, str], call: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    """The settings and the arguments of a call."""
    settings: dict[str, Any] = dict(_DEFAULTS.get(function, {}))
    later: dict[str, Any] = {}
    for key, value in call["kwargs"].items():
        target = names.get(key)
        if target in _CALLED:
            later[target] = value
        elif target:
            settings[target] = value.lower() if target == "mode" else value
        elif value not in _NOTHING and not (target == "" and value == 0):
            raise ValueError(f"tf.{function}: argument {key}={value!r:.60} is not supported")
    first = [] if "condition" in later else list(call["args"])
    return settings, first + [later[name] for name in _CALLED if name in later]


def _cut(settings: dict[str, Any]) -> None:
    """Sizes of parts as the places to cut at."""
    sizes = settings.get("indices_or_sections")
    if not isinstance(sizes, list):
        return
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise ValueError(f"tf.split: sizes must be known, got {sizes!r:.80}")
    settings["indices_or_sections"] = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
