"""A model as a function of Spark columns."""

from __future__ import annotations

from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import types

from pinnace.deploy.models.runners import load_runner
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array

_TYPES = {
    "float32": types.FloatType,
    "float64": types.DoubleType,
    "int8": types.ByteType,
    "int16": types.ShortType,
    "int32": types.IntegerType,
    "int64": types.LongType,
    "bool": types.BooleanType,
}


def model_udf(model: str, signature: str | None = None, *, batch_size: int = 1024) -> Any:
    """A function for `select` and `withColumn`: columns to a struct of the signature's outputs.

    The model is loaded once in each of Spark's Python processes, which must reach it under this
    path. Rows of arrays may be flat: they are reshaped to the signature's shape.

    Args:
        model: path of a SavedModel, or of a file that `pinnace run` takes.
        signature: its name; `serving_default` or the only one if None.
        batch_size: rows of a run of the model, at most.

    Returns:
        A function of one column for each input, in the order of the signature.

    Raises:
        InvalidArgumentError: Spark has no type for an output; the sizes of an input are not known.
    """
    runner = load_runner(Path(model), signature)
    outputs = {name: _spark_type(name, spec) for name, spec in runner.outputs.items()}
    shapes = [_row_shape(name, spec) for name, spec in runner.inputs.items()]

    def make_predict() -> Callable[..., dict[str, Array]]:
        loaded = load_runner(Path(model), signature)

        def predict(*columns: Array) -> dict[str, Array]:
            given = zip(loaded.inputs.items(), columns, shapes, strict=True)
            found = loaded.run(
                {
                    name: np.asarray(column).astype(spec.dtype.numpy).reshape(-1, *(shape or ()))
                    for (name, spec), column, shape in given
                }
            )
            return {name: np.asarray(array) for name, array in found.items()}

        # Spark counts the parameters to know how many columns there are.
        columns = [Parameter(f"column{n}", Parameter.POSITIONAL_ONLY) for n in range(len(shapes))]
        vars(predict)["__signature__"] = Signature(columns)
        return predict

    return predict_batch_udf(
        make_predict,
        return_type=types.StructType([types.StructField(n, kind) for n, kind in outputs.items()]),
        batch_size=batch_size,
        input_tensor_shapes=shapes,
    )


def _row_shape(name: str, spec: TensorSpec) -> list[int] | None:
    """The sizes of a row in Spark's form; None for a column of scalars."""
    sizes = list((spec.shape.dims or ())[1:])
    if spec.shape.dims is None or None in sizes:
        raise InvalidArgumentError(
            f"Spark's columns have rows of one shape, and input {name!r} is {spec.text}"
        )
    return [int(size or 0) for size in sizes] or None


def _spark_type(name: str, spec: TensorSpec | None) -> types.DataType:
    element = _TYPES.get("" if spec is None else spec.dtype.name)
    if spec is not None and spec.dtype is dtypes.string:
        element = types.StringType
    rank = 0 if spec is None or spec.shape.dims is None else len(spec.shape.dims) - 1
    if element is None or rank > 1:
        kind = "no tensor" if spec is None else spec.text
        raise InvalidArgumentError(f"Spark has no column for output {name!r}, which is {kind}")
    return types.ArrayType(element()) if rank else element()
