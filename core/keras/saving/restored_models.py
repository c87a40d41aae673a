"""RestoredModel: a SavedModel with the methods of a Keras model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pinnace import saved_model
from pinnace.framework import structure
from pinnace.framework.trackable import walk_variables
from pinnace.keras.models.model import Model
from pinnace.keras.saving import restored_inputs

if TYPE_CHECKING:
    from pinnace.framework.variable import Variable

_SERVED = "serving_default"


class RestoredModel(Model):
    """The functions of a SavedModel with `predict`, and with `evaluate` and `fit` after `compile`.

    It has no layers or configuration. Other attributes of the loaded object (`signatures`,
    functions, variables) are available. Inputs are cast to the dtypes for which the functions were
    saved, as Keras does for a model.

    Args:
        restored: the result of `saved_model.load`.
        path: path of the folder, for messages.
    """

    def __init__(self, restored: Any, path: str) -> None:
        super().__init__(name="restored_model")
        self.restored = restored
        self._path = path
        self.built = True

    def __getattr__(self, name: str) -> Any:
        restored = vars(self).get("restored")
        if restored is None or name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(restored, name)
        except AttributeError:
            kind = type(self).__name__
            raise AttributeError(
                f"{kind} of {vars(self).get('_path')!r} has no {name!r}: a SavedModel holds "
                "functions and variables, neither layers nor a configuration\n"
                "  Try: save the model as a .keras file"
            ) from None

    def call(self, inputs: Any, training: bool = False) -> Any:
        """The result of the file's `__call__`, or else of its `serving_default`."""
        if callable(self.restored):
            return self._by_call(inputs, training)
        signature = getattr(self.restored, "signatures", {}).get(_SERVED)
        if signature is None:
            self._refuse()
        outputs = _called(
            signature, inputs if isinstance(inputs, dict) else _named(signature, inputs)
        )
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def _by_call(self, inputs: Any, training: bool) -> Any:
        function = self.restored._trackable_children().get("__call__", self.restored)
        wanted = [args[0] for args, _ in getattr(function, "saved_arguments", ()) if args]
        inputs = restored_inputs.cast_to_first(inputs, wanted)
        try:
            return self.restored(inputs, training=training)
        except (TypeError, ValueError):
            # A module's __call__ has no `training`; its error is the helpful one.
            return self.restored(inputs)

    def _refuse(self) -> NoReturn:
        names = [name for name, x in self.restored._trackable_children().items() if callable(x)]
        raise ValueError(
            f"load_model: {self._path!r} has neither a __call__ nor a signature {_SERVED!r}; its "
            f"functions are {', '.join(names) or 'none'}\n"
            "  Try: saved_model.load, and call one of its functions or signatures"
        )

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """The file's variables, without those of its optimizer."""
        found = walk_variables(self.restored)
        return [x for x, path in found if path[:1] != ("optimizer",)]  # type: ignore[misc]  # they are

    @property
    def weights(self) -> list[Variable]:
        """The file's weights."""
        return self.variables

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """The file's trainable variables."""
        return [variable for variable in self.variables if variable.trainable]

    def _write(self, path: str, with_optimizer: bool, options: dict[str, Any]) -> None:
        del with_optimizer  # the file's functions do not train by it
        signatures = getattr(self.restored, "signatures", None)
        saved_model.save(
            self.restored, path, **{"signatures": dict(signatures or {}) or None, **options}
        )

    def get_config(self) -> dict[str, Any]:
        """Raises an error: a SavedModel has no configuration."""
        raise NotImplementedError(
            f"load_model: {self._path!r} is a SavedModel, which holds no configuration\n"
            "  Try: save it as a folder again, or save the original as a .keras file"
        )


def _named(signature: Any, inputs: Any) -> dict[str, Any]:
    """The signature's inputs by position: a single one, or several in the order of their names."""
    names = sorted(signature.structured_input_signature[1])
    values = structure.flatten(inputs)
    if len(values) != len(names):
        raise ValueError(
            f"load_model: the signature {_SERVED!r} takes {', '.join(names)}, got {len(values)} "
            "inputs\n  Try: a dict by name"
        )
    return dict(zip(names, values, strict=True))


def _called(signature: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The result of the signature for inputs by name, cast to its dtypes."""
    specs = signature.structured_input_signature[1]
    found = {key: restored_inputs.cast_to(x, specs.get(key)) for key, x in inputs.items()}
    return signature(**found)  # type: ignore[no-any-return]
