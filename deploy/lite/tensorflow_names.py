"""`tf.lite`: TFLiteConverter with its usual constructors, and the Interpreter if installed."""

import enum
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from pinnace.deploy.lite.flow.exporting import export
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.extras import install_command
from pinnace.framework.tensor import Array
from pinnace.saved_model import load


class Optimize(enum.Enum):
    """The optimizations to ask for; each of them quantises weights."""

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"
    EXPERIMENTAL_SPARSITY = "EXPERIMENTAL_SPARSITY"


class OpsSet(enum.Enum):
    """The operators that a file may have."""

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"
    EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8 = (
        "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
    )
    EXPERIMENTAL_STABLEHLO_OPS = "EXPERIMENTAL_STABLEHLO_OPS"


_SIXTEEN = OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
# Operator sets that leave nothing in float32.
_ALL_WHOLE = ({OpsSet.TFLITE_BUILTINS_INT8}, {_SIXTEEN})


class TargetSpec:
    """The requirements of the target device.

    Args:
        supported_ops: the operator sets that it has; None for the built-in ones.
        supported_types: element types of weights: float16, int8.
        experimental_select_user_tf_ops: stored without effect.
        experimental_supported_backends: stored without effect.
    """

    def __init__(
        self,
        supported_ops: Iterable[OpsSet] | None = None,
        supported_types: Iterable[Any] | None = None,
        experimental_select_user_tf_ops: Iterable[str] | None = None,
        experimental_supported_backends: Iterable[str] | None = None,
    ) -> None:
        self.supported_ops = set(supported_ops or {OpsSet.TFLITE_BUILTINS})
        self.supported_types = set(supported_types or ())
        self.experimental_select_user_tf_ops = set(experimental_select_user_tf_ops or ())
        self.experimental_supported_backends = experimental_supported_backends


class RepresentativeDataset:
    """Examples for calibration.

    Args:
        input_gen: a function that yields inputs: a list in the signature's order, or a dict.
    """

    def __init__(self, input_gen: Callable[[], Iterable[Any]]) -> None:
        self.input_gen = input_gen


class TFLiteConverter:
    """Converts a model to the bytes of a .tflite file, without TensorFlow.

    Args:
        funcs: one ConcreteFunction.
        trackable_obj: ignored; the function holds its variables.

    Use `from_saved_model`, `from_keras_model` or `from_concrete_functions`. If ai-edge-litert is
    installed, the file is run and compared with the model before it is returned.

    Attributes:
        optimizations: a list of `Optimize`; any of them makes weights int8, or float16 if
            `target_spec.supported_types` has that.
        representative_dataset: examples; with them activations are quantised to 8 bits, or to 16
            bits if `target_spec.supported_ops` has the operator set for it.
        target_spec: element types and operators; with `OpsSet.SELECT_TF_OPS` ops without a built-in
            operator remain TensorFlow ops.
        inference_input_type: the dtype of inputs, with examples: float32, int8 or uint8; for 16
            bits int16.
        inference_output_type: the dtype of outputs, from the same choices.
        allow_custom_ops: must be False, as custom operators are not supported.
        sample: inputs by name to compare on; None draws random ones.
    """

    def __init__(self, funcs: Sequence[Any], trackable_obj: Any = None) -> None:
        del trackable_obj
        if len(funcs) != 1:
            raise InvalidArgumentError(
                f"TFLiteConverter: takes one function, got {len(funcs)}\n"
                "  Try: tf.saved_model.save with signatures, and from_saved_model"
            )
        self._model: object = funcs[0]
        self._signatures = ["serving_default"]
        self._tags: list[str] | None = None
        self.optimizations: list[Optimize] = []
        self.representative_dataset: Any = None
        self.target_spec = TargetSpec()
        self.inference_input_type: Any = dtypes.float32
        self.inference_output_type: Any = dtypes.float32
        self.allow_custom_ops = False
        self.exclude_conversion_metadata = False
        self.experimental_new_converter = True
        self.experimental_new_quantizer = True
        self.sample: Mapping[str, Any] | None = None

    @classmethod
    def from_saved_model(
        cls,
        saved_model_dir: Any,
        signature_keys: Sequence[str] | None = None,
        tags: Iterable[str] | None = None,
    ) -> Self:
        """A converter for a SavedModel.

        Args:
            saved_model_dir: the folder.
            signature_keys: the signatures to convert; None for all.
            tags: the tags of the graph; None takes the one for serving.

        Raises:
            NotFoundError: there is no SavedModel.
        """
        given = None if tags is None else list(tags)
        keys = list(signature_keys or ())
        if not keys:
            keys = list(load(saved_model_dir, given).signatures)
        converter = cls([saved_model_dir])
        converter._signatures, converter._tags = keys, given
        return converter

    @classmethod
    def from_keras_model(cls, model: Any) -> Self:
        """A converter for a Keras model.

        Args:
            model: the model, built or called once.
        """
        return cls([model])

    @classmethod
    def from_concrete_functions(cls, funcs: Sequence[Any], trackable_obj: Any = None) -> Self:
        """A converter for a function.

        Args:
            funcs: one ConcreteFunction.
            trackable_obj: ignored; the function holds its variables.

        Raises:
            InvalidArgumentError: `funcs` does not have exactly one function.
        """
        return cls(funcs, trackable_obj)

    def convert(self) -> bytes:
        """Convert the model, and return the bytes of the file.

        Raises:
            UnimplementedError: the model has ops without an operator in LiteRT.
            InvalidArgumentError: options contradict each other.
            InternalError: the file's results differ from the model's.
        """
        spec = self.target_spec
        wanted = {as_dtype(kind) for kind in spec.supported_types}
        kernels = set(spec.supported_ops)
        for one in kernels:
            if one.name.startswith("EXPERIMENTAL") and one is not _SIXTEEN:
                raise UnimplementedError(f"TFLiteConverter: {one.name} is not supported")
        if self.allow_custom_ops:
            raise UnimplementedError(
                "TFLiteConverter: custom operators are not supported\n"
                "  Try: target_spec.supported_ops with SELECT_TF_OPS"
            )
        is_smaller = bool(self.optimizations)
        is_half = is_smaller and dtypes.float16 in wanted
        examples = None
        if is_smaller and not is_half and self.representative_dataset is not None:
            examples = self._examples()
        is_wide = _SIXTEEN in kernels
        if is_wide and examples is None:
            raise InvalidArgumentError(
                f"TFLiteConverter: {_SIXTEEN.name} needs examples for calibration\n"
                "  Try: optimizations = [tf.lite.Optimize.DEFAULT], and representative_dataset"
            )
        is_known = importlib.util.find_spec("ai_edge_litert") is not None
        found = export(
            self._model,
            signature=self._signatures if len(self._signatures) > 1 else self._signatures[0],
            verify=is_known,
            sample=self.sample,
            float16=is_half,
            int8=is_smaller and not is_half and examples is None,
            int8_static=None if is_wide else examples,
            int16_static=examples if is_wide else None,
            input_type=_type_name(self.inference_input_type),
            output_type=_type_name(self.inference_output_type),
            allow_flex=OpsSet.SELECT_TF_OPS in kernels,
            tags=self._tags,
        )
        if found.precision is not None and kernels in _ALL_WHOLE:
            stayed = found.precision.stayed
            if stayed:
                named = "; ".join(f"{kind}: {reason}" for kind, (reason, _) in stayed.items())
                raise UnimplementedError(
                    f"TFLiteConverter: some operators cannot be computed in {16 if is_wide else 8} "
                    f"bits: {named}\n"
                    "  Try: target_spec.supported_ops with TFLITE_BUILTINS as well"
                )
        if found.content is None:
            raise InvalidArgumentError("TFLiteConverter: the export returned no file")
        return found.content

    def _examples(self) -> dict[str, Array]:
        """The examples by input, concatenated."""
        given = self.representative_dataset
        make = given.input_gen if isinstance(given, RepresentativeDataset) else given
        names = list(export(self._model, signature=self._signatures[0], verify=False).inputs)
        rows: dict[str, list[Array]] = {name: [] for name in names}
        for one in make():
            named = one if isinstance(one, Mapping) else dict(zip(names, one, strict=True))
            for name, value in named.items():
                if name not in rows:
                    raise InvalidArgumentError(
                        f"TFLiteConverter: representative_dataset yields {name!r}; the inputs are: "
                        f"{', '.join(names)}"
                    )
                rows[name].append(np.asarray(value))
        if not all(rows.values()):
            raise InvalidArgumentError("TFLiteConverter: representative_dataset yields no examples")
        return {
            name: np.stack(arrays)
            if len({x.shape for x in arrays}) == 1
            else np.concatenate(arrays)
            for name, arrays in rows.items()
        }


def _type_name(kind: Any) -> str | None:
    found: DType = as_dtype(kind)
    return None if found is dtypes.float32 else found.name


class Interpreter:
    """LiteRT's own interpreter, from the package ai-edge-litert.

    Args:
        model_path: the file.
        model_content: its bytes, instead of a path.
        experimental_delegates: the results of that package's `load_delegate`.
        num_threads: the threads of a run; None lets LiteRT choose.
        options: other arguments of `ai_edge_litert.interpreter.Interpreter`.

    Raises:
        ModuleNotFoundError: ai-edge-litert is not installed.
    """

    def __new__(
        cls,
        model_path: Any = None,
        model_content: bytes | None = None,
        experimental_delegates: Any = None,
        num_threads: int | None = None,
        **options: Any,
    ) -> Any:
        """Create the package's interpreter, unchanged."""
        try:
            litert = importlib.import_module("ai_edge_litert.interpreter")
        except ImportError as error:
            raise ModuleNotFoundError(
                "tf.lite.Interpreter needs the package ai-edge-litert\n"
                f"  Try: {install_command('lite')}",
                name="ai_edge_litert",
            ) from error
        return litert.Interpreter(
            model_path=None if model_path is None else str(model_path),
            model_content=model_content,
            experimental_delegates=experimental_delegates,
            num_threads=num_threads,
            **options,
        )
