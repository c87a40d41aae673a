"""Layer: creates its weights at the first call, and maps tensors to tensors."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pinnace.framework import dtypes, structure, tracebacks
from pinnace.framework.context import state
from pinnace.framework.module import Module
from pinnace.framework.no_effect import ignored
from pinnace.framework.shortage import without_memory
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.autograph.conversion import callback
from pinnace.keras import configuration, masks, output_specs, registry, rematerialisation, stateless
from pinnace.keras import dtype_policy as policies
from pinnace.keras import regularizers as _regularizers
from pinnace.keras.call_arguments import converted
from pinnace.keras.call_context import calls
from pinnace.keras.call_signature import (
    CallSignature,
    as_shapes,
    as_specs,
    build_arguments,
    prepared_build,
    told_training,
)
from pinnace.keras.input_spec import InputSpec, check_inputs
from pinnace.keras.layer_options import LayerOptions, PlainLayerOptions, first_layer_shape
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.names import checked_name, class_name_in_snake_case, scope_of, unique_name
from pinnace.keras.penalties import Penalties
from pinnace.keras.symbolic import spec_of
from pinnace.keras.weights import (
    WeightStore,
    is_any,
    is_not_trained,
    is_trained,
    is_weight,
    is_weight_not_trained,
)
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.framework.trackable import Trackable
    from pinnace.framework.variable import Variable
    from pinnace.keras.constraints import ConstraintLike
    from pinnace.keras.initializers import InitializerLike
    from pinnace.keras.metrics.metric import Metric
    from pinnace.keras.symbolic import Node


class Layer(Module):
    """A function with weights: subclasses define `call`, and `build` if they have weights.

    `build(self, x)` gets the TensorSpec of the first argument of `call` (its shape, if the
    parameter is named `input_shape` or `..._shape`) and is called once. `call` may take `training`:
    its argument, otherwise that of the enclosing call, otherwise its default.

    Args:
        activity_regularizer: penalty of its output, added to the loss.
        trainable: whether training changes its weights.
        dtype: a dtype or a DTypePolicy; the global policy if None.
        autocast: whether float inputs are cast to the dtype it computes in.
        name: unique if None: the class in snake case, numbered.
        **kwargs: `input_shape` and the like, for the first layer of a Sequential.

    Raises:
        ValueError: an argument that no layer takes; a name with a slash.
    """

    _untracked = frozenset(
        {
            *("_constructor", "_inbound_nodes", "_given_input_shape"),
            *("_build_specs", "_build_named", "_output_specs"),
        }
    )
    _is_layer: ClassVar[bool] = True
    _call_signature: ClassVar[CallSignature | None] = None
    _computes_masks: ClassVar[bool] = False
    # Whether integer and bool inputs in the first argument are cast to floats, as Keras does;
    # otherwise they are unchanged.
    _takes_floats: ClassVar[bool] = False
    # Whether it computes in float32 under a mixed precision policy, and casts the result.
    _stays_single: ClassVar[bool] = False
    # Whether `activity_regularizer` applies to the result of `call`, or only to layers inside.
    _penalizes_outputs: ClassVar[bool] = True

    # Attribute names in Keras 2 -> attribute names here.
    _names_in_keras_2: ClassVar[dict[str, str]] = {}
    # Requirements for inputs, and whether masks are passed on; set in a subclass's body or by its
    # constructor, like `trainable`.
    input_spec: Any = None
    supports_masking: Any = False
    # Keras' hint for `jit_compile`; has no effect, since compilation is always tried.
    supports_jit = True

    built: bool
    activity_regularizer: Any
    _weight_store: WeightStore
    _penalty_store: Penalties
    _name: str
    _scope_name: str
    _policy: policies.DTypePolicy
    _autocast: bool
    _remat: rematerialisation.RematScope | None
    _constructor: tuple[tuple[Any, ...], dict[str, Any]]
    # The symbolic calls of this layer.
    _inbound_nodes: list[Node]
    # The specs that `build` was called with: of the first argument, and of all if there are
    # several.
    _build_specs: Any
    _build_named: dict[str, Any] | None
    # The specs of the outputs.
    _output_specs: Any
    _given_input_shape: Shape | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the constructor's arguments, which become the configuration."""
        self = super().__new__(cls)
        # Not set by __setattr__, which a subclass may override for attributes set in __init__.
        vars(self).update(
            _constructor=(args, kwargs),
            _weight_store=WeightStore(self),
            _penalty_store=Penalties(self),
            _inbound_nodes=[],
            _build_specs=None,
            _build_named=None,
            _output_specs=None,
            _remat=calls.remat,
            built=False,
        )
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._call_signature = None
        cls._computes_masks = cls.compute_mask is not Layer.compute_mask
        said = any("supports_masking" in vars(kind) for kind in _below(cls, Layer))
        if cls._computes_masks and not said:
            cls.supports_masking = True
        if "build" in cls.__dict__:
            cls.build = prepared_build(cls.__dict__["build"])  # type: ignore[method-assign]  # as decorators do

    def __init__(
        self,
        *,
        activity_regularizer: _regularizers.RegularizerLike = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        own = class_name_in_snake_case(type(self).__name__)
        name = unique_name(own) if name is None else checked_name(type(self).__name__, name)
        self._name = name
        if isinstance(type(self).name, str):
            vars(self)["name"] = name  # Keras: a name in the class is no layer's
        self._scope_name = state.scope + scope_of(name)
        self._policy = policies.get(dtype)
        self._autocast = autocast
        if not isinstance(trainable, (bool, np.bool_)):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{type(self).__name__}: expected argument `trainable` to be a boolean, "
                f"got {trainable!r}"
            )
        self._weight_store.trainable = bool(trainable)
        self.activity_regularizer = _regularizers.get(activity_regularizer)
        self._given_input_shape = first_layer_shape(type(self), kwargs)

    # Methods that subclasses override.

    def build(self, input_shape: Any) -> None:
        """Create the weights; called once, before the first call."""
        del input_shape
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs for these inputs."""
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `call` method implemented: it must "
            "define call(self, inputs)"
        )

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The masks of the outputs, given those of the inputs: unchanged by default."""
        del inputs
        return previous_mask

    # Calling.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `call` after checks, casts and, the first time, `build`.

        Raises:
            ValueError: an input that the layer does not take.
        """
        try:
            return self._called(args, kwargs)
        except MemoryError as error:
            tracebacks.cut(error)
            raise without_memory(error, self._described()) from error.__cause__
        except Exception as error:
            tracebacks.cut(error)
            raise

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if "_name" not in self.__dict__:
            raise RuntimeError(
                f"{type(self).__name__}: call super().__init__() first in its __init__"
            )
        cls = type(self)
        signature = cls._call_signature or cls._signature_of_call()
        if not self.built:
            self._take_path()
        args, kwargs, symbolic = converted(self, args, kwargs)
        if symbolic:
            return output_specs.symbolic(self, args, kwargs)
        training, args, kwargs = told_training(signature, args, kwargs)
        fresh = not self.built
        if fresh:
            self._build_for(signature, args, kwargs)
        if self.input_spec is not None and args:
            check_inputs(self.input_spec, args[0], self._described())
        if signature.masks:
            kwargs = masks.filled_in(signature, args, kwargs)
        first = args[0] if args else next(iter(kwargs.values()), None)
        mask = masks.mask_of(first) if kwargs.get("mask") is None else kwargs["mask"]
        outputs = self._run(training, args, kwargs)
        if mask is not None or self._computes_masks:
            masks.hand_on(self, first, outputs, mask)
        if fresh:
            self._output_specs = structure.map_structure(spec_of, outputs)
        return outputs

    def stateless_call(
        self,
        trainable_variables: Sequence[Any],
        non_trainable_variables: Sequence[Any],
        *args: Any,
        return_losses: bool = False,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs with other values for the variables, which are not changed.

        Args:
            trainable_variables: a value for each of `trainable_variables`.
            non_trainable_variables: a value for each of `non_trainable_variables`.
            *args: arguments of `call`.
            return_losses: whether to give what `losses` is with these values, too.
            **kwargs: keyword arguments of `call`.

        Returns:
            The outputs, and the values of `non_trainable_variables` after the call; then the
            losses, if they are wanted.

        Raises:
            ValueError: the layer is not built; another number of values; one of another shape.
        """
        return stateless.call_layer(
            self, trainable_variables, non_trainable_variables, args, kwargs, return_losses
        )

    @classmethod
    def _signature_of_call(cls) -> CallSignature:
        signature = cls._call_signature = CallSignature(cls.call)
        return signature

    def _run(self, training: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `call` in the context of this layer."""
        saved = calls.entry, calls.training, state.scope
        reads = state.autocast
        if self._autocast:
            state.autocast = self._policy.compute if self._policy.is_mixed else None
        if saved[0] is None:
            calls.entry = self
            if self._penalty_store.holding:
                self._penalty_store.begin()
        calls.training = training
        state.scope = saved[2] + scope_of(self._name)
        try:
            if self._stays_single and self._policy.is_mixed:
                state.autocast = None
                args, kwargs = structure.map_structure(_single, (args, kwargs))
            # A user's `call` is converted by AutoGraph if the function that is traced is.
            outputs = callback(self._call_for(args, kwargs))(*args, **kwargs)
            if self._stays_single and self._policy.is_mixed:
                outputs = casting.cast(outputs, self._policy.compute)
            if self.activity_regularizer is not None and self._penalizes_outputs:
                self._penalty_store.add_for_outputs(self.activity_regularizer, outputs)
        finally:
            calls.entry, calls.training, state.scope = saved
            state.autocast = reads
        return outputs

    def _call_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function to call for these arguments: `call` or a replacement."""
        call = self.call
        if (
            self._policy.quantization_mode is not None
            and type(self).quantized_call is not Layer.quantized_call
        ):
            call = self.quantized_call
        return call if self._remat is None else self.rematerialized_call(call, *args, **kwargs)

    def rematerialized_call(
        self, layer_call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Callable[..., Any]:
        """`layer_call`, rematerialised as the layer's `RematScope` demands.

        Args:
            layer_call: the layer's `call`.
            *args: the arguments it will be called with.
            **kwargs: likewise.
        """
        if self._remat is None:
            return layer_call
        return rematerialisation.applied(self, self._remat, layer_call, args, kwargs)

    @property
    def call_signature_parameters(self) -> list[str]:
        """The names of the parameters of `call`."""
        return list(inspect.signature(self.call).parameters)

    # Copying.

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle and deepcopy, without the symbolic calls of models."""
        state: Any = super().__getstate__()
        return {**state, "_inbound_nodes": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state from pickle or copy; parts refer to this layer."""
        for name, value in state.items():
            vars(self)[name] = value.of(self) if isinstance(value, LayerPart) else value

    # Building.

    def _build_for(
        self, signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Run `build` for these arguments of `call`."""
        self._take_path()
        given, named = build_arguments(type(self).build, signature, args, kwargs)
        self.build(*given, **named)
        self.built = True

    def _build_at_init(self) -> None:
        """Mark the layer as built, since it has no weights, unless a subclass defines `build`."""
        if type(self).build is Layer.build:
            self.built = True

    def build_inside(self, x: Any) -> None:
        """Build from the `build` of the enclosing layer, whose name prefixes the weights' names."""
        self._take_path()
        self.build(x)
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build for the shapes from `get_build_config`."""
        shapes = registry.deserialize_keras_object(config)
        if "input_shape" in shapes and len(shapes) == 1:
            if shapes["input_shape"] is not None:
                self.build(shapes["input_shape"])
        elif shapes:
            self.build(**shapes)

    def get_build_config(self) -> dict[str, Any] | None:
        """The shapes that it was built for; None if it was not built."""
        named = self._build_named
        if named is None:
            if self._build_specs is None:
                return None
            named = {"input_shape": self._build_specs}
        return structure.map_structure(  # type: ignore[no-any-return]  # a dict, like `named`
            lambda spec: spec.shape.dims if isinstance(spec, TensorSpec) else None, named
        )

    # Symbolic calls.

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The TensorSpecs of the outputs for inputs that are known by shape and dtype only.

        Args:
            *args: arguments of `call`; TensorSpecs or KerasTensors where tensors go.
            **kwargs: likewise.
        """
        to_spec = functools.partial(structure.map_structure, spec_of)
        specs = tuple([to_spec(arg) for arg in args])
        options = {key: to_spec(value) for key, value in kwargs.items()}
        overridden = type(self).compute_output_shape is not Layer.compute_output_shape
        if overridden and not options.keys() - {"training"}:
            return output_specs.by_shapes(self, specs)
        return output_specs.traced(self, specs, options, (args, kwargs))

    def symbolic_call(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call on symbolic tensors, known by shape and dtype only.

        Args:
            *args: arguments of `call`.
            **kwargs: keyword arguments of `call`.
        """
        return self.compute_output_spec(*args, **kwargs)

    def compute_output_shape(self, *shapes: Any, **named_shapes: Any) -> Any:
        """The shapes of the outputs for inputs of these shapes.

        Args:
            *shapes: one for each tensor that `call` takes.
            **named_shapes: likewise, by the parameter's name and `_shape`.
        """
        if type(self).call is Layer.call:
            raise self._has_no("compute_output_shape")
        dtype = self._dtype_of_shapes()
        specs = [as_specs(shape, dtype) for shape in shapes]
        named = {
            key.removesuffix("_shape"): as_specs(shape, dtype)
            for key, shape in named_shapes.items()
        }
        if not specs and named.keys() == {"input"}:
            specs, named = [named["input"]], {}
        return as_shapes(output_specs.traced(self._twin(), tuple(specs), named))

    def _twin(self) -> Layer:
        """This layer if it is built, else a copy: asking for shapes must not build it."""
        if self.built:
            return self
        try:
            return type(self).from_config(self.get_config())
        except Exception:  # a configuration that cannot be read back, such as a Lambda's
            return self

    def _dtype_of_shapes(self) -> str:
        """The dtype of inputs given only by shape."""
        return self.compute_dtype

    @property
    def input(self) -> Any:
        """The KerasTensors it was called on, in a functional model.

        Raises:
            AttributeError: the layer was not called on KerasTensors.
        """
        node = self._first_node("input")
        return node.inputs[0] if len(node.inputs) == 1 else node.inputs

    @property
    def output(self) -> Any:
        """The KerasTensors it gave, in a functional model.

        Raises:
            AttributeError: the layer was not called on KerasTensors.
        """
        return self._first_node("output").outputs

    def _first_node(self, what: str) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(
                f"{self._described()} has no {what}: it was not called on KerasTensors"
            )
        return self._inbound_nodes[0]

    # Weights.

    def add_weight(
        self,
        *args: Any,
        name: str | None = None,
        shape: Any = None,
        initializer: InitializerLike = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: _regularizers.RegularizerLike = None,
        constraint: ConstraintLike = None,
        aggregation: Any = "none",
        **options: Any,
    ) -> Variable:
        """A new variable of this layer.

        Args:
            *args: shape, initializer, dtype; or, the older order, name, shape, initializer.
            name: the variable is called `<layer>/<name>`.
            shape: every size known; a scalar if None.
            initializer: initializer of its value: glorot_uniform for floats, zeros for others if
                None.
            dtype: the dtype of the layer's policy if None.
            trainable: whether training changes it.
            autocast: whether it is read in the dtype that the layer computes in.
            regularizer: the penalty added to the loss.
            constraint: constraint applied to it after each step.
            aggregation: how values assigned by the replicas of a strategy are aggregated: "none",
                "sum", "mean" or "only_first_replica".
            **options: `overwrite_with_gradient`, `use_resource`, …: accepted for Keras' sake.

        Raises:
            ValueError: a size that is unknown or negative.
        """
        ignored("Layer.add_weight", "the method has no such argument", **options)
        return self._weight_store.add(
            args,
            name=name,
            shape=shape,
            initializer=initializer,
            dtype=dtype,
            trainable=trainable,
            regularizer=regularizer,
            constraint=constraint,
            autocast=autocast,
            aggregation=aggregation,
        )

    def add_variable(self, *args: Any, **kwargs: Any) -> Variable:
        """An older name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _children_elsewhere(self) -> dict[str, Trackable]:
        # Keras has a property for the weight that can be quantized or adapted, stored under
        # `_name`.
        own = self._trackable_children()
        others = {f"_{name}": own[name] for name in ("kernel", "embeddings") if name in own}
        older = self._names_in_keras_2.items()
        return {**others, **{name: own[mine] for name, mine in older if mine in own}}

    def _tracked_value(self, name: str, value: object) -> object:
        self._weight_store.assigned(value)
        return super()._tracked_value(name, value)

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """All variables, including states of seed generators."""
        return self._weight_store.gathered(is_any)

    @property
    def weights(self) -> list[Variable]:
        """All variables except states of seed generators."""
        return self._weight_store.gathered(is_weight)

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """The variables that training changes by gradients."""
        return self._weight_store.gathered(is_trained)

    @property
    def trainable_weights(self) -> list[Variable]:
        """The same as `trainable_variables`."""
        return self.trainable_variables

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """The variables that training does not change by gradients, including seed states."""
        return self._weight_store.gathered(is_not_trained)

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The same as `non_trainable_variables`, without seed states."""
        return self._weight_store.gathered(is_weight_not_trained)

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights of this layer."""
        return self._weight_store.trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        store = self._weight_store
        if store.changing:
            return
        store.changing = True
        try:
            store.train(bool(value))
            for layer in self.layers_inside:
                layer.trainable = value
        finally:
            store.changing = False

    def count_params(self) -> int:
        """The number of numbers in `weights`.

        Raises:
            ValueError: the layer has not been built.
        """
        return self._weight_store.count()

    def get_weights(self) -> list[Array]:
        """The values of `weights`, as arrays."""
        return [np.asarray(variable.numpy()) for variable in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Give `weights` these values.

        Args:
            weights: arrays in the order of `weights`.

        Raises:
            ValueError: wrong number of arrays, or one of another shape.
        """
        self._weight_store.set_values(weights)

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the layer's own state for a `.keras` or `.weights.h5` file to `store`.

        A subclass that saves other values defines `load_own_variables` too.

        Args:
            store: name -> array or variable; takes numbers and bools.
        """
        for index, variable in enumerate(self._weight_store.own_variables()):
            store[str(index)] = variable

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Read the state that `save_own_variables` wrote.

        Args:
            store: name -> array.

        Raises:
            ValueError: wrong number of arrays, or one of another shape.
        """
        self._weight_store.load_own(store)

    # Quantization; layers that support it override these methods.

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Raises an error: layers of this kind cannot be quantized.

        Args:
            mode: "int8" or "int4".
            type_check: whether subclasses of layers that can be are refused.
            config: the quantizers used.

        Raises:
            NotImplementedError: always.
        """
        del mode, type_check, config
        raise self._has_no("quantize")

    def quantized_build(self, input_shape: Any, mode: str) -> None:
        """Raises an error: layers of this kind cannot be quantized.

        Args:
            input_shape: shape of the weight.
            mode: "int8" or "int4".

        Raises:
            NotImplementedError: always.
        """
        del input_shape, mode
        raise self._has_no("quantized_build")

    def quantized_call(self, *args: Any, **kwargs: Any) -> Any:
        """`call` of a quantized layer; raises an error if it cannot be quantized.

        Args:
            *args: arguments of `call`.
            **kwargs: keyword arguments of `call`.

        Raises:
            NotImplementedError: always.
        """
        del args, kwargs
        raise self._has_no("quantized_call")

    def _has_no(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"Layer {type(self).__name__} does not have a `{method}` method implemented."
        )

    # Losses.

    def add_loss(self, loss: Any) -> None:
        """Add to the loss that training minimizes, until the next call.

        Args:
            loss: a tensor, whose sum is added, or a list of them.
        """
        self._penalty_store.add(loss)

    @property
    def losses(self) -> list[Any]:
        """The losses added by `add_loss` in the last call, and the weights' penalties."""
        return self._penalty_store.losses()

    def add_metric(self, value: Any, name: str | None = None, aggregation: Any = None) -> None:
        """Track the mean of a value computed in `call`, as one of the model's `metrics`.

        Args:
            value: one or more numbers.
            name: name in logs.
            aggregation: accepted for Keras' sake: it is the mean.
        """
        from pinnace.keras.metrics.means import Mean

        ignored("Layer.add_metric", "the mean of the values is reported", aggregation=aggregation)
        if "_added_metrics" not in vars(self):
            self._added_metrics: dict[str, Any] = {}
        key = name or "metric"
        if key not in self._added_metrics:
            self._added_metrics[key] = Mean(name=key)
        self._added_metrics[key].update_state(value)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics among its attributes, and those of nested layers."""
        from pinnace.keras.metrics.metric import metrics_in  # metrics have layers' variables

        return metrics_in(self)

    @property
    def metrics_variables(self) -> list[Any]:
        """The states of the metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    @property
    def updates(self) -> list[Any]:
        """Always empty: assignments run when they are called."""
        return []

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Always empty: assignments run when they are called."""
        del inputs
        return []

    # Configuration.

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, in the form for `from_config`.

        A subclass that overrides this gets name, trainable and dtype from here; otherwise its
        constructor's arguments are recorded and returned.

        Raises:
            NotImplementedError: an argument that cannot be stored.
        """
        base = {
            "name": self._name,
            "trainable": self.trainable,
            "dtype": registry.serialize_keras_object(self._policy),
        }
        if not self._tells_constructor():
            if self.activity_regularizer is not None:
                base["activity_regularizer"] = _regularizers.serialize(self.activity_regularizer)
            return base
        return {**base, **configuration.constructor_config(self)}

    def _tells_constructor(self) -> bool:
        """Whether no subclass overrides the configuration: it is the constructor's arguments."""
        return type(self).get_config is Layer.get_config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The layer with that configuration."""
        arguments = {key: registry.deserialize_keras_object(value) for key, value in config.items()}
        dtype = arguments.get("dtype")
        if type(dtype) is policies.DTypePolicy:
            arguments["dtype"] = dtype.name  # Keras: constructors may expect a name
        try:
            return configuration.made(cls, arguments)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{cls.__name__}.from_config: {error}") from error

    # Properties.

    @property
    def name(self) -> str:
        """The name given to the constructor or made by it, or set since."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None:
            self._scope_name = self._scope_name.removesuffix(f"{self._name}/") + f"{value}/"
            self._name = value

    def _take_path(self) -> None:
        """Take the path below the layers being called, with the policy for that path."""
        self._scope_name = state.scope + scope_of(self._name)
        self._policy = self._policy.at(self.path)

    @property
    def path(self) -> str:
        """Its name, prefixed by the names of enclosing layers."""
        return self._scope_name.removesuffix("/")

    @property
    def dtype_policy(self) -> policies.DTypePolicy:
        """The dtypes of its weights and of its computation."""
        return self._policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        policy = policies.get(value)
        mode, present = policy.quantization_mode, self._policy
        if mode is not None and self.built and present.quantization_mode is None:
            self.quantize(mode)
        self._policy = present.with_policy(self.path, policy)

    @property
    def quantization_mode(self) -> str | None:
        """The quantization of its weights, such as `int8`; None if they are not quantized."""
        return self._policy.quantization_mode

    @property
    def autocast(self) -> bool:
        """Whether float inputs are cast to the compute dtype."""
        return self._autocast

    @autocast.setter
    def autocast(self, value: bool) -> None:
        self._autocast = bool(value)

    @property
    def dtype(self) -> str:
        """The name of the dtype of its weights."""
        return self._policy.variable_dtype

    @property
    def variable_dtype(self) -> str:
        """The name of the dtype of its weights."""
        return self._policy.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype of its computation."""
        return self._policy.compute_dtype

    @property
    def input_dtype(self) -> str:
        """The name of the dtype that float inputs are cast to."""
        return self._policy.compute_dtype

    @property
    def layers_inside(self) -> list[Layer]:
        """The layers right below this one."""
        return self._weight_store.layers()

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Layer]:
        """This layer and all nested layers, without duplicates.

        Source:
            Keras: packages number layers by this order in their files. What a layer has stands
            right behind it, the last first; operations are no layers.
        """
        found: dict[int, Layer] = {id(self): self}  # which may be inside itself
        waiting = deque(self.layers_inside)
        while waiting:
            layer = waiting.popleft()
            if id(layer) in found or getattr(layer, "_is_operation", False):
                continue
            found[id(layer)] = layer
            if recursive:
                waiting.extendleft(layer.layers_inside)
        return list(found.values())[0 if include_self else 1 :]

    def _described(self) -> str:
        return f"{type(self).__name__} {self._name!r}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name}, built={self.built}>"


def _single(x: Any) -> Any:
    """Floats of fewer than 32 bits as float32."""
    if isinstance(x, Tensor) and x.dtype.is_floating and x.dtype.size < 4:
        return casting.cast(x, dtypes.float32)
    return x


def _below(cls: type, base: type) -> tuple[type, ...]:
    """The classes before `base` in the method resolution order of `cls`."""
    return cls.__mro__[: cls.__mro__.index(base)]


__all__ = ["InputSpec", "Layer", "LayerOptions", "PlainLayerOptions"]
