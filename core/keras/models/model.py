"""Model: a group of layers that can be trained, saved and inspected."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pinnace.autodiff.tape import GradientTape
from pinnace.framework import structure, tracebacks
from pinnace.framework.context import state
from pinnace.framework.no_effect import no_effect
from pinnace.framework.specs import TensorSpec
from pinnace.keras import masks, optimizers, registry, stateless
from pinnace.keras.call_context import calls
from pinnace.keras.call_signature import as_specs, needed_arguments
from pinnace.keras.export.formats import export_model
from pinnace.keras.forms import with_open_batch
from pinnace.keras.layer import Layer
from pinnace.keras.models import graph_config, quantizing, saved_functions, state_trees
from pinnace.keras.models.summary import print_summary, table_of, title_of
from pinnace.keras.models.topology import Topology
from pinnace.keras.names import scope_of
from pinnace.keras.saving import model_files, weight_files
from pinnace.keras.symbolic import spec_of
from pinnace.keras.training.compilation import (
    Compilation,
    arguments,
    check_how,
    without_effect,
)
from pinnace.keras.training.data_adapter import unpack_x_y_sample_weight
from pinnace.keras.training.evaluator import Evaluator
from pinnace.keras.training.evaluator import without_effect as without_effect_of_older
from pinnace.keras.training.older_metrics import OlderMetrics
from pinnace.keras.training.outputs import without_list
from pinnace.keras.training.step_functions import StepFunctions
from pinnace.keras.training.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from pinnace.distribute.strategy import Strategy
    from pinnace.framework.trackable import Trackable
    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.keras.call_signature import CallSignature
    from pinnace.keras.callbacks.history import History
    from pinnace.keras.metrics.metric import Metric
    from pinnace.keras.optimizers.optimizer import Optimizer
    from pinnace.keras.symbolic import KerasTensor
    from pinnace.keras.training.compilation import OlderCompileOptions
    from pinnace.keras.training.evaluator import OlderOptions


class Model(Layer):
    """A group of layers that can be trained, saved and called.

    There are three ways to create one: `Model(inputs, outputs)` from KerasTensors; a subclass that
    defines `call`; `Sequential`.

    Args:
        *args: inputs and outputs, KerasTensors, of a functional model.
        **kwargs: `inputs`, `outputs`; see Layer for the others.
    """

    # The optimizer is a child, but no submodule.
    _TF_MODULE_IGNORED_PROPERTIES = Layer._TF_MODULE_IGNORED_PROPERTIES | {"optimizer"}
    _untracked = frozenset(
        {
            *("_topology", "_call_specs", "_more_call_specs", "history"),
            *("train_function", "test_function", "predict_function"),
        }
    )

    # Whether `_layers` has the layers, before there is a topology.
    _lists_layers: ClassVar[bool] = False

    # None before `compile`; typed as set, so that training programs need no check
    optimizer: Optimizer
    stop_training: bool
    stop_evaluating: bool
    stop_predicting: bool
    train_function: Callable[[Any], Any] | None
    test_function: Callable[[Any], Any] | None
    predict_function: Callable[[Any], Any] | None
    _compilation: Compilation
    _step_functions: StepFunctions
    _model_evaluator: Evaluator
    _model_trainer: Trainer
    _topology: Topology | None
    _layers: list[Layer]
    # The specs of `call`'s first argument with an open batch axis, and of its other required
    # arguments.
    _call_specs: Any
    _more_call_specs: tuple[Any, ...]

    # The arguments of `Model` itself, besides those of a subclass's constructor.
    _names_of_new = ("inputs", "outputs")

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A Functional for `Model(inputs, outputs)`."""
        kind: Any = cls
        if cls is Model and _is_functional(args, kwargs):
            kind = registry.own_object("keras.models", "Functional", is_function=False)
        made: Self = super().__new__(kind, *args, **kwargs)
        vars(made).update(
            _topology=None,
            _call_specs=None,
            _more_call_specs=(),
            optimizer=None,
            train_function=None,
            test_function=None,
            predict_function=None,
            _compilation=Compilation(made),
            _step_functions=StepFunctions(made),
            _model_evaluator=Evaluator(made),
            _model_trainer=Trainer(made),
        )
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Older programs write super().__init__(self).
        args = tuple(arg for arg in args if arg is not self)
        inputs, outputs, kwargs = _functional_arguments(args, kwargs)
        super().__init__(**kwargs)
        self.stop_training = False
        if inputs is not None:
            self._set_topology(inputs, outputs)
            if not self.trainable:
                self.trainable = False  # this also freezes its layers

    def _set_topology(self, inputs: Any, outputs: Any) -> None:
        topology = Topology(inputs, outputs)
        self._topology = topology
        self._layers = topology.layers()
        self._call_specs = structure.map_structure(_named_spec, inputs)
        self._output_specs = structure.map_structure(spec_of, outputs)
        self._build_specs = structure.map_structure(spec_of, inputs)
        self.built = True

    def _twin(self) -> Layer:
        return self  # its layers may be shared with other models

    # Calling.

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for these inputs."""
        masks.attach(inputs, kwargs.get("mask"))
        del args
        if self._topology is None:
            raise NotImplementedError(
                f"Model {type(self).__name__} does not have a `call()` method implemented: it must "
                "define call(self, inputs), or be made from inputs and outputs"
            )
        outputs = self._topology.run(inputs)
        told = calls.inferring_specs and calls.entry is self
        return outputs if told else without_list(outputs)

    def _build_for(
        self, signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        first = args[0] if args else next(iter(kwargs.values()), None)
        self._call_specs = structure.map_structure(_open_spec, first)
        others = needed_arguments(type(self).call, signature, args, kwargs)
        self._more_call_specs = structure.map_structure(_open_spec, others)
        if type(self).build is Model.build:
            # Building the layers inside as `call` calls them.
            self._build_specs = structure.map_structure(spec_of, first)
            self.built = True
            return
        super()._build_for(signature, args, kwargs)

    def build(self, input_shape: Any = None) -> None:
        """Create all weights, for inputs of that shape."""
        if self.built or type(self).call is Model.call:
            self.built = True
            return
        if calls.entry is not None:
            return
        saved, state.scope = state.scope, self._scope_name.removesuffix(scope_of(self._name))
        specs = as_specs(input_shape, self.compute_dtype)
        if type(self).build is not Model.build:
            # The call below must not build: the subclass is doing that.
            self._call_specs = structure.map_structure(_open_spec, specs)
            self.built = True
        try:
            self.compute_output_spec(specs)
        except BaseException:
            self.built = False
            raise
        finally:
            state.scope = saved

    # Layers and weights.

    @property
    def layers(self) -> list[Layer]:
        """The direct layers of this model, including input layers of a functional model."""
        if self._lists_layers or self._topology is not None:
            # Keras: an operation is a node of the model, and no layer of it.
            return [layer for layer in self._layers if not getattr(layer, "_is_operation", False)]
        return self.layers_inside

    @layers.setter
    def layers(self, value: Any) -> None:
        del value
        raise AttributeError(
            f"{type(self).__name__}: `Model.layers` attribute is reserved: it is what the model "
            "finds in its attributes\n  Try: "
            + (
                "Use `add()` and `pop()`"
                if self._lists_layers
                else "another name for the attribute"
            )
        )

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer with that name or index.

        Raises:
            ValueError: there is no such layer; both or neither of name and index are given.
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
    def operations(self) -> list[Layer]:
        """The layers and operations of a functional model in order, including input layers."""
        self._known_topology("operations")
        return list(self._layers)

    @property
    def inputs(self) -> list[KerasTensor]:
        """The KerasTensors that are a functional model's inputs."""
        return self._known_topology("inputs").flat_inputs

    @property
    def outputs(self) -> list[KerasTensor]:
        """The KerasTensors that are a functional model's outputs."""
        return self._known_topology("outputs").flat_outputs

    @property
    def input(self) -> Any:
        """The inputs of a functional model, in their structure."""
        return self._known_topology("input").inputs

    @property
    def output(self) -> Any:
        """The outputs of a functional model, in their structure."""
        return self._known_topology("output").outputs

    _inputs_struct = input  # Keras' name, which packages read
    _outputs_struct = output

    @property
    def input_shape(self) -> Any:
        """The shape of the input; for several inputs, in any structure, a list."""
        return _shapes(self.inputs)

    @property
    def output_shape(self) -> Any:
        """The shape of the output; for several outputs, in any structure, a list."""
        return _shapes(self.outputs)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [x.name for x in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the output layers."""
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
        """Print the layers, their output shapes and numbers of parameters.

        Args:
            line_length: width of the table.
            positions: has no effect, which a warning says: columns are as wide as their texts.
            print_fn: takes the text, instead of printing it.
            expand_nested: whether layers inside layers are shown.
            show_trainable: whether to show which layers are trainable, in a column.
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
        """`summary` as a table, for notebooks."""
        from pinnace.framework import html

        return html.table(title_of(self), *table_of(self))

    # Training.

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: bool | str = "auto",
        auto_scale_loss: bool = True,
        **kwargs: Unpack[OlderCompileOptions],
    ) -> None:
        """Configure training.

        Args:
            optimizer: name or object.
            loss: name, function or Loss; a list or dict of them for several outputs.
            loss_weights: factors of the losses of several outputs.
            metrics: list of names, functions or Metrics; a list or dict of lists for several
                outputs.
            weighted_metrics: likewise, with the sample weights taken into account.
            run_eagerly: whether steps are run as plain Python rather than traced.
            steps_per_execution: how many batches callbacks see as one: they are called before the
                first and after the last of them, and training is stopped between such groups. An
                epoch of `steps_per_epoch` has that many steps, whether the groups are full or not.
            jit_compile: kept as given; steps run by machine code from the first one in any case.
            auto_scale_loss: whether the optimizer of a model of policy `mixed_float16` becomes one
                with a dynamic loss scale, `LossScaleOptimizer`.
            **kwargs: arguments of older programs: they have no effect, which a warning says.
        """
        check_how(steps_per_execution, jit_compile)
        for name, why in without_effect(Model.compile, kwargs):
            no_effect("compile", name, why)
        chosen: Any = None if optimizer is None else optimizers.get(optimizer)
        scales = auto_scale_loss and self.dtype_policy.name == "mixed_float16"
        if scales and chosen is not None and not isinstance(chosen, optimizers.LossScaleOptimizer):
            chosen = optimizers.LossScaleOptimizer(chosen, name="loss_scale_optimizer")
        self.optimizer = chosen
        given = {
            "optimizer": optimizer,
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
            "run_eagerly": run_eagerly,
            "steps_per_execution": steps_per_execution,
            "jit_compile": jit_compile,
        }
        with self._step_functions.scope():
            self._compilation.set(given)
        self._step_functions.clear()
        self.stop_training = False

    @property
    def distribute_strategy(self) -> Strategy:
        """The strategy in whose scope the model was created, or the default one."""
        from pinnace.distribute.current import get_strategy  # most models are made in none

        return self._step_functions.strategy or get_strategy()

    @property
    def compiled(self) -> bool:
        """Whether `compile` was called."""
        return self._compilation.given is not None

    @property
    def run_eagerly(self) -> bool:
        """Whether steps run as plain Python."""
        return self._compilation.run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._compilation.run_eagerly = bool(value)

    @property
    def steps_per_execution(self) -> int:
        """The number of batches between calls of callbacks."""
        return self._compilation.steps_per_execution

    @steps_per_execution.setter
    def steps_per_execution(self, value: int) -> None:
        check_how(value, None)
        self._compilation.steps_per_execution = value

    @property
    def unrolled_steps_per_execution(self) -> int:
        """The number of unrolled steps: always 1."""
        return 1

    @unrolled_steps_per_execution.setter
    def unrolled_steps_per_execution(self, value: int) -> None:
        if value != 1:
            why = "steps are called one after the other"
            no_effect("Model", "unrolled_steps_per_execution", why)

    @property
    def distribute_reduction_method(self) -> str:
        """The reduction over replicas, always `auto`: logs are averaged, predictions joined."""
        return "auto"

    @distribute_reduction_method.setter
    def distribute_reduction_method(self, value: str | None) -> None:
        if value not in (None, "auto"):
            why = "logs of replicas are averaged, predictions joined"
            no_effect("Model", "distribute_reduction_method", why)

    @property
    def jit_compile(self) -> bool:
        """Whether the first step waits for compilation."""
        return self._compilation.jit_compile

    @jit_compile.setter
    def jit_compile(self, value: bool | str) -> None:
        check_how(1, value)
        self._compilation.jit_compile = value is True
        self._step_functions.clear()

    @property
    def loss(self) -> Any:
        """The loss given to `compile`."""
        given = self._compilation.given
        return None if given is None else given["loss"]

    def get_compile_config(self) -> dict[str, Any] | None:
        """The arguments of `compile` in JSON-serializable form."""
        return self._compilation.config()

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """Call `compile` with the result of `get_compile_config`."""
        self.compile(**arguments(config))

    @property
    def metrics(self) -> list[Metric]:
        """The mean loss, the metrics given to `compile`, and those in layers' attributes.

        For those given to `compile` it is a CompileMetrics: its `update_state(y, y_pred,
        sample_weight=…)` does not pass the weights to unweighted metrics.
        """
        return self._compilation.all_metrics()

    @property
    def metrics_names(self) -> list[str]:
        """The metrics' names."""
        return [metric.name for metric in self.metrics]

    def reset_metrics(self) -> None:
        """Reset all metrics."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """The name of each metric -> its result."""
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            results.update(result if isinstance(result, dict) else {metric.name: result})
        return results

    def get_state_tree(self, value_format: str = "backend_tensor") -> dict[str, Any]:
        """The values of all variables, in nested dicts by the components of their paths.

        Args:
            value_format: "backend_tensor" for tensors, "numpy_array" for arrays.

        Returns:
            A dict with such dicts under "trainable_variables", "non_trainable_variables",
            "optimizer_variables" and "metrics_variables".

        Raises:
            ValueError: unknown format; two variables with one path.
        """
        return state_trees.tree_of(self, value_format)

    def set_state_tree(self, state_tree: Mapping[str, Any]) -> None:
        """Set variables to the values from `get_state_tree`.

        Args:
            state_tree: the result of `get_state_tree`; it may lack variables, and paths that no
                variable has are passed over.

        Raises:
            ValueError: a key that is none of the four.
        """
        state_trees.set_tree(self, state_tree)

    # The steps for one batch, which subclasses may override.

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """The loss that training minimises, for one batch.

        Args:
            x: inputs.
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
            training: whether this is a training step.

        Raises:
            ValueError: the model has no loss, neither from `compile` nor from `add_loss`.
        """
        del x, training
        return self._compilation.total_loss(y, y_pred, sample_weight)

    def _compute_loss(self, x: Any, y: Any, y_pred: Any, sample_weight: Any, training: bool) -> Any:
        # A subclass of before Keras 3.3 has no such argument.
        takes = "training" in inspect.signature(self.compute_loss).parameters
        told = {"training": training} if takes else {}
        return self.compute_loss(x, y, y_pred, sample_weight, **told)

    def stateless_compute_loss(
        self,
        trainable_variables: Any,
        non_trainable_variables: Any,
        metrics_variables: Any,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> tuple[Any, tuple[Any, Any, Any]]:
        """`compute_loss` with given values instead of the variables', which are unchanged.

        Args:
            trainable_variables: a value for each of `trainable_variables`.
            non_trainable_variables: a value for each of `non_trainable_variables`.
            metrics_variables: a value for each of `metrics_variables`.
            x: inputs.
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
            training: whether this is a training step.

        Returns:
            The loss, and the three lists of values after its computation.

        Raises:
            ValueError: wrong number of values, or one of another shape.
        """
        return stateless.loss_of_model(
            self,
            trainable_variables,
            non_trainable_variables,
            metrics_variables,
            lambda: self._compute_loss(x, y, y_pred, sample_weight, training),
        )

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Update all metrics with a batch, and return their results."""
        del x
        self._compilation.update_metrics(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def train_step(self, data: Any) -> dict[str, Any]:
        """Train on one batch; a subclass may do it otherwise.

        Args:
            data: x, (x, y) or (x, y, sample_weight).

        Returns:
            The values that the progress bar shows.
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        variables = self.trainable_variables
        optimizer = self.optimizer
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            y_pred = self(x, training=True)
            loss = self._compute_loss(x, y, y_pred, sample_weight, True)
            scaled = loss if optimizer is None else optimizer.scale_loss(loss)
        self._compilation.note_loss(loss, x)
        if variables and optimizer is not None:
            gradients = tape.gradient(scaled, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Test on one batch; subclasses may override it."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self._compute_loss(x, y, y_pred, sample_weight, False)
        self._compilation.note_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """The outputs for one batch; subclasses may override it."""
        x, _, _ = unpack_x_y_sample_weight(data)
        return self(x, training=False)

    @tracebacks.entry
    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Train on one batch.

        Returns:
            The loss, a list of it and the metrics if there are any, or a dict.
        """
        return self._step_functions.on_batch(
            "train", x, y, sample_weight, class_weight, return_dict
        )

    @tracebacks.entry
    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """Test on one batch; see `train_on_batch`."""
        return self._step_functions.on_batch("test", x, y, sample_weight, None, return_dict)

    @tracebacks.entry
    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch, as arrays."""
        return self._step_functions.predict_on_batch(x)

    def make_train_function(self, force: bool = False) -> Callable[[Any], Any]:
        """A function that trains on the next batches of an iterator, as `train_function` too.

        If a subclass overrides it and sets `train_function`, `fit` calls that, with an iterator of
        one batch.

        Args:
            force: whether it is made anew.

        Returns:
            A function from an iterator to the result of `train_step` for the last of
            `steps_per_execution` batches.
        """
        return self._step_functions.over_iterator("train", force)

    def make_test_function(self, force: bool = False) -> Callable[[Any], Any]:
        """See `make_train_function`; calls `test_step`.

        Args:
            force: whether it is made anew.
        """
        return self._step_functions.over_iterator("test", force)

    def make_predict_function(self, force: bool = False) -> Callable[[Any], Any]:
        """A function that returns the outputs for a list of batches; also `predict_function`.

        Args:
            force: whether it is made anew.
        """
        return self._step_functions.over_iterator("predict", force)

    def _overrides(self, *names: str) -> bool:
        """Whether the class overrides one of these methods of Model."""
        return any(getattr(type(self), name) is not getattr(Model, name) for name in names)

    # Used by older `train_step`s.

    def compiled_loss(
        self, y: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Any:
        """The older name of `compute_loss`; warns.

        Args:
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
            regularization_losses: without effect, as in Keras 3: `losses` are added anyway.
        """
        del regularization_losses
        warnings.warn(
            "`model.compiled_loss()` is deprecated: use "
            "`model.compute_loss(x, y, y_pred, sample_weight, training)`",
            stacklevel=2,
        )
        return self.compute_loss(x=None, y=y, y_pred=y_pred, sample_weight=sample_weight)

    @property
    def compiled_metrics(self) -> OlderMetrics:
        """The compiled metrics, with `update_state(y, y_pred)`."""
        return OlderMetrics(self)

    # Loops over batches.

    @tracebacks.entry
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool | str = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
        **kwargs: Unpack[OlderOptions],
    ) -> History:
        """Train the model.

        Args:
            x: inputs: an array, or a list or dict of arrays; or what gives batches (x, y) or
                (x, y, sample_weight): a generator, a dataset, an object with `__getitem__` and
                `__len__`.
            y: truths, if `x` are arrays.
            batch_size: batch size for arrays; 32 if None.
            epochs: number of the epoch to end before.
            verbose: 0 says nothing, 1 shows a bar, 2 a line per epoch; "auto" is 1.
            callbacks: Callbacks.
            validation_split: share of the arrays, the last ones, to test on after each epoch.
            validation_data: (x, y) or (x, y, sample_weight), or what gives batches, to test on.
            shuffle: whether each epoch has an order of its own; arrays only.
            class_weight: class -> weight of its samples.
            sample_weight: factors of the samples.
            initial_epoch: number of the first epoch.
            steps_per_epoch: batches in an epoch; None takes all.
            validation_steps: batches to test on; None takes all.
            validation_batch_size: `batch_size` if None.
            validation_freq: epochs between tests, or a list of the epochs to test after.
            **kwargs: must be empty.

        Returns:
            A History: `history.history` is name -> one number per epoch.

        Raises:
            ValueError: the model is not compiled; arrays that do not go together.
        """
        without_effect_of_older(Model.fit, kwargs)
        return self._model_trainer.fit(
            x=x,
            y=y,
            batch_size=batch_size,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_split=validation_split,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            sample_weight=sample_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_batch_size=validation_batch_size,
            validation_freq=validation_freq,
        )

    @tracebacks.entry
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Unpack[OlderOptions],
    ) -> Any:
        """Loss and metrics over all batches.

        Args:
            x: inputs: arrays, a generator, a dataset; see `fit`.
            y: truths, if `x` are arrays.
            batch_size: batch size for arrays; 32 if None.
            verbose: 0 says nothing, 1 shows a bar, 2 a line; "auto" is 1.
            sample_weight: factors of the samples.
            steps: batches to take; None takes all.
            callbacks: Callbacks.
            return_dict: whether to answer a dict.
            **kwargs: must be empty.

        Returns:
            The loss, a list of it and the metrics if there are any, or a dict.
        """
        without_effect_of_older(Model.evaluate, kwargs)
        return self._model_evaluator.evaluate(
            x, y, batch_size, verbose, sample_weight, steps, callbacks, return_dict
        )

    @tracebacks.entry
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """The outputs for all batches, joined, as arrays.

        Args:
            x: inputs: arrays, a generator, a dataset; see `fit`.
            batch_size: batch size for arrays; 32 if None.
            verbose: 0 says nothing, 1 shows a bar, 2 a line; "auto" is 1.
            steps: batches to take; None takes all.
            callbacks: Callbacks.
        """
        return self._model_evaluator.predict(x, batch_size, verbose, steps, callbacks)

    # Quantization.

    def quantize(  # type: ignore[override]  # Keras' quantize of a model takes other arguments
        self,
        mode: Any = None,
        config: Any = None,
        filters: str | Sequence[str] | Callable[[Any], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        """Quantize the weights of all layers that support it; warns about the others.

        Args:
            mode: "int8" or "int4"; that of `config` if None.
            config: the quantizers used; see `keras.quantizers`.
            filters: the layers: a regular expression that is found in their names, several, or a
                function of a layer; all if None.
            **kwargs: `type_check`: whether subclasses of such layers are left alone.

        Raises:
            ValueError: arguments that contradict each other; other ones.
            NotImplementedError: unknown mode.
        """
        quantizing.quantize_layers(self, mode, config, filters, **kwargs)
        self._step_functions.clear()

    def get_quantization_layer_structure(
        self, mode: str | None = None
    ) -> dict[str, list[Any]] | None:
        """None; a model may override it to return the layers before and in its blocks.

        Args:
            mode: mode of quantization.
        """
        del mode
        return None

    # Saving.

    def save(
        self,
        filepath: str | Path,
        overwrite: bool = True,
        zipped: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Save the whole model: configuration, weights, and training state.

        Args:
            filepath: ends in `.keras` for Keras 3's file, in `.h5` or `.hdf5` for the older
                one; else it is the folder of a SavedModel.
            overwrite: whether an existing file may be replaced.
            zipped: whether a `.keras` file is one archive; False writes its members as the files
                of a folder, whose name has no ending.
            **kwargs: `include_optimizer`; of a SavedModel `save_format`, `signatures`, `options`.

        Raises:
            ValueError: the model is not built, or its configuration cannot be stored; another
                argument.
            FileExistsError: the file is there and must not be replaced.
        """
        model_files.save(self, filepath, overwrite, zipped, kwargs)

    def save_weights(
        self,
        filepath: str | Path,
        overwrite: bool = True,
        max_shard_size: float | None = None,
        **kwargs: Any,
    ) -> None:
        """Write the values of the weights.

        Args:
            filepath: ends in `.weights.h5` for Keras 3's format; without an ending it
                is a TensorFlow checkpoint.
            overwrite: whether an existing file may be replaced.
            max_shard_size: gigabytes of variables in one file: `filepath` ends in `.weights.json`
                and says which of the files beside it has what. None writes one file.
            **kwargs: `objects_to_skip`: layers that are left out.

        Raises:
            ValueError: the model is not built; another ending; another argument.
            FileExistsError: the file is there and must not be replaced.
        """
        weight_files.save_weights(self, filepath, overwrite, max_shard_size, **kwargs)

    def load_weights(self, filepath: str | Path, skip_mismatch: bool = False, **kwargs: Any) -> Any:
        """Load weights from a file: all of them, or none if one does not fit.

        Args:
            filepath: ends in `.weights.h5` or `.weights.json` for what `save_weights` wrote, in
                `.h5` or `.hdf5` for weights or a whole model that Keras 2 wrote, in `.keras` for a
                whole model; without an ending it is a TensorFlow checkpoint.
            skip_mismatch: whether weights that do not fit stay as they are, with a warning.
            **kwargs: `by_name`: of a `.h5` file of Keras 2, whether layers are found by their
                names, and those that only the model or the file has are left out.
                `objects_to_skip`: layers that are left as they are.

        Returns:
            For a checkpoint, a status with `assert_consumed()` and the like; unbuilt layers get
            their values when they are built. None for other files.

        Raises:
            ValueError: weights that do not fit; another argument.
        """
        return weight_files.load_weights(self, filepath, skip_mismatch, **kwargs)

    def export(self, filepath: str | Path, format: str = "tf_saved_model", **kwargs: Any) -> None:
        """Export the model's inference function for serving.

        A SavedModel has it as the signatures `serve` and `serving_default`. Their inputs are named
        after the model's inputs; for a model that is not made from inputs and outputs they are
        `args_0`, `args_0_1` and so on. The results are `output_0` and so on, or a dict's keys.

        Args:
            filepath: a folder, or a file for ONNX.
            format: `tf_saved_model` or `onnx`.
            **kwargs: `input_signature`: a list with the specs of the arguments of a call, in place
                of what the model was built for: see `keras.export.ExportArchive`; `verbose`:
                whether to print the endpoints then; `opset_version`: of ONNX; others: the writer's.

        Raises:
            ValueError: unknown format.
        """
        export_model(self, filepath, format, kwargs)

    def _write(self, path: str, with_optimizer: bool, options: dict[str, Any]) -> None:
        from pinnace import saved_model  # most programs write no folder

        calls.exporting = not with_optimizer
        try:
            saved_model.save(self, path, **options)
        finally:
            calls.exporting = False

    def _trackable_children(self) -> dict[str, Trackable]:
        children = super()._trackable_children()
        if calls.exporting:
            children.pop("optimizer", None)
        return children

    def _children_elsewhere(self) -> dict[str, Trackable]:
        # Keras stores the layers of a functional model under this name.
        others = super()._children_elsewhere()
        layers = self._trackable_children().get("_layers")
        if layers is not None and self._topology is not None:
            others["_operations"] = layers
        return {**others, **self._as_in_keras_2()}

    def _as_in_keras_2(self) -> dict[str, Trackable]:
        """The layers with weights, under their names in Keras 2's checkpoints."""
        if not (self._lists_layers or self._topology is not None):
            return {}
        layers = [layer for layer in self.layers if layer.weights]
        return {f"layer_with_weights-{i}": layer for i, layer in enumerate(layers)}

    def _default_signatures(self) -> dict[str, ConcreteFunction]:
        if calls.exporting:
            return saved_functions.exported_signatures(self)
        return saved_functions.default_signatures(self)

    def _functions_for_saving(self) -> dict[str, Any]:
        return saved_functions.functions_for_saving(self)

    def get_config(self) -> dict[str, Any]:
        """See Layer; for a functional model created from inputs and outputs, its graph."""
        if self._topology is not None and graph_config.is_made_of_tensors(type(self)):
            return graph_config.configuration(self, self._topology)
        return super().get_config()

    def _tells_constructor(self) -> bool:
        return type(self).get_config is Model.get_config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The model with a configuration, with new weights; a functional one from its graph."""
        if "input_layers" not in config:
            return super().from_config(config)
        return graph_config.from_graph(cls, config, custom_objects)

    def __getstate__(self) -> dict[str, Any]:
        # Training history and compiled functions are not copied.
        made = ("history", "train_function", "test_function", "predict_function")
        return {**super().__getstate__(), **dict.fromkeys(made)}

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON."""
        import json

        return json.dumps(registry.serialize_keras_object(self), **kwargs)


def _named_spec(x: KerasTensor) -> Any:
    """The spec of a tensor input, with its name if one was given."""
    if not isinstance(x.spec, TensorSpec):
        return x.spec
    given = x.node is not None and getattr(x.node.layer, "_given_name", None)
    return TensorSpec.of(x.spec.shape, x.dtype, x.name if given else None)


def _open_spec(x: Any) -> Any:
    """The spec of a tensor, with an open batch axis."""
    return with_open_batch(spec_of(x))


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


def _shapes(tensors: list[KerasTensor]) -> Any:
    """The shapes as tuples; for a single tensor, its shape."""
    found = [x.shape for x in tensors]
    return found[0] if len(found) == 1 else found
