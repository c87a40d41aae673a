"""AdaptableLayer: a layer with one large weight, which can be adapted (LoRA) or quantized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from pinnace.keras import initializers, ops
from pinnace.keras.layer import Layer
from pinnace.keras.layers import quantized

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable

# The quantisation modes.
_MODES = ("int8", "int4")


class Adapted:
    """The layer's main weight, read with the adapter's contribution, if there is one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, layer: None, owner: type) -> Self: ...
    @overload
    def __get__(self, layer: AdaptableLayer, owner: type) -> Any: ...
    def __get__(self, layer: AdaptableLayer | None, owner: type) -> Any:
        if layer is None:
            return self
        try:
            weight = layer.__dict__[self._name]
        except KeyError:
            raise AttributeError(
                f"{layer._described()} has no {self._name}: it is not built"
            ) from None
        return layer._shown(weight) if layer.lora_enabled or layer._stored is not None else weight

    def __set__(self, layer: AdaptableLayer, value: Any) -> None:
        layer.__dict__[self._name] = value

    def __delete__(self, layer: AdaptableLayer) -> None:
        del layer.__dict__[self._name]


class AdaptableLayer(Layer):
    """A layer with one large weight: the base of Dense, EinsumDense and Embedding.

    An adapter (LoRA) freezes the weight and trains two small matrices, whose product is added to
    it. When quantized, the weight is stored in 8 or 4 bits, and is no longer trained.
    """

    _untracked = frozenset({"_stored", "_forms"})
    # The name of the large weight.
    _main: ClassVar[str] = "kernel"

    lora_enabled = False
    lora_rank: int | None
    lora_alpha: float | None
    quantization_config: Any
    # The quantisation mode of the weight; None for floats.
    _stored: quantized.Stored | None = None

    def _set_adapters(
        self, lora_rank: int | None, lora_alpha: float | None, quantization_config: Any
    ) -> None:
        """Store the constructor's arguments for adapters."""
        self.lora_rank = lora_rank
        self.lora_alpha = lora_rank if lora_alpha is None else lora_alpha
        self.quantization_config = quantization_config

    # Overridden by each kind of layer.

    def _form(self, shape: tuple[int, ...]) -> quantized.Form:
        """The quantized form of a weight of this shape."""
        raise NotImplementedError

    def _has_constraint(self) -> bool:
        return getattr(self, f"{self._main}_constraint", None) is not None

    # Building.

    def _make_main(self, shape: tuple[int, ...], initializer: Any) -> None:
        """Create the main weight, quantized if the policy says so."""
        if self.quantization_mode in _MODES:
            self.quantized_build(shape, self.quantization_mode, self.quantization_config)
            return
        main = self._main
        weight = self.add_weight(
            main,
            shape,
            initializer,
            regularizer=getattr(self, f"{main}_regularizer"),
            constraint=getattr(self, f"{main}_constraint"),
        )
        setattr(self, main, weight)

    def _make_adapter(self) -> None:
        """Create the adapter that the constructor requested; the last step of `build`."""
        if self.lora_rank and not self.lora_enabled:
            self.built = True
            self.enable_lora(self.lora_rank, self.lora_alpha)

    # The adapter.

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        a_initializer: Any = "he_uniform",
        b_initializer: Any = "zeros",
    ) -> None:
        """Add an adapter: the product of two matrices is added to the weight, and trained instead.

        Args:
            rank: columns of the first matrix, rows of the second.
            lora_alpha: the product is added `lora_alpha / rank` times; once if None.
            a_initializer: initializer of the first matrix.
            b_initializer: initializer of the second.

        Raises:
            ValueError: the layer is not built or has an adapter, or its weight has a constraint.
        """
        who = f"{type(self).__name__}.enable_lora"
        if self._has_constraint():
            kind = self._main.removesuffix("s")
            raise ValueError(
                f"{who}: Lora is incompatible with {kind} constraints: {self._main}_constraint "
                "must be None"
            )
        if not self.built:
            raise ValueError(
                f"{who}: Cannot enable lora on a layer that isn't yet built\n"
                "  Try: call it on data, or build(shape)"
            )
        if self.lora_enabled:
            raise ValueError(f"{who}: lora is already enabled; it can be enabled once per layer")
        weight = self.__dict__[self._main]
        shape = self._stored.shape if self._stored is not None else tuple(weight.shape)
        regularizer = getattr(self, f"{self._main}_regularizer")
        options = {"dtype": "float32", "regularizer": regularizer}
        names = self._adapter_names
        shapes = ((*shape[:-1], rank), (rank, shape[-1]))
        for name, size, first in zip(names, shapes, (a_initializer, b_initializer), strict=True):
            setattr(self, name, self.add_weight(name, size, initializers.get(first), **options))
        self._weight_store.freeze(weight)
        self.lora_enabled = True
        self.lora_rank = rank
        self.lora_alpha = rank if lora_alpha is None else lora_alpha

    @property
    def _adapter_names(self) -> tuple[str, str]:
        return f"lora_{self._main}_a", f"lora_{self._main}_b"

    @property
    def _adapter_factor(self) -> float:
        assert self.lora_rank is not None  # noqa: S101 (for the type checker: there is an adapter)
        assert self.lora_alpha is not None  # noqa: S101 (as above)
        return self.lora_alpha / self.lora_rank

    def _adapter(self) -> Tensor:
        """The adapter's contribution to the weight."""
        first, second = (getattr(self, name) for name in self._adapter_names)
        return ops.multiply(self._adapter_factor, ops.matmul(first, second))

    def _shown(self, weight: Variable) -> Any:
        """The weight as a program sees it."""
        stored = self._stored
        shown: Any = weight if stored is None or stored.mode == "int8" else stored.integers(weight)
        if not self.lora_enabled:
            return shown
        return ops.cast(ops.add(shown, self._adapter()), self.compute_dtype)

    # Quantization.

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Quantize the weight, which is no longer trained.

        Args:
            mode: "int8" or "int4"; that of `config` if None.
            type_check: whether subclasses, which may compute something else, are refused.
            config: the quantizers used; see `keras.quantizers`.

        Raises:
            ValueError: the layer is not built, or quantized already, or arguments contradict.
            NotImplementedError: the class is a program's own, or the mode is unknown.
        """
        from pinnace.keras.quantizers import configs

        who = f"{type(self).__name__}.quantize"
        if type_check and not type(self).__module__.startswith("pinnace.keras."):
            raise NotImplementedError(
                f"Layer {type(self).__name__} does not have a `quantize` method implemented\n"
                "  Try: quantize(..., type_check=False), if it computes what its base does"
            )
        if not self.built:
            raise ValueError(f"{who}: Cannot quantize a layer that isn't yet built: {self.name!r}")
        if self._stored is not None:
            raise ValueError(
                f"{who}: Layer {self.name!r} is already quantized with "
                f"dtype_policy={self._policy.name!r}"
            )
        chosen = configs.resolved(mode, config)
        self._check_mode("quantize", chosen.mode)
        policy = quantized.policy_of(chosen, self._policy)
        weight = self.__dict__[self._main]
        value, shape = weight.numpy(), tuple(weight.shape)
        self._drop_floats()
        self.quantization_config = chosen
        self.quantized_build(shape, chosen.mode, chosen)
        assert self._stored is not None  # noqa: S101 (for the type checker: made just now)
        self._assign_parts(self._stored.parts_of(value))
        self._policy = policy

    def _check_mode(self, method: str, mode: str) -> None:
        """Raise for a mode that this kind of layer does not support.

        Raises:
            NotImplementedError: the mode is not supported.
        """
        if mode not in _MODES:
            raise NotImplementedError(
                f"{type(self).__name__}.{method}: Invalid quantization mode: must be one of "
                f"{', '.join(map(repr, _MODES))}, got {mode!r}"
            )

    def _drop_floats(self) -> None:
        """Remove the float weight from the layer."""
        weight = self.__dict__[self._main]
        delattr(self, self._main)
        store = self._weight_store
        store.regularized = [pair for pair in store.regularized if pair[0] is not weight]

    def quantized_build(self, kernel_shape: Any, mode: str, config: Any = None) -> None:
        """Create the variables of a quantized weight.

        Args:
            kernel_shape: shape of the weight as floats.
            mode: "int8" or "int4".
            config: the quantizers used; those of the mode if None.

        Raises:
            NotImplementedError: unknown mode.
        """
        self._check_mode("quantized_build", mode)
        form = self._form(tuple(kernel_shape))
        stored = self._stored = quantized.stored(form, mode, config, self._policy)
        for name, (shape, dtype, initial) in stored.variables().items():
            full = self._part_name(name)
            part = self.add_weight(full, shape, initial, dtype=dtype, trainable=False)
            setattr(self, full, part)

    @property
    def inputs_quantizer(self) -> Any:
        """The quantizer of the inputs; None for floats, or if inputs are not quantized."""
        return None if self._stored is None else self._stored.inputs

    def _part_name(self, part: str) -> str:
        """The attribute of a component of a quantized weight."""
        if part == "main":
            return self._main
        return part if part == "g_idx" else f"{self._main}_{part}"

    def _parts(self) -> dict[str, Any]:
        """The variables of the quantized weight."""
        stored = self._stored
        assert stored is not None  # noqa: S101 (for the type checker: only then)
        return {name: self.__dict__[self._part_name(name)] for name in stored.variables()}

    def _assign_parts(self, values: Mapping[str, Any]) -> None:
        for name, variable in self._parts().items():
            if name in values:
                variable.assign(values[name])

    # Saving.

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """Mode -> the names of the variables, in the order in which files store them."""
        main = self._main
        own = [main, "bias"] if main == "kernel" else [main]
        grouped = [f"{main}_scale", f"{main}_zero", "g_idx"]
        return {None: own, "int8": [*own, f"{main}_scale"], "int4": [*own, *grouped]}

    @property
    def _is_adapted(self) -> bool:
        """Whether files store other values than its variables in order."""
        return self.lora_enabled or self._stored is not None

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """See Layer; the adapter is merged into the weight, which is quantized again.

        Args:
            store: name -> array or variable.
        """
        if not self._is_adapted:
            super().save_own_variables(store)
            return
        for place, (_, value) in enumerate(self._kept()):
            store[str(place)] = value

    def _kept(self) -> list[tuple[Variable, Any]]:
        """The variables that files store, with the values stored, in order."""
        merged: dict[str, Any] = {}
        if self.lora_enabled:
            merged = self._merged()
        names = self.variable_serialization_spec[self.quantization_mode]
        variables = [(name, self.__dict__.get(name)) for name in names]
        return [
            (variable, merged.get(name, variable))
            for name, variable in variables
            if variable is not None
        ]

    def _merged(self) -> dict[str, Any]:
        """Attribute -> value, for the weight with the adapter merged."""
        if self._stored is None:
            return {self._main: np.asarray(getattr(self, self._main))}
        whole = ops.add(self._stored.floats(self._parts(), self.compute_dtype), self._adapter())
        parts = self._stored.parts_of(np.asarray(whole))
        return {self._part_name(name): value for name, value in parts.items()}

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """See Layer; the adapter is reset to contribute nothing.

        Args:
            store: name -> array.

        Raises:
            ValueError: wrong number of arrays, or one of another shape.
        """
        if not self._is_adapted:
            super().load_own_variables(store)
            return
        from pinnace.keras.weights import load_numbered

        load_numbered(f"Layer {self.name!r}", [variable for variable, _ in self._kept()], store)
        for name in self._adapter_names if self.lora_enabled else ():
            part = getattr(self, name)
            part.assign(np.zeros(tuple(part.shape), np.float32))
