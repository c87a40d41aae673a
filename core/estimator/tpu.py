"""Names of programs for TPUs, which run on the CPU: `use_tpu=False`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.distribute.reductions import divided
from pinnace.estimator.estimator import Estimator
from pinnace.estimator.run_config import RunConfig as _RunConfig
from pinnace.estimator.specs import _MISSING, EstimatorSpec, ModeKeys
from pinnace.framework.no_effect import ignored
from pinnace.framework.places import replica_count
from pinnace.keras import replicas
from pinnace.keras.optimizers.optimizer import Optimizer as KerasOptimizer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pinnace.estimator.hooks import SessionRunHook
    from pinnace.framework.variable import Variable


class InputPipelineConfig:
    """Names for the ways TPU hosts call input functions; without effect here."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


@dataclass(frozen=True)
class TPUConfig:
    """Settings for TPUs; on the CPU there is one shard, and one step at a time.

    Attributes:
        iterations_per_loop: steps between two returns to the host.
        num_shards: how many parts a batch has on TPUs.
        num_cores_per_replica: accepted for TensorFlow's sake, as are the others.
        per_host_input_for_training: see InputPipelineConfig.

    Raises:
        ValueError: a number below 1.
    """

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: float | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1
    experimental_allow_per_host_v2_parallel_get_next: bool = False
    experimental_feed_hook: Any = None

    def __post_init__(self) -> None:
        for name in ("iterations_per_loop", "num_shards", "num_cores_per_replica"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"TPUConfig: {name} must be at least 1, got {value}")


@dataclass(frozen=True)
class RunConfig(_RunConfig):
    """A RunConfig with settings for TPUs.

    Attributes:
        tpu_config: see TPUConfig.
        evaluation_master: accepted for TensorFlow's sake, as are the others.
    """

    tpu_config: TPUConfig | None = None
    evaluation_master: str | None = None
    master: str | None = None
    cluster: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tpu_config is None:
            object.__setattr__(self, "tpu_config", TPUConfig())


@dataclass(frozen=True)
class TPUEstimatorSpec:
    """The result of a TPU model function.

    Attributes:
        mode: one of ModeKeys.
        predictions: see EstimatorSpec, as for the others.
        loss: a scalar.
        train_op: the op that changes the variables.
        eval_metrics: (function, tensors): the function gives `eval_metric_ops`; the tensors are
            its arguments, a list by position or a dict by name.
        export_outputs: signature -> outputs.
        scaffold_fn: must be None.
        host_call: (function, tensors), called in each step.
        training_hooks: hooks while training.
        evaluation_hooks: hooks while evaluating.
        prediction_hooks: hooks while predicting.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = _MISSING
    eval_metrics: tuple[Callable[..., Any], Any] | None = None
    export_outputs: Mapping[str, Any] | None = None
    scaffold_fn: Any = None
    host_call: tuple[Callable[..., Any], Any] | None = None
    training_hooks: Sequence[SessionRunHook] = ()
    evaluation_hooks: Sequence[SessionRunHook] = ()
    prediction_hooks: Sequence[SessionRunHook] = ()

    def as_estimator_spec(self) -> EstimatorSpec:
        """The equivalent EstimatorSpec for a CPU."""
        metrics = None
        if self.eval_metrics is not None and self.mode == ModeKeys.EVAL:
            metrics = _called("eval_metrics", self.eval_metrics)
        if self.host_call is not None:
            _called("host_call", self.host_call)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold_fn,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


def _called(what: str, pair: tuple[Callable[..., Any], Any]) -> Any:
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and callable(pair[0])):
        raise TypeError(f"TPUEstimatorSpec: {what} must be (function, tensors), got {pair!r}")
    function, tensors = pair
    if isinstance(tensors, dict):
        return function(**tensors)
    return function(*(tensors if isinstance(tensors, (tuple, list)) else (tensors,)))


class TPUEstimator(Estimator):
    """An Estimator whose model function may also return a TPUEstimatorSpec.

    The model function and the input function find the size of a batch in
    `params["batch_size"]`.

    Args:
        model_fn: see Estimator.
        model_dir: see Estimator.
        config: a `tpu.RunConfig` or a RunConfig.
        params: see Estimator; no `batch_size`.
        use_tpu: must be False.
        train_batch_size: while training.
        eval_batch_size: while evaluating.
        predict_batch_size: while predicting.
        batch_axis: accepted for TensorFlow's sake, as are the following.
        eval_on_tpu: as above.
        export_to_tpu: as above.
        export_to_cpu: as above.
        warm_start_from: see Estimator.

    Raises:
        NotImplementedError: `use_tpu`.
        ValueError: params with `batch_size`; a size below 1.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike[str] | None = None,
        config: _RunConfig | None = None,
        params: dict[str, Any] | None = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
    ) -> None:
        why = "it runs on the processor"
        ignored("TPUEstimator", why, batch_axis=batch_axis)
        ignored("TPUEstimator", why, True, eval_on_tpu=eval_on_tpu, export_to_tpu=export_to_tpu)
        ignored("TPUEstimator", why, True, export_to_cpu=export_to_cpu)
        if use_tpu:
            raise NotImplementedError(
                "TPUEstimator: there are no TPUs here\n  Try: use_tpu=False, which runs the same "
                "program on the processor"
            )
        if "batch_size" in (params or {}):
            raise ValueError(
                "TPUEstimator: params must not hold batch_size, which is given by train_batch_size "
                "and the like"
            )
        sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        for size in sizes.values():
            if size is not None and size < 1:
                raise ValueError(f"TPUEstimator: batch sizes must be at least 1, got {size}")
        # Model functions for TPUs always take params, which contain the batch size.
        super().__init__(model_fn, model_dir, config or RunConfig(), params or {}, warm_start_from)
        self._batch_sizes = sizes

    def _known(self, mode: str) -> dict[str, Any]:
        known = super()._known(mode)
        size = self._batch_sizes[mode]
        if size is not None:
            known["params"]["batch_size"] = size
        return known


class CrossShardOptimizer:
    """Applies the mean of each gradient over all shards.

    The shards are the replicas of a strategy, in one process or in several. Outside of all
    strategies the processor is one shard, whose gradients are the mean.

    Args:
        opt: any optimizer with `apply_gradients`.
        reduction: "weighted_mean", or "weighted_sum" for the sum over the shards.
        name: accepted for TensorFlow's sake.
        group_assignment: must be None: groups are of several shards.

    Raises:
        ValueError: unknown reduction, groups.
    """

    def __init__(
        self,
        opt: Any,
        reduction: str = "weighted_mean",
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in {"weighted_mean", "weighted_sum", "sum_over_batch_size", "sum"}:
            raise ValueError(
                "CrossShardOptimizer: reduction must be weighted_mean or weighted_sum, got "
                f"{reduction!r}"
            )
        if group_assignment is not None:
            raise ValueError("CrossShardOptimizer: group_assignment must be None: one shard")
        del name
        self._opt = opt
        self._adds = reduction in {"weighted_sum", "sum"}

    def minimize(self, *args: Any, **kwargs: Any) -> Any:
        """See the wrapped optimizer's `minimize`."""
        return self._opt.minimize(*args, **kwargs)

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """See the wrapped optimizer's `compute_gradients`."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Any:
        """Apply the gradients of all shards by the wrapped optimizer."""
        if replicas.in_several():
            grads_and_vars = self._over_shards(list(grads_and_vars))
        if global_step is None:
            return self._opt.apply_gradients(grads_and_vars, name=name)
        return self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _over_shards(self, pairs: list[tuple[Any, Variable]]) -> list[tuple[Any, Variable]]:
        pairs = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        gradients = [gradient for gradient, _ in pairs]
        if not isinstance(self._opt, KerasOptimizer):
            found = replicas.summed(gradients) if self._adds else replicas.averaged(gradients)
        elif self._adds:
            found = gradients  # it adds up what the replicas give it
        else:
            found = [divided(one, replica_count()) for one in gradients]
        return [(gradient, variable) for gradient, (_, variable) in zip(found, pairs, strict=True)]

    def __getattr__(self, name: str) -> Any:
        if name == "_opt":
            raise AttributeError(name)
        return getattr(self._opt, name)
