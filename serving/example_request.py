"""A request that works as pasted, made from a signature."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.servable import Runnable, Servable

_MAX_ELEMENTS = 256
_DEFAULT_SIGNATURE = "serving_default"


def example_command(servable: Servable, url: str) -> str | None:
    """A shell command that asks a version for a prediction.

    Args:
        servable: to ask.
        url: of the server, without a slash at its end.

    Returns:
        A curl line; for large inputs one that python3 feeds; None if JSON cannot hold the inputs.
    """
    name = _signature_name(servable)
    if name is None:
        return None
    signature = servable.signatures[name]
    if any(_zero(spec.dtype) is None for spec in signature.inputs.values()):
        return None
    address = shlex.quote(f"{url}/v1/models/{servable.name}:predict")
    if sum(_count(spec) for spec in signature.inputs.values()) <= _MAX_ELEMENTS:
        body = json.dumps(json.loads(_body(name, signature)), separators=(",", ":"))
        return f"curl -s {address} -d {shlex.quote(body)}"
    program = f"import json; print(json.dumps({_body(name, signature, 'python')}))"
    return f"python3 -c {shlex.quote(program)} | curl -s {address} -d @-"


def _signature_name(servable: Servable) -> str | None:
    if _DEFAULT_SIGNATURE in servable.signatures:
        return _DEFAULT_SIGNATURE
    return min((name for name in servable.signatures if not name.startswith("_")), default=None)


def _body(name: str, signature: Runnable, language: str = "json") -> str:
    """The body of a request for zeros: JSON, or a Python expression, which stays short."""
    inputs = signature.inputs
    parts = [] if name == _DEFAULT_SIGNATURE else [f'"signature_name": {json.dumps(name)}']
    if inputs and all(_has_batch(spec) for spec in inputs.values()):
        row = _value({key: _row_dims(spec) for key, spec in inputs.items()}, inputs, language)
        parts.append(f'"instances": [{row}]')
    else:
        value = _value({key: _dims(spec) for key, spec in inputs.items()}, inputs, language)
        parts.append(f'"inputs": {value}')
    return "{" + ", ".join(parts) + "}"


def _value(
    dims: Mapping[str, tuple[int, ...]], inputs: Mapping[str, TensorSpec], language: str
) -> str:
    texts = {key: _nested(_zero(inputs[key].dtype), sizes, language) for key, sizes in dims.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "{" + ", ".join(f"{json.dumps(key)}: {text}" for key, text in texts.items()) + "}"


def _nested(zero: object, sizes: tuple[int, ...], language: str) -> str:
    text = repr(zero) if language == "python" else json.dumps(zero)
    for size in reversed(sizes):
        text = f"[{text}]*{size}" if language == "python" else f"[{', '.join([text] * size)}]"
    return text


def _zero(dtype: DType) -> int | str | bool | None:
    """Nothing in particular, as JSON has it; None for a dtype that it has not."""
    if dtype.name in ("float32", "float64", "int8", "int16", "int32", "int64", "uint8"):
        return 0
    others: dict[str, int | str | bool] = {"uint32": 0, "uint64": 0, "string": "", "bool": False}
    return others.get(dtype.name)


def _has_batch(spec: TensorSpec) -> bool:
    return spec.shape.rank is None or (spec.shape.rank > 0 and spec.shape[0] in (None, 1))


def _dims(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(1 if n is None else n for n in spec.shape.dims or ())


def _row_dims(spec: TensorSpec) -> tuple[int, ...]:
    return _dims(spec)[1:]


def _count(spec: TensorSpec) -> int:
    count = 1
    for size in _dims(spec):
        count *= size
    return count
