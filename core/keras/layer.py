"""Layer: builds its weights once, for the first input it sees, then maps tensors to tensors."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

from pinnace.framework import structure, tracebacks
from pinnace.framework.columns import is_column
from pinnace.framework.composite import is_composite
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.autograph.conversion import callback
from pinnace.functions.function import trace
from pinnace.keras import dtype_policy, masks, registry
from pinnace.keras import regularizers as _regularizers
from pinnace.keras.call_context import calls
from pinnace.keras.call_signature import (
    CallSignature,
    as_shapes,
    as_specs,
    build_parameters,
    prepared_build,
    required_build_parameters,
    told_training,
)
from pinnace.keras.input_spec import InputSpec, check_inputs
from pinnace.keras.names import class_name_in_snake_case, unique_name
from pinnace.keras.penalties import Penalised
from pinnace.keras.plain_lists import is_values
from pinnace.keras.symbolic import KerasTensor, Node
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Sequence

# Arguments that older programs give to the first layer of a model.
_FIRST_LAYER = ("input_shape", "batch_input_shape", "input_dim", "batch_size")


class LayerOptions(TypedDict, total=False):
    """The arguments that every layer takes.

    activity_regularizer: penalty of its output, added to the loss.
    trainable: whether training changes its weights.
    dtype: a dtype or a DTypePolicy.
    autocast: whether float inputs are cast to the dtype it computes in.
    name: unique if None: the class in snake case, numbered.
    """

    activity_regularizer: Any
    trainable: bool
    dtype: Any
    autocast: bool
    name: str | None


class Layer(Penalised):
    """A function with weights: subclasses define `call`, and `build` if they have weights.

    `build(self, x)` gets the TensorSpec of the first argument of `call` (its shape, if the
    parameter is named `input_shape` or `..._shape`) and is called once. `call` may take `training`:
    what it was told, else what the call around it was told, else its default.

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

    _TF_MODULE_IGNORED_PROPERTIES = Penalised._TF_MODULE_IGNORED_PROPERTIES | {
        *("_constructor", "_unassigned", "_regularized", "_losses", "_holding", "_nodes"),
    }
    _call_signature: ClassVar[CallSignature | None] = None
    _computes_masks: ClassVar[bool] = False
    # Whether integers and bools become floats in the first argument, as Keras promotes them beside
    # weights; else they stay what they are.
    _takes_floats: ClassVar[bool] = False

    _nodes: list[Node]
    _autocast: bool
    _build_specs: Any
    _output_specs: Any
    _given_input_shape: Shape | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remembers the constructor's arguments: they are the configuration."""
        self = super().__new__(cls)
        # Not through __setattr__: none of this is a child.
        self.__dict__.update(
            _constructor=(args, kwargs),
            _regularized=[],
            _losses=[],
            _holding=[],
            _nodes=[],
            _trainable=True,
            _build_specs=None,
            _output_specs=None,
            built=False,
        )
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._call_signature = None
        cls._computes_masks = cls.compute_mask is not Layer.compute_mask
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
        name = unique_name(own) if name is None else str(name)
        if "/" in name or not name:
            raise ValueError(f"{type(self).__name__}: name must not hold a slash, got {name!r}")
        self._name = name
        self._scope_name = f"{state.scope}{name}/"
        self._policy = dtype_policy.get(dtype)
        if self._policy.compute_dtype != self._policy.variable_dtype:
            raise NotImplementedError(
                f"{type(self).__name__}: mixed precision is not supported yet, got "
                f"{self._policy.name!r}\n  Try: dtype={self._policy.compute_dtype!r}"
            )
        self._autocast = autocast
        self.__dict__["_trainable"] = bool(trainable)
        self.activity_regularizer = _regularizers.get(activity_regularizer)
        self.input_spec: Any = None
        self.supports_masking = self._computes_masks
        self.__dict__["_given_input_shape"] = _first_layer_shape(kwargs)
        unknown = sorted(set(kwargs) - {*_FIRST_LAYER, "dynamic", "weights"})
        if unknown:
            raise ValueError(
                f"{type(self).__name__}: unknown arguments {', '.join(unknown)}\n"
                f"  takes {', '.join(_constructor_names(type(self)))}"
            )

    # What subclasses define.

    def build(self, input_shape: Any) -> None:
        """Make the weights; called once, before the first call."""
        del input_shape
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs for these inputs."""
        raise NotImplementedError(f"{type(self).__name__} must define call(self, inputs)")

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The masks of the outputs for inputs with these masks: the same."""
        del inputs
        return previous_mask

    # Calling it.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`call`, after checks, casts and, the first time, `build`.

        Raises:
            ValueError: an input that the layer does not take.
        """
        try:
            return self._called(args, kwargs)
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
        args, kwargs, symbolic = self._converted(args, kwargs)
        if symbolic:
            return self._symbolic_call(args, kwargs)
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
            self.__dict__["_output_specs"] = structure.map_structure(_spec_of, outputs)
        return outputs

    @classmethod
    def _signature_of_call(cls) -> CallSignature:
        signature = cls._call_signature = CallSignature(cls.call)
        return signature

    def _run(self, training: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`call`, in the context of this layer."""
        saved = calls.entry, calls.training, state.scope
        if saved[0] is None:
            calls.entry = self
            if self._holding:
                for layer in self._holding:
                    layer._losses.clear()
                self._holding.clear()
        calls.training = training
        state.scope = f"{saved[2]}{self._name}/"
        try:
            # A user's `call` is converted by AutoGraph if the function that is traced is.
            outputs = callback(self.call)(*args, **kwargs)
            if self.activity_regularizer is not None:
                self._add_activity_losses(outputs)
        finally:
            calls.entry, calls.training, state.scope = saved
        return outputs

    def _converted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
        """Arguments as tensors, floats cast; whether a KerasTensor is among them."""
        if len(args) == 1 and isinstance(args[0], Tensor):
            args = (self._cast(args[0], self._takes_floats),)
            if not kwargs or (len(kwargs) == 1 and "training" in kwargs):
                return args, kwargs, False
        elif args and is_values(args[0]):
            args = (convert_to_tensor(args[0]), *args[1:])
        symbolic = False

        def leaf(x: Any) -> Any:
            nonlocal symbolic
            if isinstance(x, Tensor):
                return self._cast(x)
            if isinstance(x, KerasTensor):
                symbolic = True
            elif isinstance(x, Variable):
                return self._cast(x.value())
            elif is_column(x) and not is_composite(x):
                return self._cast(convert_to_tensor(x))
            return x

        if args and self._takes_floats:
            first = structure.map_structure(leaf, args[0])
            args = (structure.map_structure(self._floating, first), *args[1:])
        args = tuple([structure.map_structure(leaf, arg) for arg in args])
        kwargs = {key: structure.map_structure(leaf, value) for key, value in kwargs.items()}
        return args, kwargs, symbolic

    def _floating(self, x: Any) -> Any:
        return self._cast(x, True) if isinstance(x, Tensor) else x

    def _cast(self, x: Tensor, numbers: bool = False) -> Tensor:
        """`x` in the dtype the layer computes in, if both are floats, or `numbers` of any kind."""
        wanted = self._policy._compute
        found = x.dtype
        if found is wanted or not wanted.is_floating:
            return x
        if found.is_floating:
            if not self._autocast:
                return x
        elif not numbers or not (found.is_integer or found.is_bool):
            return x
        cast = casting.cast(x, wanted)
        masks.attach(cast, getattr(x, "_keras_mask", None))
        return cast

    # Copying it.

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and deepcopy take along: the calls it is part of are a model's."""
        state: Any = super().__getstate__()
        return {**state, "_nodes": [], "_losses": [], "_holding": []}

    # Building it.

    def _build_for(
        self, signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """`build` for these arguments of `call`."""
        self.__dict__["_scope_name"] = f"{state.scope}{self._name}/"
        specs = {
            name: structure.map_structure(_spec_of, value)
            for name, value in [*zip(signature.names, args, strict=False), *kwargs.items()]
        }
        wanted = build_parameters(type(self).build)
        if len(wanted) > 1:
            given = {
                name: specs[name.removesuffix("_shape")]
                for name in wanted
                if name.removesuffix("_shape") in specs
            }
            if given.keys() >= required_build_parameters(type(self).build):
                self.build(**given)
                self.built = True
                return
        if args:
            first = structure.map_structure(_spec_of, args[0])
        else:
            first = next(iter(specs.values()), None)
        self.build(first)
        self.built = True

    def build_inside(self, x: Any) -> None:
        """`build`, from the `build` of the layer that this one is in: its names begin with its."""
        self.__dict__["_scope_name"] = f"{state.scope}{self._name}/"
        self.build(x)
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build for the shapes that `get_build_config` told."""
        shapes = registry.deserialize_keras_object(config)
        if "input_shape" in shapes and len(shapes) == 1:
            if shapes["input_shape"] is not None:
                self.build(shapes["input_shape"])
        elif shapes:
            self.build(**shapes)

    def get_build_config(self) -> dict[str, Any] | None:
        """The shapes it was built for; None if it was not."""
        named = self.__dict__.get("_build_named")
        if named is None:
            if self._build_specs is None:
                return None
            named = {"input_shape": self._build_specs}
        return structure.map_structure(  # type: ignore[no-any-return]  # a dict, like `named`
            lambda spec: spec.shape.dims if isinstance(spec, TensorSpec) else None, named
        )

    # Symbolic calls.

    def _symbolic_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """KerasTensors for the outputs, and a node that remembers the call."""
        specs = self.compute_output_spec(*args, **kwargs)
        node = Node(self, args, kwargs)

        def output(spec: Any) -> Any:
            if not isinstance(spec, TensorSpec):
                return spec
            tensor = KerasTensor(spec.shape, spec.dtype)
            tensor.node = node
            return tensor

        node.outputs = structure.map_structure(output, specs)
        masks.foresee(self, args, kwargs, node.outputs)
        self._nodes.append(node)
        return node.outputs

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The TensorSpecs of the outputs for inputs that are known by shape and dtype only.

        Args:
            *args: arguments of `call`; TensorSpecs or KerasTensors where tensors go.
            **kwargs: likewise.
        """
        to_spec = functools.partial(structure.map_structure, _spec_of)
        specs = tuple([to_spec(arg) for arg in args])
        options = {key: to_spec(value) for key, value in kwargs.items()}
        overridden = type(self).compute_output_shape is not Layer.compute_output_shape
        if overridden and not options.keys() - {"training"}:
            return self._specs_by_shapes(specs)
        return self._traced_specs(specs, options, (args, kwargs))

    def _traced_specs(
        self, specs: tuple[Any, ...], options: dict[str, Any], given: Any = None
    ) -> Any:
        """What `call` gives for these specs, found by tracing it; `given` may carry masks."""
        outer, known = state.scope, masks.foreseen(given or (specs, options))

        def call(held: Any, *inputs: Any, **others: Any) -> Any:
            state.scope = outer  # weights are named as in a call from here
            masks.attach((inputs, others), held)
            return self(*inputs, **others)

        concrete, _ = trace(call, (known, *specs), options, f"{self._name}_shapes")
        self.__dict__["_output_specs"] = concrete.structured_outputs
        return concrete.structured_outputs

    def _specs_by_shapes(self, specs: tuple[Any, ...]) -> Any:
        """The outputs' specs from the subclass's own `compute_output_shape`."""
        if not self.built:
            self._build_for(CallSignature(type(self).call), specs, {})
        shapes = self.compute_output_shape(*[as_shapes(spec) for spec in specs])
        found = as_specs(shapes, self.compute_dtype)
        self.__dict__["_output_specs"] = found
        return found

    def compute_output_shape(self, *shapes: Any, **named_shapes: Any) -> Any:
        """The shapes of the outputs for inputs of these shapes.

        Args:
            *shapes: one for each tensor that `call` takes.
            **named_shapes: likewise, by the parameter's name and `_shape`.
        """
        dtype = self._dtype_of_shapes()
        specs = [as_specs(shape, dtype) for shape in shapes]
        named = {
            key.removesuffix("_shape"): as_specs(shape, dtype)
            for key, shape in named_shapes.items()
        }
        if not specs and named.keys() == {"input"}:
            specs, named = [named["input"]], {}
        return as_shapes(self._twin()._traced_specs(tuple(specs), named))

    def _twin(self) -> Layer:
        """This layer if it is built, else one like it: asking for shapes builds nothing."""
        if self.built:
            return self
        try:
            return type(self).from_config(self.get_config())
        except Exception:  # a configuration that cannot be read back, such as a Lambda's
            return self

    def _dtype_of_shapes(self) -> str:
        """Of inputs that are told by their shape alone."""
        return self.compute_dtype

    @property
    def input(self) -> Any:
        """The KerasTensors it was called on, in a functional model.

        Raises:
            AttributeError: it was not called on KerasTensors.
        """
        node = self._first_node("input")
        return node.inputs[0] if len(node.inputs) == 1 else node.inputs

    @property
    def output(self) -> Any:
        """The KerasTensors it gave, in a functional model.

        Raises:
            AttributeError: it was not called on KerasTensors.
        """
        return self._first_node("output").outputs

    def _first_node(self, what: str) -> Node:
        if not self._nodes:
            raise AttributeError(
                f"{self._described()} has no {what}: it was not called on KerasTensors"
            )
        return self._nodes[0]

    # What it is.

    @property
    def path(self) -> str:
        """Its name below the names of the layers around it."""
        return self._scope_name.removesuffix("/")

    @property
    def dtype(self) -> str:
        """Name of the dtype of its weights."""
        return self._policy.variable_dtype

    @property
    def variable_dtype(self) -> str:
        """Name of the dtype of its weights."""
        return self._policy.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """Name of the dtype it computes in."""
        return self._policy.compute_dtype

    @property
    def dtype_policy(self) -> dtype_policy.DTypePolicy:
        """Both."""
        return self._policy

    @property
    def layers_inside(self) -> list[Layer]:
        """The layers right below this one."""
        return [layer for layer in self._layers_inside() if isinstance(layer, Layer)]

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Layer]:
        """This layer and those below it, each once, in order."""
        found: dict[int, Layer] = {id(self): self}

        def visit(layer: Layer) -> None:
            for inner in layer.layers_inside:
                if id(inner) not in found:
                    found[id(inner)] = inner
                    if recursive:
                        visit(inner)

        visit(self)
        return list(found.values())[0 if include_self else 1 :]

    def _described(self) -> str:
        return f"{type(self).__name__} {self._name!r}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name}, built={self.built}>"


def _spec_of(x: Any) -> Any:
    """The spec of a tensor; anything else as it is."""
    if isinstance(x, Tensor):
        return TensorSpec.of(x.shape, x.dtype)
    if isinstance(x, KerasTensor):
        return x.spec
    return x


def _first_layer_shape(kwargs: dict[str, Any]) -> Shape | None:
    """What the older arguments say about the input: the shape with the batch axis."""
    if kwargs.get("batch_input_shape") is not None:
        return Shape(kwargs["batch_input_shape"])
    shape = kwargs.get("input_shape")
    if shape is None and kwargs.get("input_dim") is not None:
        shape = (kwargs["input_dim"],)
    if shape is None:
        return None
    sizes: Sequence[Any] = (shape,) if isinstance(shape, int) else tuple(shape)
    return Shape((kwargs.get("batch_size"), *sizes))


def _constructor_names(cls: type) -> list[str]:
    parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    own = [p.name for p in parameters if p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]
    return [*own[1:], *(name for name in LayerOptions.__annotations__ if name not in own)]


__all__ = ["InputSpec", "Layer", "LayerOptions"]
