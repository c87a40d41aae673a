"""A tokenizer's program as JSON, and the runners for it."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from pinnace.deploy.tokenizer.steps import Step, alias_of, constant_of, json_int, text_of
from pinnace.deploy.tokenizer.tokenizer import FORMAT, VERSION
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, from_numpy
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph.graph import Value

RUNNERS = ("tokenizer.js", "tokenizer.py")
_LARGEST = 64 << 20  # characters of the JSON, which runners read at once


def document_of(
    steps: Sequence[Step], inputs: Mapping[str, Value], outputs: Mapping[str, Value], source: str
) -> dict[str, Any]:
    """The JSON document.

    Args:
        steps: the tokenizer's steps, in order; those that no output needs are left out.
        inputs: name -> argument of the graph, for those that the tokenizer needs.
        outputs: name -> value that is passed to the rest of the model.
        source: the program's origin.
    """
    writer = _Writer(inputs)
    wanted = [alias_of(value) for value in outputs.values()]
    told = [writer.step(step) for step in _needed(steps, wanted)]
    return {
        "format": FORMAT,
        "version": VERSION,
        "source": source,
        "inputs": {name: _spec(value.spec) for name, value in inputs.items()},
        "outputs": {
            name: {**_spec(value.spec), "value": writer.name(alias_of(value))}
            for name, value in outputs.items()
        },
        "steps": told,
        "constants": writer.constants,
        "tables": writer.tables,
    }


def text_of_document(document: Mapping[str, Any]) -> str:
    """The text of the file, one step per line.

    Raises:
        UnimplementedError: the text is larger than runners accept.
    """
    text = "{\n" + ",\n".join(_part(key, value) for key, value in document.items()) + "\n}\n"
    if len(text) > _LARGEST:
        raise UnimplementedError(
            f"export: the tokenizer has {len(text):,} characters of JSON, at most {_LARGEST:,} "
            "are written\n  Try: a smaller vocabulary"
        )
    return text


def runner_files() -> dict[str, bytes]:
    """The reference runners: name -> content."""
    folder = resources.files("pinnace.deploy.tokenizer")
    return {name: (folder / name).read_bytes() for name in RUNNERS}


def _part(key: str, value: Any) -> str:
    def line(one: Any) -> str:
        return json.dumps(one, allow_nan=False)

    if isinstance(value, list):
        rows = ",\n".join(f"  {line(row)}" for row in value)
        return f' "{key}": [\n{rows}\n ]'
    if isinstance(value, dict) and value:
        rows = ",\n".join(f"  {line(k)}: {line(v)}" for k, v in value.items())
        return f' "{key}": {{\n{rows}\n }}'
    return f' "{key}": {line(value)}'


def _needed(steps: Sequence[Step], wanted: Sequence[Value]) -> list[Step]:
    """The steps that the values depend on, in order."""
    needed: set[Any] = set(wanted)
    found = []
    for step in reversed(steps):
        if needed.intersection(step.outputs):
            found.append(step)
            needed.difference_update(one for one in step.outputs if isinstance(one, str))
            needed.update(
                alias_of(one) if isinstance(one, Value) else one
                for one in step.inputs
                if isinstance(one, (Value, str))
            )
    return found[::-1]


def _spec(spec: TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": list(spec.shape)}


class _Writer:
    """Assigns names to values, constants and tables."""

    def __init__(self, inputs: Mapping[str, Value]) -> None:
        self.constants: dict[str, Any] = {}
        self.tables: dict[str, Any] = {}
        self._names: dict[Any, str] = {value: name for name, value in inputs.items()}
        self._taken = set(inputs)
        self._count = 0

    def step(self, step: Step) -> dict[str, Any]:
        """A step as JSON."""
        taken = [self._operand(one) for one in step.inputs]
        attrs = dict(step.attrs)
        if "table" in attrs:
            attrs["table"] = self._table(*attrs["table"])
        given = [self._new(one) for one in step.outputs]
        return {"op": step.op, "in": taken, "out": given, **attrs}

    def name(self, value: Value) -> str:
        """The name of a value."""
        return self._operand(value)

    def _operand(self, one: Any) -> str:
        if isinstance(one, Value):
            one = alias_of(one)
            array = constant_of(one)
            if array is not None:
                return self._constant(array, one.dtype)
        elif not isinstance(one, str):
            return self._constant(one, from_numpy(one.dtype))
        return self._names[one]

    def _new(self, one: Value | str) -> str:
        name = self._free("v")
        self._names[one] = name
        return name

    def _free(self, letter: str) -> str:
        while True:
            self._count += 1
            name = f"{letter}{self._count}"
            if name not in self._taken:
                self._taken.add(name)
                return name

    def _constant(self, array: Array, dtype: DType) -> str:
        entry = {"dtype": dtype.name, "shape": list(array.shape), "data": _data(array, dtype)}
        return _kept(self.constants, entry, lambda: self._free("c"))

    def _table(self, keys: Array, key_type: DType, values: Array, value_type: DType) -> str:
        numbers = values.reshape(-1)
        told: dict[str, Any] = {"dtype": value_type.name}
        rising = value_type.is_integer and numbers.size > 0
        if rising and np.array_equal(numbers - numbers[0], np.arange(numbers.size)):
            told["first"] = json_int(int(numbers[0]))
        else:
            told["data"] = _data(numbers, value_type)
        entry = {"keys": {"dtype": key_type.name, "data": _data(keys, key_type)}, "values": told}
        return _kept(self.tables, entry, lambda: self._free("t"))


def _kept(entries: dict[str, Any], entry: dict[str, Any], name: Any) -> str:
    """The name of an entry; equal entries share a name."""
    for known, other in entries.items():
        if other == entry:
            return known
    found: str = name()
    entries[found] = entry
    return found


def _data(array: Array, dtype: DType) -> list[Any]:
    items = array.reshape(-1).tolist()
    if dtype is dtypes.string:
        return [text_of(item) for item in items]
    if dtype.is_integer:
        return [json_int(item) for item in items]
    return items
