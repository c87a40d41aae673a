"""EstimatorSpec: the result of a model function; ModeKeys: its modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.keras.metrics.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.estimator.hooks import SessionRunHook

# The default of omitted arguments. None does not work: `group` and optimizers may return it.
_MISSING: Any = object()


class ModeKeys:
    """The modes in which a model function is called."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


_MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)


@dataclass(frozen=True)
class EstimatorSpec:
    """The result of a model function, for one mode.

    Attributes:
        mode: one of ModeKeys.
        predictions: a tensor, or a dict of them; needed to predict.
        loss: a scalar; needed to train and to evaluate.
        train_op: the op that changes the variables; needed to train. Whatever the model function
            wrote runs in each step, in the order it was written, and this with it.
        eval_metric_ops: name -> Keras metric that was updated, or (value, update) tensors.
        export_outputs: name of a signature -> outputs, see `export`; from `predictions` if None.
        training_chief_hooks: as `training_hooks`.
        training_hooks: hooks while training.
        scaffold: must be None: there are no sessions.
        evaluation_hooks: hooks while evaluating.
        prediction_hooks: hooks while predicting.

    Raises:
        ValueError: an argument that the mode needs is missing; the loss is no scalar.
        TypeError: a metric that is neither a metric nor a pair.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = _MISSING
    eval_metric_ops: Mapping[str, Any] | None = None
    export_outputs: Mapping[str, Any] | None = None
    training_chief_hooks: Sequence[SessionRunHook] = ()
    training_hooks: Sequence[SessionRunHook] = ()
    scaffold: Any = None
    evaluation_hooks: Sequence[SessionRunHook] = ()
    prediction_hooks: Sequence[SessionRunHook] = ()

    def __post_init__(self) -> None:
        who = type(self).__name__
        if self.mode not in _MODES:
            raise ValueError(f"{who}: mode must be one of {', '.join(_MODES)}, got {self.mode!r}")
        if self.scaffold is not None:
            raise ValueError(
                f"{who}: scaffold must be None, got {self.scaffold!r}: there are no sessions"
            )
        needed = {
            ModeKeys.TRAIN: ("loss", "train_op"),
            ModeKeys.EVAL: ("loss",),
            ModeKeys.PREDICT: ("predictions",),
        }[self.mode]
        for name in needed:
            value = getattr(self, name)
            if value is _MISSING or (value is None and name != "train_op"):
                raise ValueError(f"{who}: {name} must be given in mode {self.mode!r}")
        if self.train_op is _MISSING:
            object.__setattr__(self, "train_op", None)
        if self.loss is not None:
            _check_scalar(who, self.loss)
        for name, metric in (self.eval_metric_ops or {}).items():
            if not isinstance(metric, Metric) and not _is_pair(metric):
                raise TypeError(
                    f"{who}: eval_metric_ops[{name!r}] must be a metric or a pair (value, update), "
                    f"got {type(metric).__name__}"
                )
        for name in ("training_hooks", "training_chief_hooks", "evaluation_hooks"):
            object.__setattr__(self, name, tuple(getattr(self, name) or ()))
        object.__setattr__(self, "prediction_hooks", tuple(self.prediction_hooks or ()))

    def hooks(self) -> tuple[SessionRunHook, ...]:
        """The hooks of its mode."""
        if self.mode == ModeKeys.TRAIN:
            return (*self.training_hooks, *self.training_chief_hooks)
        chosen = self.evaluation_hooks if self.mode == ModeKeys.EVAL else self.prediction_hooks
        return tuple(chosen)


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2


def _check_scalar(who: str, loss: Any) -> None:
    if not isinstance(loss, (Tensor, Variable)):
        raise TypeError(f"{who}: loss must be a tensor, got {structure.flatten(loss)[:3]!r}")
    shape = loss.shape
    if shape.rank is not None and shape.num_elements() != 1:
        raise ValueError(f"{who}: loss must be a scalar, got shape {shape.text}")
