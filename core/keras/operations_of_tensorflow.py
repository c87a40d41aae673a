"""TensorFlow functions in Keras 2's models, converted to operations of Keras 3."""

from __future__ import annotations

from typing import Any

from pinnace.framework import structure
from pinnace.framework.errors import OpError
from pinnace.keras.ops.operation import operation_class
from pinnace.keras.symbolic import is_symbolic, spec_of

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
    "zeros_like": (_NUMPY, "ZerosLike", {"dtype": "dtype"}),
    "ones_like": (_NUMPY, "OnesLike", {"dtype": "dtype"}),
    "broadcast_to": (_NUMPY, "BroadcastTo", {"shape": "shape"}),
    "math.argmax": (_NUMPY, "Argmax", {"axis": "axis", "output_type": ""}),
    "math.argmin": (_NUMPY, "Argmin", {"axis": "axis", "output_type": ""}),
    "stop_gradient": ("core", "StopGradient", {}),
    "identity": (_NUMPY, "Copy", {}),
    "pad": (_NUMPY, "Pad", {"paddings": "pad_width", "mode": "mode", "constant_values": ""}),
}
# Call arguments in the order of the class's `call`; all others are settings.
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
# Values of other arguments that change nothing.
_NOTHING: tuple[Any, ...] = (None, False, "channels_last")


def same_operation(
    function: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], specs: Any
) -> Any:
    """KerasTensors from an equivalent operation of Keras 3; None if there is none.

    Args:
        function: a TensorFlow function, without `tf.`.
        name: name of the operation.
        args: arguments of the call, some of them KerasTensors.
        kwargs: likewise.
        specs: the function's results: one with another dtype is not the same.
    """
    function = function.removeprefix("compat.v1.")
    known = _FUNCTIONS.get(function)
    told = None if known is None else _told(function, known[2], args, kwargs)
    if known is None or told is None:
        return None
    kind = operation_class(f"keras.src.ops.{known[0]}", known[1])
    assert kind is not None, function  # noqa: S101 (the table names those that there are)
    settings, first = told
    operation = kind(name=name, **settings)
    try:
        found = operation.compute_output_spec(*first)
    except (ValueError, TypeError, OpError, NotImplementedError):
        return None  # sparse and ragged tensors, for instance
    return operation(*first) if _flat(found) == _flat(specs) else None


def _flat(specs: Any) -> list[Any]:
    return [(one.dtype, one.shape.text) for one in map(spec_of, structure.flatten(specs))]


def _told(  # noqa: C901 (one question after the other)
    function: str, names: dict[str, str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]] | None:
    """The settings and call arguments of the operation; None if it lacks one of them."""
    settings: dict[str, Any] = dict(_DEFAULTS.get(function, {}))
    later: dict[str, Any] = {}
    for key, value in kwargs.items():
        target = names.get(key)
        if target is not None and target in _CALLED:
            later[target] = value
        elif target:
            settings[target] = value.lower() if target == "mode" else value
        elif not any(value is x for x in _NOTHING) and not (target == "" and value == 0):
            return None
    if "condition" in later:
        args, later = (), {key: x for key, x in later.items() if x is not None}
    brackets = later.get("key")
    if is_symbolic([settings, brackets]) or (function == "where" and len(args) + len(later) != 3):
        return None
    if function == "split" and not _cut(settings):
        return None
    if function in {"stack", "concat"} and not all(map(is_symbolic, structure.flatten(args))):
        return None  # mixed lists of numbers and tensors have no counterpart in Keras 3
    if "key" in later:
        later["key"] = with_slices(brackets)
    if function == "math.l2_normalize":
        settings["epsilon"] = settings["epsilon"] ** 0.5
    return settings, [*args, *(later[name] for name in _CALLED if name in later)]


def with_slices(key: Any) -> Any:
    """The index key; Keras 2's files store slices as dicts, which may contain tensors."""
    if isinstance(key, dict):
        return slice(*(key.get(part) for part in ("start", "stop", "step")))
    return tuple(map(with_slices, key)) if isinstance(key, (list, tuple)) else key


def _cut(settings: dict[str, Any]) -> bool:
    """Convert sizes of parts to split indices; whether they are known."""
    sizes = settings.get("indices_or_sections")
    if isinstance(sizes, list):
        if not all(type(size) is int and size >= 0 for size in sizes):
            return False
        settings["indices_or_sections"] = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return True
