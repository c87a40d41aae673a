"""LayerMembers: what Keras 3 tells of a layer, beside what makes and calls it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state
from pinnace.keras import dtype_policy as policies
from pinnace.keras import rematerialisation
from pinnace.keras.names import scope_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.dtype_policy import DTypePolicy
    from pinnace.keras.metrics.metric import Metric


class LayerMembers:
    """The members of a layer that say how it is called, and what it is made of."""

    # Whether steps that call it may be made machine code: without effect, it is tried.
    supports_jit = True

    built: bool
    _name: str
    _scope_name: str
    _autocast: bool
    _policy: DTypePolicy
    _remat: rematerialisation.RematScope | None

    @property
    def autocast(self) -> bool:
        """Whether float inputs are cast to the dtype it computes in."""
        return self._autocast

    @autocast.setter
    def autocast(self, value: bool) -> None:
        self._autocast = bool(value)

    @property
    def name(self) -> str:
        """The name given to, or made by, the constructor, or set since."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None:
            self._scope_name = self._scope_name.removesuffix(f"{self._name}/") + f"{value}/"
            self._name = value

    @property
    def dtype_policy(self) -> DTypePolicy:
        """The dtypes of its weights and of what it computes."""
        return self._policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        policy = policies.get(value)
        mode, present = policy.quantization_mode, self._policy
        if mode is not None and self.built and present.quantization_mode is None:
            self.quantize(mode)
        self._policy = present.with_policy(self.path, policy)  # type: ignore[attr-defined]  # Layer's

    def _take_path(self) -> None:
        """Be below the layers that are being called, with the policy of that place."""
        self._scope_name = state.scope + scope_of(self._name)
        self._policy = self._policy.at(self.path)  # type: ignore[attr-defined]  # Layer's

    @property
    def input_dtype(self) -> str:
        """Name of the dtype that float inputs are cast to."""
        return self._policy.compute_dtype

    @property
    def quantization_mode(self) -> str | None:
        """The quantization of its weights, such as `int8`; None if they are not quantized."""
        return self._policy.quantization_mode

    @property
    def call_signature_parameters(self) -> list[str]:
        """The names of the parameters of `call`."""
        return list(inspect.signature(self.call).parameters)  # type: ignore[attr-defined]  # Layer's

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in its attributes, and those of the layers in it."""
        found: dict[int, Metric] = {}
        for layer in self._flatten_layers():  # type: ignore[attr-defined]  # Layer's
            found.update({id(metric): metric for metric in _own_metrics(layer)})
        return list(found.values())

    @property
    def metrics_variables(self) -> list[Any]:
        """The states of the metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    # Few bits: layers that can be quantized define these.

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Refused: this kind of layer has no weights that can be kept in few bits.

        Args:
            mode: "int8" or "int4".
            type_check: whether subclasses of layers that can be are refused.
            config: which quantizers are used.

        Raises:
            NotImplementedError: always.
        """
        del mode, type_check, config
        raise self._has_no("quantize")

    def quantized_build(self, input_shape: Any, mode: str) -> None:
        """Refused, likewise.

        Args:
            input_shape: of the weight.
            mode: "int8" or "int4".

        Raises:
            NotImplementedError: always.
        """
        del input_shape, mode
        raise self._has_no("quantized_build")

    def quantized_call(self, *args: Any, **kwargs: Any) -> Any:
        """`call` of a layer that is quantized; refused where it cannot be.

        Args:
            *args: those of `call`.
            **kwargs: those of `call`.

        Raises:
            NotImplementedError: always.
        """
        del args, kwargs
        raise self._has_no("quantized_call")

    def _has_no(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"Layer {type(self).__name__} does not have a `{method}` method implemented."
        )

    def symbolic_call(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call on symbolic tensors, known by shape and dtype only.

        Args:
            *args: those of `call`.
            **kwargs: those of `call`.
        """
        return self.compute_output_spec(*args, **kwargs)  # type: ignore[attr-defined]  # Layer's

    def rematerialized_call(
        self, layer_call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Callable[..., Any]:
        """`layer_call` as the `RematScope` that the layer was made in wants it.

        Args:
            layer_call: the layer's `call`.
            *args: what it will be called with.
            **kwargs: likewise.
        """
        if self._remat is None:
            return layer_call
        return rematerialisation.applied(self, self._remat, layer_call, args, kwargs)  # type: ignore[arg-type]  # it is a Layer


def _own_metrics(layer: Any) -> list[Metric]:
    """The metrics that are attributes of a layer, or in its lists and dicts."""
    from pinnace.keras.metrics.metric import Metric  # metrics are made of layers' variables

    found = []
    for child in layer._trackable_children().values():
        inside = child._trackable_children().values() if hasattr(child, "_plain_type") else [child]
        found += [item for item in inside if isinstance(item, Metric)]
    return found
