"""Serving input receivers: the tensors of a request, and the features made from them."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions.tracing import trace
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.composites import parsing
from pinnace.ops.execute import execute_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

_ONLY = "input"


@dataclass(frozen=True, slots=True)
class ServingInputReceiver:
    """Features, and the tensors of a request from which they are computed.

    Attributes:
        features: the model function's features: a tensor or a dict.
        receiver_tensors: placeholders: one, or name -> placeholder.
        receiver_tensors_alternatives: must be None.
    """

    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any = None

    def __post_init__(self) -> None:
        if self.receiver_tensors_alternatives:
            raise ValueError(
                "ServingInputReceiver: receiver_tensors_alternatives must be None: one signature "
                "has one set of inputs"
            )

    def named(self) -> dict[str, Any]:
        """The request's tensors by name."""
        given = self.receiver_tensors
        return dict(given) if isinstance(given, dict) else {_ONLY: given}


class _Placeholders:
    """Creates placeholders in the first pass, and returns tensors in their place in the second.

    Args:
        given: the tensors of the second time, in the order of the first.
    """

    def __init__(self, given: list[Tensor] | None = None) -> None:
        self._given = None if given is None else list(given)
        self.made: list[Tensor] = []

    def next(self, spec: TensorSpec) -> Tensor:
        if self._given is not None:
            return self._given.pop(0)
        tracer: Any = state.tracer
        value = tracer.graph.add_input(PLACEHOLDER, spec, spec.name or "placeholder")
        self.made.append(tracer.tensor_of(value))
        return self.made[-1]


_placeholders: ContextVar[_Placeholders | None] = ContextVar("placeholders", default=None)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A value that a request will contain, or an argument for `prune`.

    For use inside a serving_input_receiver_fn, in the default Graph, or in a `wrap_function`.

    Args:
        dtype: dtype of the value.
        shape: None: any.
        name: name of the node.

    Raises:
        RuntimeError: outside of such a function.
    """
    source = _placeholders.get()
    if source is None and state.tracer is not None:
        kind = dtypes.as_dtype(dtype)
        return execute_one(PLACEHOLDER, dtype=kind, shape=Shape(shape), name=name)
    if source is None:
        raise RuntimeError(
            "placeholder: there are no sessions to feed it; it has a meaning inside a "
            "serving_input_receiver_fn, a Graph or a wrap_function only\n"
            "  Try: an argument of a `function`"
        )
    return source.next(TensorSpec(shape, dtypes.as_dtype(dtype), name))


class Receiving:
    """A receiver function, with the specs of the requests it takes.

    Args:
        receiver_fn: gives a ServingInputReceiver.

    Attributes:
        specs: name -> spec of a request's tensors.

    Raises:
        ValueError: its result is no receiver, or a tensor of a request is no placeholder.
    """

    def __init__(self, receiver_fn: Callable[[], Any]) -> None:
        self._receiver_fn = receiver_fn
        source = _Placeholders()
        specs: dict[str, TensorSpec] = {}
        order: dict[int, str] = {}

        def look() -> None:
            for name, tensor in self._received(source).named().items():
                if not any(tensor is made for made in source.made):
                    raise ValueError(
                        f"serving_input_receiver_fn: receiver_tensors[{name!r}] must be a "
                        f"placeholder, got {tensor!r}\n  Try: compat.v1.placeholder(dtype, shape)"
                    )
                specs[name] = TensorSpec(tensor.shape, tensor.dtype, name)
                order[id(tensor)] = name

        trace(look, (), {}, "serving_input_receiver")
        self.specs = specs
        unused = [tensor for tensor in source.made if id(tensor) not in order]
        if unused:
            raise ValueError(
                f"serving_input_receiver_fn: {len(unused)} placeholders are not among "
                f"receiver_tensors {sorted(specs)}"
            )
        self._order = [order[id(tensor)] for tensor in source.made]

    def features(self, request: dict[str, Tensor]) -> Any:
        """The features of a request."""
        source = _Placeholders([request[name] for name in self._order])
        return self._received(source).features

    def _received(self, source: _Placeholders) -> ServingInputReceiver:
        token = _placeholders.set(source)
        try:
            found = self._receiver_fn()
        finally:
            _placeholders.reset(token)
        if not isinstance(found, ServingInputReceiver):
            raise ValueError(  # noqa: TRY004 (TensorFlow raises it too)
                "serving_input_receiver_fn must return a ServingInputReceiver, got "
                f"{type(found).__name__}"
            )
        return found


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any] | Any, default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A receiver function for requests that contain the features unchanged.

    Args:
        features: name -> tensor or TensorSpec, as examples of what comes; its first axis is the
            batch. A single one is named `features`.
        default_batch_size: size of the first axis; None: any.
    """
    single = not isinstance(features, Mapping)
    given: dict[str, Any] = {"features": features} if single else dict(features)
    specs = {
        name: TensorSpec([default_batch_size, *value.shape.as_list()[1:]], value.dtype, name)
        for name, value in given.items()
    }

    def receive() -> ServingInputReceiver:
        made = {name: placeholder(s.dtype, s.shape, name) for name, s in specs.items()}
        return ServingInputReceiver(made["features"] if single else made, made)

    return receive


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A receiver function for requests of serialised Examples.

    Args:
        feature_spec: as `io.parse_example` takes.
        default_batch_size: how many Examples; None: any.
    """

    def receive() -> ServingInputReceiver:
        serialized = placeholder(dtypes.string, [default_batch_size], "input_example_tensor")
        features = parsing.parse_example(serialized, dict(feature_spec))
        return ServingInputReceiver(features, {"examples": serialized})

    return receive
