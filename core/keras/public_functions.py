"""TensorFlow functions between the layers of Keras 2's models, by public name.

Keras 3 has none of this, but its files can name these classes: they are opened there by a class of
the same name (docs/guide/keras.md#models-of-keras-2-in-keras-3).
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
from typing import TYPE_CHECKING, Any

from pinnace.keras import registry
from pinnace.keras.operation import Operation
from pinnace.keras.operations_of_tensorflow import same_operation, with_slices
from pinnace.keras.symbolic import is_symbolic
from pinnace.ops.array.constants import constant

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS, _VERSION_1 = "__operators__.", "compat.v1."
# Functions that version 1 names differently, with the same arguments.
_RENAMED = {"floor_div": "math.floordiv", "quantize_v2": "quantization.quantize"}
# Modules of functions that only compute.
_COMPUTE = (
    "pinnace.ops.",
    "pinnace.framework.convert",
    *(f"pinnace.keras.{name}" for name in ("activations", "backend", "losses", "metrics")),
    *(f"pinnace.compat.v1.{name}" for name in ("functions", "gone", "image", "nn", "texts")),
)
# Modules whose functions access files, the terminal or Python, or keep state.
_REACH = (
    *(f"pinnace.ops.{name}" for name in ("dataset", "functional", "queue", "state", "summary")),
    *(f"pinnace.ops.io.{name}" for name in ("bundles", "files", "gfile", "protos", "writers")),
    *("pinnace.ops.control.printing", "pinnace.ops.random.candidates"),
)
_REACH_BY_NAME = re.compile(
    r"Print|set_(?!diag).*|get_global.*|assign.*|delete.*|batch_set.*|match_.*|name_scope|clear_session|"
    r"manual_variable_initialization"
)
# Namespaces in which TensorFlow publishes functions of tensors.
_SPACES = re.compile(
    r"(compat\.v1\.)?((audio|bitwise|dtypes|image|io|linalg|math|math\.special|nn|quantization|ragged|"
    r"random|sets|signal|sparse|strings|(linalg|nn|random)\.experimental|debugging(?=\.(assert_|"
    r"Assert|check_numerics))|keras\.(activations|backend|losses|metrics))\.)?\w+"
)


class UnknownFunctionError(ValueError):
    """The name does not denote a function of tensors."""


def public_function(name: str) -> Callable[..., Any]:
    """The function of tensors that TensorFlow shows under a name, without `tf.`.

    Raises:
        UnknownFunctionError: no such function is provided here, or it has side effects.
    """
    if name.startswith(_OPERATORS):
        return _operator(name.removeprefix(_OPERATORS))
    earlier = name.startswith(_VERSION_1)
    short = name.removeprefix(_VERSION_1)
    found = _found("pinnace.compat.v1", short) if earlier else None
    found = found or _found("pinnace", _RENAMED.get(short, short))
    last = short.rpartition(".")[2]
    if not (_SPACES.fullmatch(name) and _computes(found)) or _REACH_BY_NAME.fullmatch(last):
        raise UnknownFunctionError(
            f"the model calls tf.{name}, which is "
            f"{'not known here' if found is None else 'more than a function of tensors'}\n"
            "  Try: a Layer of your own around it, where the model was made; or a SavedModel"
        )
    return found  # type: ignore[no-any-return]


def _found(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = None if part.startswith("_") else getattr(found, part, None)
    return found


def _computes(found: Any) -> bool:
    if not inspect.isroutine(found):
        return False
    place = getattr(inspect.unwrap(found), "__module__", None) or ""
    return place.startswith(_COMPUTE) and not place.startswith(_REACH)


_BY_OPERATOR = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv")},
    **{name: getattr(operator, name) for name in ("mod", "pow", "matmul", "neg", "abs", "invert")},
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "xor")},
    "and": operator.and_,
    "or": operator.or_,
    **dict.fromkeys(("getitem", "ragged_getitem"), operator.getitem),
}


def _operator(name: str) -> Callable[..., Any]:
    found = _BY_OPERATOR.get(name)
    if found is None:
        raise UnknownFunctionError(f"the model calls tf.{_OPERATORS}{name}, which is not known")

    def call(*args: Any, **kwargs: Any) -> Any:
        first, *others = [*args, *(x for key, x in kwargs.items() if key not in {"name", "var"})]
        if others and found is operator.getitem:
            others = [with_slices(others[0])]
        return found(_tensor(first), *others)

    return call


def _tensor(x: Any) -> Any:
    return constant(x) if isinstance(x, (list, float, int)) else x


@registry.register_keras_serializable("pinnace")
class TFOpLambda(Operation):
    """A public function of TensorFlow as Keras 2 has it in functional models.

    Args:
        function: its name, without `tf.`.
        name: unique if None.
    """

    def __init__(self, function: str, name: str | None = None) -> None:
        super().__init__(name=name)
        self.function = function
        self._call = public_function(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result; for KerasTensors, the output of an operation or of this layer."""
        if is_symbolic(args, kwargs):
            specs = self.compute_output_spec(*args, **kwargs)
            found = same_operation(self.function, self.name, args, kwargs, specs)
            if found is not None:
                return found
        return super().__call__(*args, **kwargs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result."""
        return self._call(*args, **kwargs)


@registry.register_keras_serializable("pinnace")
class ClassMethod(Operation):
    """A method of RaggedTensor that makes one.

    Args:
        cls_symbol: the name of the class.
        method_name: name of the method.
        name: unique if None.
    """

    def __init__(self, cls_symbol: str, method_name: str, name: str | None = None) -> None:
        super().__init__(name=name)
        self.cls_symbol = cls_symbol
        self.method_name = method_name
        if cls_symbol != "RaggedTensor" or not method_name.startswith("from_"):
            raise UnknownFunctionError(f"the model calls tf.{cls_symbol}.{method_name}")
        self._call = getattr(importlib.import_module("pinnace").RaggedTensor, method_name)

    def call(self, args: Any, kwargs: Any = None) -> Any:
        """The method's result."""
        return self._call(*args, **(kwargs or {}))


@registry.register_keras_serializable("pinnace")
class InstanceProperty(Operation):
    """A property of a sparse or ragged tensor.

    Args:
        attr_name: its name.
        name: unique if None.
    """

    def __init__(self, attr_name: str, name: str | None = None) -> None:
        super().__init__(name=name)
        self.attr_name = attr_name
        if attr_name not in _MEMBERS:
            raise UnknownFunctionError(f"the model asks a tensor for {attr_name!r:.80}")

    def call(self, x: Any) -> Any:
        """The property's value."""
        return getattr(x, self.attr_name)


@registry.register_keras_serializable("pinnace")
class InstanceMethod(InstanceProperty):
    """A method of a sparse or ragged tensor."""

    def call(self, x: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The method's result."""
        return getattr(x, self.attr_name)(*args, **(kwargs or {}))


_MEMBERS = {
    *("values", "flat_values", "row_splits", "nested_row_splits", "indices", "dense_shape"),
    *("value_rowids", "nested_value_rowids", "nrows", "row_starts", "row_limits", "row_lengths"),
    *("nested_row_lengths", "bounding_shape", "with_values", "with_flat_values"),
    *("with_row_splits_dtype", "merge_dims", "to_tensor", "to_sparse"),
}
