"""Sequential: a linear stack of layers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.context import init_scope
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Operands
from pinnace.framework.trackable import Trackable
from pinnace.keras import masks, registry
from pinnace.keras.layer import Layer
from pinnace.keras.layers.input import Input, InputLayer
from pinnace.keras.models.model import Model
from pinnace.keras.models.topology import Topology, fitted
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.keras.call_signature import CallSignature


class Sequential(Model):
    """A linear stack of layers.

    Its weights are created when its input shape is known: at once if it starts with `Input(shape)`
    or its first layer has `input_shape`, otherwise at its first call.

    Args:
        layers: to begin with.
        trainable: whether training changes its weights.
        name: name of the model.
        **kwargs: see Layer.
    """

    _lists_layers = True
    _untracked = frozenset({"_input", "_as_functional"})

    # Its input KerasTensor, None while unknown.
    _input: Any
    _as_functional: _AsFunctional | None

    def __init__(
        self,
        layers: Sequence[Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._layers: list[Layer] = []
        self._input = None
        self._as_functional = None
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = [layers]
        for layer in layers or ():
            self._append(layer)
        self._build_if_known()

    def add(self, layer: Any, rebuild: bool = True) -> None:
        """Append a layer.

        Args:
            layer: or an Input, at the beginning.
            rebuild: whether its weights are made at once if the input is known.

        Raises:
            ValueError: something else; a name that is there already.
        """
        self._append(layer)
        if rebuild:
            self._build_if_known()

    def _append(self, layer: Any) -> None:
        if isinstance(layer, KerasTensor):
            layer = layer.node.layer if layer.node is not None else layer
        if isinstance(layer, InputLayer):
            if self._layers or self._input is not None:
                raise ValueError(
                    f"{self._described()} has already been configured for an input: an Input must "
                    "come first"
                )
            self._input = layer.output
            return
        if not isinstance(layer, Layer):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{self._described()}: Only instances of `keras.Layer` can be added to a "
                f"Sequential model, got {type(layer).__name__}: {layer!r:.80}"
                + ("\n  Try: Lambda(function)" if callable(layer) else "")
            )
        if any(known.name == layer.name and known is not layer for known in self._layers):
            raise ValueError(
                f"{self._described()}: layers should have unique names, there is a {layer.name!r} "
                "already"
            )
        if not self._layers and self._input is None:
            shape = layer._given_input_shape
            if shape is None and isinstance(layer, Model) and layer._topology is not None:
                inputs = layer._topology.flat_inputs
                shape = inputs[0].shape if len(inputs) == 1 else None
            if shape is not None:
                kind = None if layer.__class__.__name__ != "Embedding" else "int32"
                self._input = Input(batch_shape=tuple(shape), dtype=kind)
        self._layers.append(layer)
        self._topology = None

    def pop(self, rebuild: bool = True) -> Layer:
        """Remove the last layer, and return it.

        Raises:
            ValueError: the model has no layers.
        """
        if not self._layers:
            raise ValueError(f"{self._described()}: there is no layer to remove")
        layer = self._layers.pop()
        self._topology = None
        self._step_functions.clear()
        if rebuild:
            self._build_if_known()
        return layer

    # Building.

    def _build_if_known(self) -> None:
        given = self._input
        if given is not None and self._layers:
            with init_scope(), self.name_scope:
                self._connect(given)

    def _connect(self, given: KerasTensor) -> None:
        """Call all layers on KerasTensors, which creates weights and infers shapes."""
        x: Any = given
        for layer in self._layers:
            try:
                x = layer(x)
            except NotImplementedError:
                if layer.built:
                    raise
                # Layers without a `call` raise when they are called.
                return
            except TypeError as error:
                self._check_takes_one(layer, error)
                raise
        self._step_functions.clear()
        self._topology = Topology(given, x)
        self._call_specs = _named(given)
        self._output_specs = structure.map_structure(lambda t: t.spec, x)
        self._build_specs = given.spec
        self.built = True

    def _check_takes_one(self, layer: Layer, error: TypeError) -> None:
        """Explain the error if a layer failed because its call needs more than one argument.

        Raises:
            ValueError: its call needs more than one argument.
        """
        needed = [
            p.name
            for p in inspect.signature(layer.call).parameters.values()
            if p.default is p.empty and p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
        ]
        if len(needed) > 1:
            raise ValueError(
                f"{self._described()}: a layer of a Sequential model can only have a single "
                f"positional argument, the input tensor; {layer.name!r} needs {', '.join(needed)}"
            ) from error

    def build(self, x: Any = None) -> None:
        """Create all weights, for inputs of that shape; for None, of its Input's shape.

        Raises:
            ValueError: the model has no layers; no shape is given and there is no Input.
        """
        if not self._layers:
            raise ValueError(f"{self._described()} has no layers: add one")
        if x is None:
            if self._input is None:
                raise ValueError(
                    f"{self._described()}: input_shape must be given, for there is no Input\n"
                    "  Try: build((None, 3)), or Input((3,)) as the first of its layers"
                )
            self._connect(self._input)
            return
        if not isinstance(x, TensorSpec):
            # Several inputs, for a first layer that joins them.
            if getattr(self._layers[0], "takes_features", False):
                self._build_for_features(x)
            return
        if self._input is None:
            shape = x.shape
            if shape.rank:
                shape = type(shape)((None, *shape[1:]))
            self._input = Input(batch_shape=tuple(shape), dtype=x.dtype)
        elif not self._input.spec.shape.is_compatible_with(x.shape):
            raise ValueError(
                f"{self._described()} has already been configured for inputs of shape "
                f"{tuple(self._input.shape)}, got {tuple(x.shape)}"
            )
        self._connect(self._input)

    def _build_for_features(self, specs: Any) -> None:
        """Create all weights for a dict of features, using the layers' inferred shapes."""
        x = structure.map_structure(lambda spec: KerasTensor(spec.shape, spec.dtype), specs)
        for layer in self._layers:
            x = layer(x)

    def _build_for(
        self, signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if self._layers and all(layer.built for layer in self._layers):
            # Layers that were built elsewhere bring their weights with them.
            super()._build_for(signature, args, kwargs)
            return
        try:
            super()._build_for(signature, args, kwargs)
        except ValueError:
            self._input = None
            raise

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return super()._called(_alone(args), kwargs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """See Layer."""
        return super().compute_output_spec(*_alone(args), **kwargs)

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """The last layer's output."""
        del training
        masks.attach(inputs, mask)
        x = inputs
        given = self._input
        if given is not None and not structure.is_nested(x):
            # Keras: only the layers restrict sizes, not the shape that the model was built for.
            x = fitted(x, given, any_sizes=True)
        for layer in self._layers:
            x = layer(x)
        return x

    def _children_elsewhere(self) -> dict[str, Trackable]:
        # Keras makes it a functional model, which starts with an input.
        if self._as_functional is None:
            self._as_functional = _AsFunctional(_Operations(self._layers))
        return {"_functional": self._as_functional, **self._as_in_keras_2()}

    # Configuration.

    def get_config(self) -> dict[str, Any]:
        """The name and the layers."""
        given = self._input
        layers: list[Layer] = list(self._layers)
        if given is not None:
            layers.insert(0, given.node.layer)
        config = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": registry.serialize_keras_object(self._policy),
            "layers": [self._stored(layer) for layer in layers],
        }
        if self._build_specs is not None:
            config["build_input_shape"] = _shapes_of(self._build_specs)
        return config

    def _stored(self, layer: Layer) -> Any:
        """The configuration of a layer, with the shapes it was built for if they are not known."""
        config = registry.serialize_keras_object(layer)
        if not self.built and layer.built and "build_config" not in config:
            told = layer.get_build_config()
            if told is not None:
                config["build_config"] = registry.without_tuples(told)
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The model with a configuration, with new weights."""
        if not {"name", "layers"} <= set(config):
            raise ValueError(
                "Sequential.from_config: A Sequential model configuration must be a dictionary "
                f"containing the 'name' and 'layers' keys, got {', '.join(config)}"
            )
        made = cls(name=config["name"])
        for entry in config["layers"]:
            if not isinstance(entry, dict) or "config" not in entry:
                raise ValueError(
                    "Sequential.from_config: the configuration of a layer is malformed. Expected a "
                    f"dictionary containing a 'config' key, got {entry!r:.80}"
                )
            made.add(registry.deserialize_keras_object(entry, custom_objects))
        shape = config.get("build_input_shape")
        if not made.built and shape and made._layers:
            made.build(shape)
        if config.get("trainable") is False:
            made.trainable = False
        return made


def _alone(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call, with a list of one tensor replaced by the tensor, as in Keras."""
    first = args[0] if args else None
    if not (type(first) is list or type(first) is tuple) or len(first) != 1:
        return args
    kinds = (Operands, np.ndarray, KerasTensor, TensorSpec)
    return (first[0], *args[1:]) if isinstance(first[0], kinds) or is_composite(first[0]) else args


def _shapes_of(specs: Any) -> Any:
    """The sizes of a spec, or of each spec in a dict of features; None for other values."""
    if isinstance(specs, dict):
        return {key: _shapes_of(spec) for key, spec in specs.items()}
    shape = getattr(specs, "shape", None)
    return shape and tuple(shape)


def _named(given: KerasTensor) -> Any:
    from pinnace.keras.models.model import _named_spec

    return _named_spec(given)


class _AsFunctional(Trackable):
    """The functional model inside of the model in Keras' checkpoints."""

    def __init__(self, operations: Trackable) -> None:
        self._track("_operations", operations)


class _Operations(Trackable):
    """The input and the current layers, evaluated at each access."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._input = Trackable()

    def _trackable_children(self) -> dict[str, Trackable]:
        return {str(n): child for n, child in enumerate([self._input, *self._layers])}
