"""Distillation losses: how far the outputs of a student are from those of its teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.keras import losses, ops, tree

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.models.model import Model


class DistillationLoss:
    """How far the outputs of a student are from those of its teacher: subclasses say it."""

    def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **kwargs: Any) -> Any:
        """The loss, a scalar.

        Args:
            teacher_outputs: a tensor, or a structure of them.
            student_outputs: likewise.
            **kwargs: of the subclass.
        """
        raise NotImplementedError(f"{type(self).__name__} must define compute_loss")

    def validate_outputs(self, teacher_outputs: Any, student_outputs: Any) -> None:
        """Refuse outputs that do not go together.

        Args:
            teacher_outputs: a tensor, or a structure of them.
            student_outputs: likewise.

        Raises:
            ValueError: they are nested differently.
        """
        tree.assert_same_structure(teacher_outputs, student_outputs)

    def validate_model_compatibility(self, teacher: Model, student: Model) -> None:
        """Refuse models that do not go together: all do, unless a subclass says otherwise.

        Args:
            teacher: the model to learn from.
            student: the model that learns.
        """


class _LossOfOutputs(DistillationLoss):
    """A loss function, or a structure of them, one for each output."""

    loss: Any

    def _set_loss(self, loss: Any) -> None:
        self.loss = tree.map_structure(losses.get, loss)
        if all(one is None for one in tree.flatten(self.loss)):
            raise ValueError(
                f"{type(self).__name__}: loss must contain at least one non-`None` value, got "
                f"{loss!r}"
            )

    def _sum_of(self, compute: Any, teacher: Any, student: Any) -> Tensor:
        """The sum of what is computed of each loss and the outputs in its place."""

        def one(loss: Any, x: Any, y: Any) -> Any:
            return 0.0 if loss is None else compute(loss, x, y)

        found = tree.flatten(tree.map_structure(one, self.loss, teacher, student))
        return ops.sum(ops.stack(found))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The one with that configuration."""
        loss = config["loss"]
        is_one = isinstance(loss, (str, dict))
        return cls(**{**config, "loss": losses.deserialize(loss) if is_one else _several(loss)})


def _several(loss: Any) -> Any:
    return [one if one is None else losses.deserialize(one) for one in loss]


class LogitsDistillation(_LossOfOutputs):
    """A loss between the final outputs, both divided by a temperature.

    Args:
        temperature: above 1, the outputs of a teacher tell more of what it takes for unlikely.
        loss: a name, function or Loss, or one for each output, None for outputs that do not count.
            `KLDivergence()` is given the softmax of both, and taken times temperature².

    Raises:
        ValueError: a temperature that is not above 0; no loss.
    """

    def __init__(self, temperature: float = 3.0, loss: Any = "kl_divergence") -> None:
        self._set_loss(loss)
        if not isinstance(temperature, (int, float)) or temperature <= 0:
            raise ValueError(
                f"LogitsDistillation: temperature must be a positive number, got {temperature!r}"
            )
        self.temperature = temperature

    def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **kwargs: Any) -> Tensor:
        """The sum of the losses of the outputs.

        Args:
            teacher_outputs: logits, a structure like that of the losses.
            student_outputs: likewise.
            **kwargs: without effect.
        """
        del kwargs

        def divided(x: Any) -> Any:
            return ops.divide(x, self.temperature)

        teacher, student = (
            tree.map_structure(divided, x) for x in (teacher_outputs, student_outputs)
        )
        return self._sum_of(self._mean_of, teacher, student)

    def _mean_of(self, loss: Any, teacher: Any, student: Any) -> Tensor:
        # Keras: of the class alone, not of the function `kl_divergence`, which the name means.
        if not isinstance(loss, losses.KLDivergence):
            return ops.mean(loss(teacher, student))
        found = loss(ops.softmax(teacher, axis=-1), ops.softmax(student, axis=-1))
        return ops.mean(found) * self.temperature**2

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {"temperature": self.temperature, "loss": losses.serialize(self.loss)}


class FeatureDistillation(_LossOfOutputs):
    """A loss between what a layer of the teacher gives and what one of the student does.

    Args:
        loss: a name, function or Loss, or one for each output, None for outputs that do not count.
        teacher_layer_name: the final outputs if None.
        student_layer_name: the final outputs if None.

    Raises:
        ValueError: no loss.
    """

    def __init__(
        self,
        loss: Any = "mse",
        teacher_layer_name: str | None = None,
        student_layer_name: str | None = None,
    ) -> None:
        self.teacher_layer_name = teacher_layer_name
        self.student_layer_name = student_layer_name
        self._set_loss(loss)

    def validate_model_compatibility(self, teacher: Model, student: Model) -> None:
        """Refuse models that have no such layers, or whose layers cannot be looked into.

        Args:
            teacher: the model to learn from.
            student: the model that learns.

        Raises:
            ValueError: a model that is neither Functional nor Sequential, if layers are named; no
                layer of a name.
        """
        named = {
            "teacher": (teacher, self.teacher_layer_name),
            "student": (student, self.student_layer_name),
        }
        if any(name is not None for _, name in named.values()):
            closed = [role for role, (model, _) in named.items() if not hasattr(model, "inputs")]
            if closed:
                raise ValueError(
                    "FeatureDistillation with specific layer names requires Functional or "
                    f"Sequential models, and {' and '.join(closed)} is subclassed\n"
                    "  Try: no names of layers, for the final outputs, or LogitsDistillation"
                )
        for role, (model, name) in named.items():
            if name is not None:
                try:
                    model.get_layer(name=name)
                except ValueError as error:
                    raise ValueError(f"In {role} model: {error}") from error

    def validate_outputs(self, teacher_outputs: Any, student_outputs: Any) -> None:
        """Refuse outputs that do not go together, or not with the losses.

        Args:
            teacher_outputs: a tensor, or a structure of them.
            student_outputs: likewise.

        Raises:
            ValueError: they are nested differently.
        """
        super().validate_outputs(teacher_outputs, student_outputs)
        try:
            tree.assert_same_structure(self.loss, teacher_outputs)
        except ValueError as error:
            raise ValueError(f"FeatureDistillation: Loss structure mismatch: {error}") from error

    def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **kwargs: Any) -> Tensor:
        """The sum of the losses of the outputs.

        Args:
            teacher_outputs: what the layer gives, a structure like that of the losses.
            student_outputs: likewise.
            **kwargs: without effect.
        """
        del kwargs
        return self._sum_of(
            lambda loss, x, y: ops.mean(loss(x, y)), teacher_outputs, student_outputs
        )

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {
            "loss": losses.serialize(self.loss),
            "teacher_layer_name": self.teacher_layer_name,
            "student_layer_name": self.student_layer_name,
        }
