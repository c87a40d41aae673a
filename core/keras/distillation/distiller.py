"""Distiller: a student that learns from truths and from what its teacher gives."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from pinnace.keras import losses, ops, registry, tree
from pinnace.keras.metrics.means import Mean
from pinnace.keras.models.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The key of what a model gives, beside those of layers.
_FINAL = "final_output"


class Distiller(Model):
    """Trains a student; the teacher stays as it is.

    The loss is `student_loss_weight` times that of the student and its truths, and the rest to 1
    times the weighted sum of the distillation losses.

    Args:
        teacher: a trained model; its weights are frozen.
        student: the model to train, of the same inputs and outputs.
        distillation_losses: a DistillationLoss, or a list of them.
        distillation_loss_weights: a factor for each of a list; 1 if None.
        student_loss_weight: between 0 and 1.
        name: of the model.
        **kwargs: see Model.

    Attributes:
        teacher: the teacher.
        student: what was trained, to be used alone.

    Raises:
        ValueError: models that do not go together; weights that are not as many or out of range; no
            distillation loss.
    """

    _untracked = frozenset({"distillation_losses", "distillation_loss_weights", "_looked_into"})

    def __init__(
        self,
        teacher: Model,
        student: Model,
        distillation_losses: Any,
        distillation_loss_weights: Sequence[float] | None = None,
        student_loss_weight: float = 0.5,
        name: str = "distiller",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        _check_models(teacher, student)
        weight = student_loss_weight
        if not isinstance(weight, (int, float)) or not 0 <= weight <= 1:
            raise ValueError(
                f"Distiller: student_loss_weight must be a number between 0.0 and 1.0, got {weight}"
            )
        if distillation_losses is None:
            raise ValueError(
                "Distiller: distillation_losses must not be None\n"
                "  Try: LogitsDistillation() or FeatureDistillation(), or a list of them"
            )
        self.teacher = teacher
        self.student = student
        self.student_loss_weight = weight
        if isinstance(distillation_losses, (list, tuple)):
            self.distillation_losses = list(distillation_losses)
            given = distillation_loss_weights
        else:
            self.distillation_losses, given = [distillation_losses], None
        count = len(self.distillation_losses)
        self.distillation_loss_weights = [1.0] * count if given is None else list(given)
        if len(self.distillation_loss_weights) != count:
            raise ValueError(
                f"Distiller: Number of distillation_loss_weights must be {count}, that of "
                f"distillation_losses, got {len(self.distillation_loss_weights)}"
            )
        for loss in self.distillation_losses:
            loss.validate_model_compatibility(teacher, student)
        self._looked_into = {
            role: _with_layers(model, self._layer_names(role))
            for role, model in (("teacher", teacher), ("student", student))
        }
        teacher.trainable = False
        self.student_loss_tracker = Mean(name="student_loss")
        self.distillation_loss_tracker = Mean(name="distillation_loss")
        self.total_loss_tracker = Mean(name="total_loss")

    def _layer_names(self, role: str) -> list[str]:
        """The layers of the teacher or of the student that a loss is about, each once."""
        names = [getattr(x, f"{role}_layer_name", None) for x in self.distillation_losses]
        return list(dict.fromkeys(name for name in names if name))

    def compile(  # type: ignore[override]  # Keras' signature
        self, optimizer: Any = "adam", loss: Any = None, metrics: Any = None, **kwargs: Any
    ) -> None:
        """Say how to train the student.

        Args:
            optimizer: name or object.
            loss: between the student and the truths: a name, function or Loss, or a structure of
                them like the outputs.
            metrics: list of names, functions or Metrics.
            **kwargs: see `Model.compile`.

        Raises:
            ValueError: no loss; metrics that are no list.
        """
        if loss is None:
            raise ValueError("Distiller.compile: loss must not be None, got None")
        if metrics is not None and not isinstance(metrics, (list, tuple)):
            raise ValueError(
                f"Distiller.compile: metrics must be a list or tuple, got {type(metrics).__name__}"
            )
        self._student_loss = tree.map_structure(losses.get, loss)
        super().compile(optimizer=optimizer, loss=None, metrics=metrics, **kwargs)

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """Nothing, and a warning: the loss of the student stands in no configuration.

        Args:
            config: as `get_compile_config` gives it.
        """
        del config
        warnings.warn(
            "Distiller: `compile()` was not called as part of model loading because the loss of "
            "the student is not in the file\n  Try: compile(...) after loading",
            stacklevel=2,
        )

    def call(self, inputs: Any, training: Any = None, **kwargs: Any) -> Any:
        """What the student gives."""
        return self.student(inputs, training=training, **kwargs)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """The loss of the student and those of distillation, together.

        Args:
            x: inputs.
            y: truths; None leaves the loss of the student out.
            y_pred: what the student gives; computed if None.
            sample_weight: without effect, as in Keras.
            training: whether this is a training step.

        Raises:
            ValueError: a distillation loss that is no scalar; outputs that do not go together.
        """
        del sample_weight
        if y_pred is None:
            y_pred = self(x, training=training)
        share = self.student_loss_weight
        of_student: Any = 0.0
        if share > 0 and y is not None:
            of_student = self._loss_of_student(y, y_pred)
        of_distillation: Any = 0.0
        if share < 1:
            of_distillation = self._loss_of_distillation(x, y_pred)
        total = ops.add(ops.multiply(share, of_student), ops.multiply(1.0 - share, of_distillation))
        self.student_loss_tracker.update_state(of_student)
        self.distillation_loss_tracker.update_state(of_distillation)
        self.total_loss_tracker.update_state(total)
        return total

    def _loss_of_student(self, y: Any, y_pred: Any) -> Any:
        found = tree.flatten(
            tree.map_structure(lambda loss, *pair: loss(*pair), self._student_loss, y, y_pred)
        )
        whole = ops.sum(ops.stack(found)) if len(found) > 1 else found[0]
        return ops.mean(whole) if len(whole.shape) else whole

    def _loss_of_distillation(self, x: Any, y_pred: Any) -> Any:
        teacher, student = self._looked_into["teacher"], self._looked_into["student"]
        theirs = (
            {_FINAL: self.teacher(x, training=False)}
            if teacher is None
            else teacher(x, training=False)
        )
        ours = {_FINAL: y_pred} if student is None else student(x, training=True)
        total: Any = 0.0
        for loss, weight in zip(
            self.distillation_losses, self.distillation_loss_weights, strict=True
        ):
            if getattr(loss, "teacher_layer_name", None) is None:
                pair = theirs[_FINAL], y_pred
            else:
                pair = theirs[loss.teacher_layer_name], ours[loss.student_layer_name or _FINAL]
            loss.validate_outputs(*pair)
            found = loss.compute_loss(*pair)
            if len(getattr(found, "shape", ())):
                raise ValueError(
                    f"Distiller: {type(loss).__name__}.compute_loss must return a scalar, got "
                    f"shape {found.shape}"
                )
            total = ops.add(total, ops.multiply(weight, found))
        return total

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {
            **super().get_config(),
            "teacher": registry.serialize_keras_object(self.teacher),
            "student": registry.serialize_keras_object(self.student),
            "distillation_losses": registry.serialize_keras_object(self.distillation_losses),
            "distillation_loss_weights": self.distillation_loss_weights,
            "student_loss_weight": self.student_loss_weight,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The distiller with that configuration."""
        return cls(**registry.deserialize_keras_object(config, custom_objects))


def _check_models(teacher: Any, student: Any) -> None:
    """Refuse a teacher and a student of other inputs or outputs than each other's.

    Raises:
        ValueError: they are no models, or do not go together.
    """
    for role, model in (("Teacher", teacher), ("Student", student)):
        if not isinstance(model, Model):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"Distiller: {role} must be a keras.Model, got {type(model).__name__}"
            )
    for what in ("inputs", "outputs"):
        theirs, ours = (getattr(model, what, None) for model in (teacher, student))
        if theirs is None or ours is None:
            continue  # of a subclassed model they are not known
        if len(theirs) != len(ours):
            raise ValueError(
                f"Distiller: Teacher and student must have as many {what}, got {len(theirs)} and "
                f"{len(ours)}"
            )
        for their, our in zip(theirs, ours, strict=True):
            if not their.spec.shape.is_compatible_with(our.spec.shape):
                raise ValueError(
                    f"Distiller: Teacher and student {what} must have the same shapes, got "
                    f"{their.spec.shape.text} and {our.spec.shape.text}"
                )
            if their.dtype is not our.dtype:
                raise ValueError(
                    f"Distiller: Teacher and student {what} must have the same dtypes, got "
                    f"{their.dtype.name} and {our.dtype.name}"
                )


def _with_layers(model: Any, names: list[str]) -> Model | None:
    """A model that gives what the layers give, too, by their names; None without layers."""
    if not names:
        return None
    outputs = {_FINAL: model.output, **{name: model.get_layer(name).output for name in names}}
    return Model(model.input, outputs, name=f"{model.name}_multi_feature_extractor")
