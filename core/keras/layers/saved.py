"""TFSMLayer: a layer that calls a function of a SavedModel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.keras.layer import Layer

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.framework.variable import Variable


class TFSMLayer(Layer):
    """Calls a function of a SavedModel, whose variables are the layer's weights.

    Args:
        filepath: the folder.
        call_endpoint: the attribute or signature that is called: `serve` of what `Model.export`
            wrote, `serving_default` of most others.
        call_training_endpoint: the one that is called while training; the same if None.
        trainable: whether training changes its weights.
        name: unique if None.
        dtype: dtype of the layer's policy.

    Shapes:
        x → as the function says.

    Raises:
        ValueError: the SavedModel has no such attribute or signature.
    """

    _untracked = frozenset({"_reloaded_obj", "call_endpoint_fn", "call_training_endpoint_fn"})

    def __init__(
        self,
        filepath: str | Path,
        call_endpoint: str = "serve",
        call_training_endpoint: str | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        from pinnace import saved_model  # most programs have no such layer

        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self.filepath = filepath
        self.call_endpoint = call_endpoint
        self.call_training_endpoint = call_training_endpoint
        self._reloaded_obj = saved_model.load(str(filepath))
        self.call_endpoint_fn = self._endpoint(call_endpoint)
        functions = [self.call_endpoint_fn]
        if call_training_endpoint:
            self.call_training_endpoint_fn = self._endpoint(call_training_endpoint)
            functions.append(self.call_training_endpoint_fn)
        used = [variable for function in functions for variable in _variables_of(function)]
        unique = {id(variable): variable for variable in used}.values()
        self._used_variables = [v for v in unique if v.trainable]
        self._used_variables += [v for v in unique if not v.trainable]
        self.built = True

    def _endpoint(self, name: str) -> Any:
        loaded = self._reloaded_obj
        if hasattr(loaded, name):
            return getattr(loaded, name)
        if name in loaded.signatures:
            return loaded.signatures[name]
        raise ValueError(
            f"TFSMLayer: The endpoint {name!r} is neither an attribute nor a signature of "
            f"{str(self.filepath)!r}\n"
            f"  signatures: {', '.join(sorted(loaded.signatures)) or 'none'}"
        )

    def call(self, inputs: Any, training: bool = False, **kwargs: Any) -> Any:
        """The function's result."""
        if training and self.call_training_endpoint:
            return self.call_training_endpoint_fn(inputs, **kwargs)
        return self.call_endpoint_fn(inputs, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments: the folder by its path, which must continue to exist."""
        return {
            **super().get_config(),
            "filepath": str(self.filepath),
            "call_endpoint": self.call_endpoint,
            "call_training_endpoint": self.call_training_endpoint,
        }

    @classmethod
    def from_config(
        cls,
        config: dict[str, Any],
        custom_objects: dict[str, Any] | None = None,
        safe_mode: bool | None = None,
    ) -> Self:
        """The layer with that configuration.

        Args:
            config: the result of `get_config`.
            custom_objects: not used.
            safe_mode: must be False: the SavedModel that the configuration names is loaded, and
                what its graph does is done when the layer is called.

        Raises:
            ValueError: `safe_mode` is not False.
        """
        del custom_objects
        if safe_mode is not False:
            raise ValueError(
                "TFSMLayer.from_config: safe_mode must be False: it loads the SavedModel "
                f"{config.get('filepath')!r}, whose graph may do anything\n"
                "  Try: TFSMLayer.from_config(config, safe_mode=False), if you trust that folder"
            )
        return cls(**config)


def _variables_of(function: Any) -> list[Variable]:
    """All variables used by a function's traces, or by a concrete function."""
    traces = getattr(function, "concrete_functions", [function])
    return [variable for trace in traces for variable in trace.variables]
