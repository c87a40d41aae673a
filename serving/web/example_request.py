"""Example requests that work when pasted, derived from a signature."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import orjson

from pinnace.framework.errors import OpError
from pinnace.serving.http.json_arrays import encode_array
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Arrays

_MAX_ELEMENTS = 256


@dataclass(frozen=True, slots=True)
class Filling:
    """The value of an input in an example.

    Attributes:
        zero: the value of each element without a better example.
        dims: the lengths of its nested lists; without the batch axis in the row form.
        value: a better value, from a warm-up request of the model.
    """

    zero: int | str | bool
    dims: tuple[int, ...]
    value: object = None

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.dims)

    def nested(self) -> object:
        """The value as nested lists."""
        if self.value is not None:
            return self.value
        value: object = self.zero
        for size in reversed(self.dims):
            value = [value] * size
        return value


@dataclass(frozen=True, slots=True)
class Example:
    """A predict request that works: a row of a warm-up request, or zeros.

    Attributes:
        signature_name: the signature.
        form: the key of its tensors: `instances`, one row each, or `inputs`, whole tensors.
        fillings: the values by input name.
    """

    signature_name: str
    form: str
    fillings: Mapping[str, Filling]

    @property
    def count(self) -> int:
        """The number of elements."""
        return sum(filling.count for filling in self.fillings.values())

    def document(self) -> dict[str, object]:
        """The request as a JSON object."""
        values = {name: filling.nested() for name, filling in self.fillings.items()}
        value: object = next(iter(values.values())) if len(values) == 1 else values
        named: dict[str, object] = {}
        if self.signature_name != DEFAULT_SIGNATURE:
            named["signature_name"] = self.signature_name
        return {**named, self.form: [value] if self.form == "instances" else value}


def example_of(servable: Servable, name: str) -> Example | None:
    """Return an example request for a signature; None if JSON cannot hold the inputs.

    Args:
        servable: the version.
        name: the signature's name.
    """
    signature = servable.signatures[name]
    inputs = signature.inputs
    zeros = {key: _zero(spec.dtype) for key, spec in inputs.items()}
    specs = [*inputs.values(), *signature.outputs.values()]
    by_rows = bool(inputs) and all(map(_has_batch, specs))
    fillings = {
        key: Filling(zero, _dims(inputs[key])[1:] if by_rows else _dims(inputs[key]))
        for key, zero in zeros.items()
        if zero is not None
    }
    if len(fillings) < len(inputs):
        return None
    fillings = _filled_better(fillings, servable.examples.get(name, {}), by_rows)
    return Example(name, "instances" if by_rows else "inputs", fillings)


def _filled_better(
    fillings: dict[str, Filling], feeds: Arrays, by_rows: bool
) -> dict[str, Filling]:
    """Replace zeros by values of a warm-up request; unchanged if JSON cannot hold them."""
    found = dict(fillings)
    for key, array in feeds.items():
        if by_rows and not len(array):
            return fillings
        part = array[0] if by_rows else array
        try:
            value = orjson.loads(encode_array(np.asarray(part)))
        except (OpError, orjson.JSONDecodeError):  # text that is not UTF-8; NaN
            return fillings
        found[key] = replace(fillings[key], dims=np.shape(part), value=_whole(value))
    return found


def _whole(value: object) -> object:
    """The value with 1 for 1.0, as people and browsers write it."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def example_command(servable: Servable, url: str) -> str | None:
    """Return a shell command that requests a prediction.

    Args:
        servable: the version.
        url: the server's URL, without a trailing slash.

    Returns:
        A curl command, for large inputs with a body from python3; None if JSON cannot hold the
        inputs.
    """
    name = _signature_name(servable)
    if name is None:
        return None
    example = example_of(servable, name)
    if example is None:
        return None
    address = shlex.quote(f"{url}/v1/models/{quote(servable.name)}:predict")
    if example.count <= _MAX_ELEMENTS:
        body = json.dumps(example.document(), separators=(",", ":"), ensure_ascii=False)
        return f"curl -s {address} -d {shlex.quote(body)}"
    program = f"import json; print(json.dumps({_expression(example)}))"
    return f"python3 -c {shlex.quote(program)} | curl -s {address} -d @-"


def _signature_name(servable: Servable) -> str | None:
    if DEFAULT_SIGNATURE in servable.signatures:
        return DEFAULT_SIGNATURE
    return min((name for name in servable.signatures if not name.startswith("_")), default=None)


def _expression(example: Example) -> str:
    """The body as a Python expression, which stays short for large tensors."""
    texts = {}
    for name, filling in example.fillings.items():
        text = repr(filling.zero if filling.value is None else filling.value)
        for size in reversed(filling.dims if filling.value is None else ()):
            text = f"[{text}]*{size}"
        texts[name] = text
    value = ", ".join(f"{json.dumps(name)}: {text}" for name, text in texts.items())
    value = next(iter(texts.values())) if len(texts) == 1 else f"{{{value}}}"
    value = f"[{value}]" if example.form == "instances" else value
    named = ""
    if example.signature_name != DEFAULT_SIGNATURE:
        named = f'"signature_name": {json.dumps(example.signature_name)}, '
    return f'{{{named}"{example.form}": {value}}}'


def _zero(dtype: DType) -> int | str | bool | None:
    """A zero or empty value in JSON; None for a dtype without a JSON form."""
    if dtype.name in ("float32", "float64", "int8", "int16", "int32", "int64", "uint8"):
        return 0
    others: dict[str, int | str | bool] = {"uint32": 0, "uint64": 0, "string": "", "bool": False}
    return others.get(dtype.name)


def _has_batch(spec: TensorSpec) -> bool:
    return spec.shape.rank is None or (spec.shape.rank > 0 and spec.shape[0] in (None, 1))


def _dims(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(1 if n is None else n for n in spec.shape.dims or ())
