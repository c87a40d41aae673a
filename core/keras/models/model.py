"""Model: a layer that can be trained, saved and looked at as a whole."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pinnace import late
from pinnace.framework import structure
from pinnace.framework.containers import ListWrapper
from pinnace.framework.context import state
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import Function, trace
from pinnace.keras import masks, registry
from pinnace.keras.call_context import calls
from pinnace.keras.call_signature import as_specs
from pinnace.keras.layer import Layer, _spec_of
from pinnace.keras.models.summary import print_summary, table_of, title_of
from pinnace.keras.models.topology import Topology
from pinnace.keras.no_effect import no_effect
from pinnace.keras.saving import weight_files, whole_models
from pinnace.keras.training.fit import Fitting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.trackable import Trackable
    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.keras.call_signature import CallSignature
    from pinnace.keras.symbolic import KerasTensor


class Model(Fitting):
    """Layers that belong together.

    Three ways to make one: `Model(inputs, outputs)` from KerasTensors; a subclass that defines
    `call`; `Sequential`.

    Args:
        *args: inputs and outputs, KerasTensors, of a functional model.
        **kwargs: `inputs`, `outputs`; see Layer for the others.
    """

    _TF_MODULE_IGNORED_PROPERTIES = Fitting._TF_MODULE_IGNORED_PROPERTIES | {
        *("_topology", "_call_specs"),
    }

    # Whether `_layers` says what the layers are, before there is a topology.
    _lists_layers: ClassVar[bool] = False

    _topology: Topology | None
    _layers: list[Layer]
    # The specs of the first argument of `call`, the batch axis open.
    _call_specs: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A Functional for `Model(inputs, outputs)`."""
        kind: Any = cls
        if cls is Model and _is_functional(args, kwargs):
            from pinnace.keras.models.functional import Functional

            kind = Functional
        made: Self = super().__new__(kind, *args, **kwargs)
        made.__dict__.update(_topology=None, _call_specs=None, optimizer=None)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Older programs write super().__init__(self).
        args = tuple(arg for arg in args if arg is not self)
        inputs, outputs, kwargs = _functional_arguments(args, kwargs)
        super().__init__(**kwargs)
        self.stop_training = False
        if inputs is not None:
            self._set_topology(inputs, outputs)

    def _set_topology(self, inputs: Any, outputs: Any) -> None:
        topology = Topology(inputs, outputs)
        self.__dict__["_topology"] = topology
        self._layers = topology.layers()
        self.__dict__["_call_specs"] = structure.map_structure(_named_spec, inputs)
        self.__dict__["_output_specs"] = structure.map_structure(_spec_of, outputs)
        self.__dict__["_build_specs"] = structure.map_structure(_spec_of, inputs)
        self.built = True

    def _twin(self) -> Layer:
        return self  # its layers may be shared with other models

    # Calling it.

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for these inputs."""
        masks.attach(inputs, kwargs.get("mask"))
        del args
        if self._topology is None:
            raise NotImplementedError(
                f"{type(self).__name__} must define call(self, inputs), or be made from inputs and "
                "outputs"
            )
        return self._topology.run(inputs)

    def _build_for(
        self, signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        first = args[0] if args else next(iter(kwargs.values()), None)
        self.__dict__["_call_specs"] = structure.map_structure(_open_spec, first)
        if type(self).build is Model.build:
            # The layers inside are built as `call` calls them.
            self.__dict__["_scope_name"] = f"{self._scope_name}"
            self.__dict__["_build_specs"] = structure.map_structure(_spec_of, first)
            self.built = True
            return
        super()._build_for(signature, args, kwargs)

    def build(self, input_shape: Any) -> None:
        """Make all weights, for inputs of that shape."""
        if self.built or type(self).call is Model.call:
            self.built = True
            return
        if calls.entry is not None:
            return
        saved, state.scope = state.scope, self._scope_name.removesuffix(f"{self._name}/")
        try:
            self.compute_output_spec(as_specs(input_shape, self.compute_dtype))
        finally:
            state.scope = saved

    # What is in it.

    @property
    def layers(self) -> list[Layer]:
        """The layers right below this one; of a functional model its input layers too."""
        if self._lists_layers or self._topology is not None:
            # Keras: an operation is a node of the model, and no layer of it.
            return [layer for layer in self._layers if not hasattr(layer, "keras_class")]
        return self.layers_inside

    @layers.setter
    def layers(self, value: Any) -> None:
        del value
        raise AttributeError(
            f"{type(self).__name__}: layers is what the model finds in its attributes\n"
            "  Try: another name for the attribute"
        )

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of that name or place.

        Raises:
            ValueError: there is none; both or neither were given.
        """
        if (name is None) == (index is None):
            raise ValueError("get_layer: either name or index must be given")
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(f"get_layer: index must be below {len(layers)}, got {index}")
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"get_layer: name must be one of {', '.join(x.name for x in layers)}, got {name!r}"
        )

    @property
    def inputs(self) -> list[KerasTensor]:
        """The KerasTensors a functional model begins with."""
        return self._known_topology("inputs").flat_inputs

    @property
    def outputs(self) -> list[KerasTensor]:
        """The KerasTensors a functional model ends with."""
        return self._known_topology("outputs").flat_outputs

    @property
    def input(self) -> Any:
        """What a functional model begins with, in its structure."""
        return self._known_topology("input").inputs

    @property
    def output(self) -> Any:
        """What a functional model ends with, in its structure."""
        return self._known_topology("output").outputs

    @property
    def input_shape(self) -> Any:
        """The shapes of the inputs."""
        return structure.map_structure(lambda x: x.shape, self.input)

    @property
    def output_shape(self) -> Any:
        """The shapes of the outputs."""
        return structure.map_structure(lambda x: x.shape, self.output)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [x.name for x in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the layers that give the outputs."""
        return [x.node.layer.name if x.node is not None else x.name for x in self.outputs]

    def _known_topology(self, what: str) -> Topology:
        if self._topology is None:
            raise AttributeError(
                f"{self._described()} has no {what}: it is not functional, or not built yet"
            )
        return self._topology

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[..., Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Print the layers, the shapes of their outputs and the numbers of their weights.

        Args:
            line_length: width of the table.
            positions: without effect, and told so: columns are as wide as their texts.
            print_fn: takes the text, instead of printing it.
            expand_nested: whether layers inside layers are shown.
            show_trainable: whether a column says what is trainable.
            layer_range: names of the first and the last layer to show, as patterns.
        """
        if positions is not None:
            no_effect("Model.summary", "positions", "columns are as wide as their texts")
        print_summary(
            self,
            line_length=line_length,
            print_fn=print_fn,
            expand_nested=expand_nested,
            show_trainable=show_trainable,
            layer_range=layer_range,
        )

    def _repr_html_(self) -> str:
        """For notebooks: the table of `summary`."""
        from pinnace.framework import html

        return html.table(title_of(self), *table_of(self))

    # Saving it.

    def save(self, filepath: str | Path, overwrite: bool = True, **kwargs: Any) -> None:
        """Write the whole model: what it is made of, its weights, how it is trained.

        Args:
            filepath: ends in `.keras` for Keras 3's file, in `.h5` or `.hdf5` for the older one
                (both need h5py); else it is the folder of a SavedModel.
            overwrite: whether what is there may be replaced.
            **kwargs: `include_optimizer`; of a SavedModel `save_format`, `signatures`, `options`.

        Raises:
            ValueError: the model is not built, or its configuration cannot be stored.
            FileExistsError: the file is there and must not be replaced.
        """
        path = Path(filepath)
        if path.exists() and not overwrite:
            raise FileExistsError(f"Model.save: {str(filepath)!r} is there already")
        if path.suffix in {".keras", ".h5", ".hdf5"}:
            whole_models.write(self, str(path), kwargs.get("include_optimizer", True))
            return
        _check_folder("Model.save", path)
        options: dict[str, Any] = {
            key: kwargs[key] for key in ("signatures", "options") if key in kwargs
        }
        self._write(str(filepath), kwargs.get("include_optimizer", True), options)

    def save_weights(self, filepath: str | Path, overwrite: bool = True) -> None:
        """Write the values of the weights.

        Args:
            filepath: ends in `.weights.h5` for Keras 3's format (needs h5py); without an ending it
                is a TensorFlow checkpoint.
            overwrite: whether what is there may be replaced.

        Raises:
            ValueError: the model is not built; another ending.
            FileExistsError: the file is there and must not be replaced.
        """
        weight_files.save_weights(self, filepath, overwrite)

    def load_weights(self, filepath: str | Path, skip_mismatch: bool = False) -> Any:
        """Put values that `save_weights` wrote into the weights.

        Args:
            filepath: see `save_weights`.
            skip_mismatch: of a `.weights.h5` file, whether layers that do not fit stay as they are.

        Returns:
            For a checkpoint a status with `assert_consumed()` and the like: what is not built yet
            gets its values when it is. None for a `.weights.h5` file.

        Raises:
            ValueError: weights that do not fit.
        """
        return weight_files.load_weights(self, filepath, skip_mismatch)

    def export(self, filepath: str | Path, format: str = "tf_saved_model", **kwargs: Any) -> None:
        """Write what the model computes, for serving.

        Args:
            filepath: a folder, or a file for ONNX.
            format: `tf_saved_model` or `onnx`.
            **kwargs: `verbose`; `input_signature`: without effect, and told so; others: the
                writer's.
        """
        kwargs.pop("verbose", None)
        if kwargs.pop("input_signature", None) is not None:
            why = "a signature is what the model was built for"
            no_effect("Model.export", "input_signature", why)
        if format == "tf_saved_model":
            _check_folder("Model.export", Path(filepath))
            self._write(str(filepath), False, kwargs)
        elif format == "onnx":
            signature = self._default_signatures()["serving_default"]
            late.get("onnx.export")(signature, str(filepath), **kwargs)
        else:
            raise ValueError(f"Model.export: format must be tf_saved_model or onnx, got {format!r}")

    def _write(self, path: str, with_optimizer: bool, options: dict[str, Any]) -> None:
        calls.exporting = not with_optimizer
        try:
            late.get("saved_model.save")(self, path, **options)
        finally:
            calls.exporting = False

    def _trackable_children(self) -> dict[str, Trackable]:
        children = super()._trackable_children()
        if calls.exporting:
            children.pop("optimizer", None)
        return children

    def _children_elsewhere(self) -> dict[str, Trackable]:
        # Keras calls the layers of a functional model so.
        others = super()._children_elsewhere()
        layers = self._trackable_children().get("_layers")
        if layers is not None and self._topology is not None:
            others["_operations"] = layers
        return others

    def _default_signatures(self) -> dict[str, ConcreteFunction]:
        """serving_default: by input names, training=False; gives output_0, … or a dict's keys.

        Empty for a model that was never called and has functions of its own: those are saved.
        """
        if self._call_specs is None and self._has_functions():
            return {}
        named, rebuild = self._named_inputs()

        def serve(**inputs: Any) -> dict[str, Any]:
            return _named_outputs(self(rebuild(inputs), training=False))

        concrete, _ = trace(serve, (), named, "serving_default")
        concrete.by_name = True
        return {"serving_default": concrete}

    def _functions_for_saving(self) -> dict[str, Any]:
        """What a restored model has: `call` for inputs as they were, variables and losses.

        `call` and `__call__` are one function, traced for `training` and not. A loss is a function
        without arguments, since what it gives changes with the weights.
        """
        parts: dict[str, Any] = {
            "variables": ListWrapper(self.variables),
            "trainable_variables": ListWrapper(self.trainable_variables),
            "non_trainable_variables": ListWrapper(self.non_trainable_variables),
        }
        specs = self._call_specs
        if specs is None:
            return parts

        def call(inputs: Any, training: bool = False) -> Any:
            return self(inputs, training=training)

        function = Function(call, name="__call__")
        for training in (False, True):
            function.get_concrete_function(specs, training=training)
        losses = ListWrapper(self._loss_functions())
        return {"__call__": function, "call": function, **parts, "losses": losses}

    def _has_functions(self) -> bool:
        """Whether `function` made some of the methods or attributes."""
        own = [vars(kind).values() for kind in type(self).__mro__]
        return any(isinstance(x, Function) for x in itertools.chain(vars(self).values(), *own))

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The model with that configuration, with new weights; the graph of a functional one."""
        if "input_layers" not in config:
            return super().from_config(config)
        from pinnace.keras.models.functional import from_graph

        return from_graph(cls, config, custom_objects)

    def _loss_functions(self) -> list[Function]:
        """The penalties of the weights, each as a function."""

        def function(index: int) -> Function:
            return Function(lambda: self._weight_losses()[index], [], name=f"loss_{index}")

        return [function(index) for index in range(len(self._weight_losses()))]

    def _known_specs(self) -> Any:
        if self._call_specs is None:
            raise ValueError(
                f"{self._described()} does not know its inputs yet\n"
                "  Try: call it on data, fit it, or begin a Sequential with Input(shape)"
            )
        return self._call_specs

    def _named_inputs(self) -> tuple[dict[str, TensorSpec], Callable[[dict[str, Any]], Any]]:
        """The inputs by name, and how to get the argument of `call` from them."""
        specs = self._known_specs()
        flat = structure.flatten(specs)
        if isinstance(specs, dict):
            names = [str(key) for key in sorted(specs)]
        else:
            names = [spec.name or "" for spec in flat]
            if len(set(names)) < len(names) or "" in names:
                only = len(names) == 1
                names = ["inputs"] if only else [f"inputs_{i}" for i in range(len(names))]
        named = {
            name: TensorSpec.of(spec.shape, spec.dtype, name)
            for name, spec in zip(names, flat, strict=True)
        }

        def rebuild(inputs: dict[str, Any]) -> Any:
            return structure.pack_sequence_as(specs, [inputs[name] for name in names])

        return named, rebuild

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # Traced functions are traced again; the history is that of this model's training.
        return {**state, "_step_functions": {}, "history": None}

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON."""
        import json

        return json.dumps(registry.serialize_keras_object(self), **kwargs)


# What other programs write into one file: a SavedModel is a folder.
_FILES = frozenset(
    {".pb", ".pbtxt", ".onnx", ".tflite", ".pt", ".pth", ".pkl", ".pickle", ".zip", ".json", ".npz"}
)


def _check_folder(who: str, path: Path) -> None:
    """Refuse the name of a file for a folder."""
    if path.suffix.lower() in _FILES:
        ending = path.suffix
        remedy = "export(…, format='onnx')" if ending == ".onnx" else f"{path.stem!r}"
        raise ValueError(
            f"{who}: a SavedModel is a folder, and {ending} the ending of a file, got "
            f"{str(path)!r}\n  Try: {remedy}, or a file that ends in .keras"
        )


def _named_outputs(outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, dict):
        return {str(key): value for key, value in outputs.items()}
    return {f"output_{index}": y for index, y in enumerate(structure.flatten(outputs))}


def _named_spec(x: KerasTensor) -> TensorSpec:
    """The spec of an input, with its name if somebody gave it one."""
    given = x.node is not None and getattr(x.node.layer, "_given_name", None)
    return TensorSpec.of(x.shape, x.dtype, x.name if given else None)


def _open_spec(x: Any) -> Any:
    """The spec of a tensor, the batch axis left open."""
    spec = _spec_of(x)
    if isinstance(spec, TensorSpec) and spec.shape.rank:
        return TensorSpec((None, *spec.shape[1:]), spec.dtype)
    return spec


def _is_functional(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given = len(args) + len({"inputs", "outputs"} & set(kwargs))
    return given == 2


def _functional_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, dict[str, Any]]:
    """inputs, outputs, and the other arguments."""
    kwargs = dict(kwargs)
    if not _is_functional(args, kwargs):
        if args:
            raise TypeError("Model: takes inputs and outputs by position, or none of them")
        return None, None, kwargs
    found = list(args)
    inputs = kwargs.pop("inputs") if "inputs" in kwargs else found.pop(0)
    outputs = kwargs.pop("outputs") if "outputs" in kwargs else found.pop(0)
    return inputs, outputs, kwargs
