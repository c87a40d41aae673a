"""Building: runs a model function once on symbolic tensors, and makes steps of it."""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pinnace.autodiff.tape import GradientTape
from pinnace.estimator.export_outputs import signature_outputs
from pinnace.estimator.global_step import global_step_is, new_global_step
from pinnace.estimator.inputs import accepted
from pinnace.estimator.named_variables import NamedVariables
from pinnace.estimator.specs import EstimatorSpec, ModeKeys
from pinnace.framework import structure
from pinnace.framework.context import variables_collected
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor
from pinnace.framework.variable import Variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.tracing import trace
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder
from pinnace.keras.metrics.metric import Metric
from pinnace.keras.names import names_anew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor

# The tape from which an optimizer computes gradients if it is given only a loss.
_tape: ContextVar[GradientTape | None] = ContextVar("tape of the model function", default=None)


def tape_of_model() -> GradientTape | None:
    """The tape active while a model function is built; None otherwise."""
    return _tape.get()


class BuiltModel:
    """A model function's graph for one mode, with the variables it made.

    Args:
        model_fn: features, labels, and any of mode, params, config → EstimatorSpec.
        features: specs.
        labels: specs or None.
        known: mode, params, config.
        exported: whether a step gives the signatures' outputs.

    Attributes:
        spec: the model function's result; its tensors are symbolic.
        variables: the variables of a checkpoint, the global step among them.
        global_step: steps so far.

    Raises:
        TypeError: the model function answered something else.
        ValueError: the function takes no labels, but there are some.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        features: Any,
        labels: Any,
        known: dict[str, Any],
        exported: bool = False,
    ) -> None:
        self.global_step = new_global_step()
        self.spec: EstimatorSpec
        self._exported = exported

        def run(features: Any, labels: Any) -> dict[str, Any]:
            self.spec = _called(model_fn, features, labels, known)
            return self._results()

        tape = GradientTape(persistent=True)
        token = _tape.set(tape)
        try:
            with global_step_is(self.global_step), names_anew(), variables_collected() as created:
                self._concrete, _ = trace(
                    lambda *pair: _taped(tape, run, pair), (features, labels), {}, "model_fn"
                )
        finally:
            _tape.reset(token)
        # Held here, since graphs hold variables weakly and the model may be gone.
        self._all = created
        passing = {id(v) for metric in self.metrics.values() for v in metric.variables}
        kept = [variable for variable in created if id(variable) not in passing]
        self.variables = NamedVariables([self.global_step, *kept])
        self._fetching: dict[tuple[int, ...], ConcreteFunction] = {}

    def _results(self) -> dict[str, Any]:
        """The outputs of a step: loss, predictions, updated metric values."""
        spec = self.spec
        found: dict[str, Any] = {}
        if spec.loss is not None:
            found["loss"] = spec.loss
        if self._exported:
            return dict(signature_outputs(spec))
        if spec.mode == ModeKeys.PREDICT:
            found["predictions"] = spec.predictions
        pairs = {
            name: pair[1]
            for name, pair in (spec.eval_metric_ops or {}).items()
            if not isinstance(pair, Metric)
        }
        if pairs:
            found["updates"] = pairs
        return found

    @property
    def metrics(self) -> dict[str, Metric]:
        """The Keras metrics among `eval_metric_ops`."""
        given = self.spec.eval_metric_ops or {}
        return {name: metric for name, metric in given.items() if isinstance(metric, Metric)}

    def run(self, features: Any, labels: Any) -> dict[str, Any]:
        """The model function's outputs for one batch; may be called while tracing."""
        found: dict[str, Any] = self._concrete.call_flat(_flat(features, labels))
        return found

    def step(self, features: Any, labels: Any, fetches: Any = None) -> tuple[dict[str, Any], Any]:
        """Run the graph on one batch.

        Args:
            features: tensors.
            labels: tensors or None.
            fetches: symbolic tensors of the model function and variables, in any structure.

        Returns:
            {"loss": …, "predictions": …, "updates": …}, and the fetches' values as arrays.
        """
        wanted = structure.flatten(fetches)
        symbols = [leaf for leaf in wanted if isinstance(leaf, SymbolicTensor)]
        values: list[Tensor] = []
        if symbols:
            results, values = self._also(symbols).call_flat(_flat(features, labels))
        else:
            results = self.run(features, labels)
        found = iter(values)
        leaves = [
            next(found).numpy() if isinstance(leaf, SymbolicTensor) else _value(leaf)
            for leaf in wanted
        ]
        return results, structure.pack_sequence_as(fetches, leaves)

    def _also(self, symbols: Sequence[SymbolicTensor]) -> ConcreteFunction:
        """A copy of the graph with additional outputs."""
        key = tuple(id(symbol) for symbol in symbols)
        made = self._fetching.get(key)
        if made is None:
            made = self._fetching[key] = with_outputs(self._concrete, symbols)
        return made


def with_outputs(concrete: ConcreteFunction, symbols: Sequence[SymbolicTensor]) -> ConcreteFunction:
    """A function that returns (results, [values of these tensors of its graph]).

    Raises:
        ValueError: a tensor of another graph.
    """
    source = concrete.graph
    foreign = [symbol for symbol in symbols if symbol.graph is not source]
    if foreign:
        raise ValueError(
            f"a hook fetched {foreign[0]!r}, which the model function did not make\n"
            "  Try: tensors that the model function made in this call, or variables"
        )
    copy = Copy(GraphBuilder(f"{source.name}_fetching"))
    copy.inputs(source)
    for node in source.nodes:
        if node not in copy.nodes:
            copy.node(node)
    copy.outputs(source)
    copy.target.set_outputs(
        [*copy.target.outputs, *(copy.values[symbol.value] for symbol in symbols)],
        [*source.output_names, *(f"fetched_{index}" for index in range(len(symbols)))],
    )
    specs = [TensorSpec.of(symbol.shape, symbol.dtype) for symbol in symbols]
    return ConcreteFunction(
        copy.target.finish(),
        concrete.captured,
        concrete.structured_input_signature,
        (concrete.structured_outputs, specs),
        concrete.variables,
    )


def _flat(features: Any, labels: Any) -> list[Tensor]:
    leaves = structure.flatten((features, labels))
    return [convert_to_tensor(leaf) for leaf in leaves if leaf is not None]


def _taped(tape: GradientTape, run: Callable[..., Any], pair: tuple[Any, ...]) -> Any:
    with tape:
        return run(*pair)


def _called(
    model_fn: Callable[..., Any], features: Any, labels: Any, known: dict[str, Any]
) -> EstimatorSpec:
    named = accepted(model_fn, {"labels": labels, **known})
    if labels is not None and "labels" not in named:
        raise ValueError("model_fn takes no labels, but input_fn gives some")
    spec = model_fn(features=features, **named)
    if not isinstance(spec, EstimatorSpec):
        convert = getattr(spec, "as_estimator_spec", None)
        if convert is None:
            raise TypeError(f"model_fn must return an EstimatorSpec, got {type(spec).__name__}")
        spec = convert()
    if spec.mode != known["mode"]:
        raise ValueError(
            f"model_fn was called for mode {known['mode']!r}, and answered for {spec.mode!r}"
        )
    return spec  # type: ignore[no-any-return]  # as_estimator_spec gives one


def check_model_fn(model_fn: Any, has_params: bool) -> None:
    """Raise unless an estimator can call it.

    Raises:
        TypeError: `model_fn` is no function.
        ValueError: `model_fn` has no argument `features`, or none for the given params.
    """
    if not callable(model_fn):
        raise TypeError(f"Estimator: model_fn must be a function, got {type(model_fn).__name__}")
    parameters = inspect.signature(model_fn).parameters
    if "features" not in parameters:
        raise ValueError(
            f"Estimator: model_fn must take features, takes {', '.join(parameters) or 'nothing'}"
        )
    if has_params and "params" not in parameters:
        raise ValueError("Estimator: model_fn takes no params, but some are given")


def _value(leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        return leaf.numpy()
    if leaf is None:
        return None
    raise TypeError(f"a hook must fetch tensors of the model function or variables, got {leaf!r}")
