"""The contents of a .tflite file as data, with every index and offset checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.ir.kinds import NUMBERS, TYPES, options_of
from pinnace.deploy.lite.ir.model import Model, Operator, Quantization, Signature, Subgraph, Tensor
from pinnace.deploy.lite.reading.constants import decoded
from pinnace.deploy.lite.reading.signatures import METADATA, Naming, chosen, from_messages
from pinnace.framework import dtypes
from pinnace.framework.errors import DataLossError, InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.proto.lite_schema import LITE
from pinnace.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.files.parsing import Content, Parsed

_CODES = LITE.enums["TensorType"]
_KINDS = {number: kind for kind, number in NUMBERS.items()}
# Packed types are unpacked to the type of 8 bits.
_PACKED = {"INT4": dtypes.int8, "INT2": dtypes.int8, "UINT4": dtypes.uint8}
_DTYPES = {number: dtype for dtype, number in TYPES.items()}
_DTYPES |= {_CODES[name]: dtype for name, dtype in _PACKED.items()}
_BITS = {_CODES["INT4"]: 4, _CODES["INT2"]: 2, _CODES["UINT4"]: 4}
# Types that are copied instead of viewed, and the limit of all copies, as a multiple of the file's
# size and an allowance beside it.
_COPIED = frozenset({dtypes.bool, dtypes.string})
_TIMES, _SLACK = 32, 1 << 21
_TEXT = 64  # approximate size of a bytes object
_VERSION = 3  # the only version of the schema
_MOST_AXES = 32
_MOST_SIZE = (1 << 31) - 1
_SUBGRAPH_FIELDS = "subgraph"  # part of the names of options that hold subgraph indices


def read_content(data: Content, where: str, naming: Naming = Naming.OWN) -> Model:
    """Read the model in a file.

    Constants are views into the file unless they must be unpacked.

    Args:
        data: the file.
        where: its path, for errors.
        naming: the rule for signatures and names.

    Returns:
        The model with all subgraphs that signatures reach. A file without signatures gets one named
        `serving_default` for its first subgraph.

    Raises:
        InvalidArgumentError: the content is not a .tflite file.
        DataLossError: the file is damaged.
        UnimplementedError: the file has types that are not supported.
    """
    return _Reader(data, where).model(naming)


def _width(dtype: dtypes.DType) -> int:
    return _TEXT if dtype is dtypes.string else dtype.size


class _Reader:
    """The parts of a file by index."""

    def __init__(self, data: Content, where: str) -> None:
        self.data = data
        self.where = where
        self.root = parsed(data, where)
        self.subgraphs: list[Subgraph] = []
        self.tensors: list[list[Tensor]] = []
        self.decoded: dict[object, Any] = {}
        self.left = _TIMES * len(data) + _SLACK

    def damaged(self, what: str) -> NoReturn:
        raise DataLossError(f"{self.where} is damaged: {what}")

    def model(self, naming: Naming) -> Model:
        """The whole model, with references in place of indices."""
        root = self.root
        if root["version"] != _VERSION:
            raise InvalidArgumentError(
                f"{self.where} is of version {root['version']} of the format; there is one, "
                f"{_VERSION}"
            )
        tables: Sequence[Parsed] = root.list("subgraphs")
        if not len(tables):
            self.damaged("it has no subgraphs")
        self.subgraphs = [
            Subgraph(table["name"] or f"subgraph_{index}") for index, table in enumerate(tables)
        ]
        for table in tables:
            self.tensors.append([self._tensor(one) for one in table.list("tensors")])
        for index, table in enumerate(tables):
            self._fill(index, table)
        signatures = [self._signature(one) for one in root.list("signature_defs")]
        if len({one.key for one in signatures}) < len(signatures):
            self.damaged("two of its signatures have one name")
        found = chosen(signatures, self._messages(), self.subgraphs[0], naming)
        return Model(found, root["description"] or "")

    def _messages(self) -> list[Signature]:
        """The signatures of SignatureDefs in the metadata."""
        for one in self.root.list("metadata"):
            if one["name"] == METADATA:
                buffer = self.entry(self.root.list("buffers"), one["buffer"], "buffer")
                raw = bytes(self._bytes(buffer))
                return from_messages(raw, self.subgraphs[0], self.where) if raw else []
        return []

    def entry(self, values: Sequence[Any], index: int, what: str) -> Any:
        """An element of a list by an index from the file."""
        if not 0 <= index < len(values):
            self.damaged(f"{what} {index} does not exist: there are {len(values)}")
        return values[index]

    def _tensor(self, table: Parsed) -> Tensor:
        name = table["name"] or ""
        dtype = _DTYPES.get(table["type"])
        if dtype is None:
            kinds = {number: kind for kind, number in _CODES.items()}
            kind = kinds.get(table["type"], f"number {table['type']}")
            raise UnimplementedError(
                f"{self.where}: tensor {name!r:.120} has the element type {kind}, which is not read"
            )
        sizes = self._sizes(table.list("shape"), name, least=0)
        signature = table.list("shape_signature")
        if len(signature):
            told = self._sizes(signature, name, least=-1)
            if len(told) != len(sizes):
                self.damaged(f"tensor {name!r:.120} has two shapes of different rank")
            shape = Shape([None if n < 0 else n for n in told])
        else:
            shape = Shape(sizes)
        if table["external_buffer"]:
            raise UnimplementedError(
                f"{self.where}: the data of tensor {name!r:.120} is in another file; it must be in "
                "the file itself"
            )
        data = self._constant(table, sizes, dtype, name)
        quantization = self._quantization(table["quantization"], shape, name)
        return Tensor(name, dtype, shape, data, quantization, table["is_variable"])

    def _sizes(self, sizes: Sequence[Any], name: str, least: int) -> list[int]:
        found = [int(n) for n in sizes]
        if len(found) > _MOST_AXES or any(n < least for n in found):
            self.damaged(f"tensor {name!r:.120} has the shape {found[:_MOST_AXES]}")
        return found

    def _constant(
        self, table: Parsed, sizes: list[int], dtype: dtypes.DType, name: str
    ) -> Any | None:
        index = table["buffer"]
        if not index:
            return None
        buffer: Parsed = self.entry(self.root.list("buffers"), index, "buffer")
        raw = self._bytes(buffer)
        if not len(raw):
            return None
        where = f"{self.where}: tensor {name!r:.120}"
        sparsity = table["sparsity"]
        key = (index, tuple(sizes), table["type"], id(sparsity))
        if key not in self.decoded:
            if sparsity is not None or dtype in _COPIED or table["type"] in _BITS:
                self._take(math.prod(sizes) * _width(dtype) + len(raw), name)
            bits = _BITS.get(table["type"], 8 * dtype.size)
            self.decoded[key] = decoded(raw, sizes, dtype, bits, sparsity, where)
        return self.decoded[key]

    def _take(self, size: int, name: str) -> None:
        """Refuse a constant if all copies together exceed the allowance."""
        self.left -= size
        if self.left < 0:
            self.damaged(f"tensor {name!r:.120} and others take many times the file's size")

    def _bytes(self, buffer: Parsed) -> memoryview:
        """The bytes of a buffer, which are outside the flatbuffer in files beyond 2 GiB."""
        start, size = buffer["offset"], buffer["size"]
        if start <= 1:  # 1 is the placeholder of an offset
            return memoryview(buffer.list("data") or b"")
        if start + size > len(self.data):
            self.damaged(f"a buffer of {size} bytes at {start} extends beyond the end of the file")
        return memoryview(self.data)[start : start + size]

    def _quantization(self, table: Parsed | None, shape: Shape, name: str) -> Quantization | None:
        if table is None:
            return None
        if table["details"] is not None:
            raise UnimplementedError(
                f"{self.where}: tensor {name!r:.120} is quantised by {table['details'].name}, "
                "which is not read; scales of a tensor or of one of its axes are"
            )
        scales = table.list("scale")
        if not len(scales):
            return None
        zeros = [int(n) for n in table.list("zero_point")] or [0]
        axis = table["quantized_dimension"]
        count = len(scales)
        if not all(math.isfinite(s) and s >= 0 for s in scales):
            self.damaged(f"tensor {name!r:.120} has a scale that is not positive")
        if len(zeros) == 1:
            zeros = zeros * count
        is_whole = count == 1 or (0 <= axis < len(shape.dims or ()) and shape[axis] == count)
        if len(zeros) != count or not is_whole:
            self.damaged(
                f"tensor {name!r:.120} of the shape {shape} has {count} scales and {len(zeros)} "
                f"zero points along axis {axis}"
            )
        if any(abs(zero) > _MOST_SIZE for zero in zeros):
            self.damaged(f"tensor {name!r:.120} has a zero point outside the range of its type")
        return Quantization(tuple(float(s) for s in scales), tuple(zeros), axis if count > 1 else 0)

    def _fill(self, index: int, table: Parsed) -> None:
        """Set the inputs, outputs and operators of a subgraph."""
        subgraph, tensors = self.subgraphs[index], self.tensors[index]

        def named(places: Sequence[int], what: str) -> list[Tensor]:
            return [self.entry(tensors, int(place), what) for place in places]

        subgraph.inputs += named(table.list("inputs"), "the subgraph's input")
        subgraph.outputs += named(table.list("outputs"), "the subgraph's output")
        if len({id(one) for one in subgraph.inputs}) < len(subgraph.inputs):
            self.damaged("a subgraph has a tensor twice among its inputs")
        subgraph.operators += [self._operator(one, tensors) for one in table.list("operators")]

    def _operator(self, table: Parsed, tensors: list[Tensor]) -> Operator:
        code: Parsed = self.entry(
            self.root.list("operator_codes"), table["opcode_index"], "operator code"
        )
        number = max(code["deprecated_builtin_code"], code["builtin_code"])
        kind = _KINDS.get(number)
        if kind is None:
            raise UnimplementedError(
                f"{self.where}: operator number {number} is newer than the schema that is known"
            )
        inputs = [
            None if place == -1 else self.entry(tensors, int(place), f"{kind}: tensor")
            for place in table.list("inputs")
        ]
        outputs = [
            self.entry(tensors, int(place), f"{kind}: tensor") for place in table.list("outputs")
        ]
        return Operator(
            kind,
            inputs,
            outputs,
            self._options(kind, table["builtin_options"] or table["builtin_options_2"]),
            custom=(code["custom_code"] or "") if kind == "CUSTOM" else "",
            payload=self._payload(table),
            inner=[
                self.entry(tensors, int(place), f"{kind}: tensor")
                for place in table.list("intermediates")
            ],
        )

    def _payload(self, table: Parsed) -> bytes:
        start, size = table["large_custom_options_offset"], table["large_custom_options_size"]
        if start > 1:
            if start + size > len(self.data):
                self.damaged("the options of an operator extend beyond the end of the file")
            return bytes(self.data[start : start + size])
        return bytes(table.list("custom_options"))

    def _options(self, kind: str, table: Parsed | None) -> dict[str, Any]:
        """All options of an operator, with defaults for those that are left out."""
        wanted = options_of(kind)
        if wanted is None:
            return {}
        if table is not None and table.name != wanted:
            self.damaged(f"{kind} has the options {table.name}, must have {wanted}")
        found: dict[str, Any] = {}
        for name, field in LITE.tables[wanted].items():
            value: Any = None if table is None else table.fields.get(name)
            if value is None and field.kind.startswith("["):
                value = ()
            elif value is None and field.kind != "string":
                value = field.default
            if _SUBGRAPH_FIELDS in name and not field.kind.startswith("["):
                value = self.entry(self.subgraphs, int(value), f"{kind}: subgraph")
            elif _SUBGRAPH_FIELDS in name:
                value = tuple(
                    self.entry(self.subgraphs, int(one), f"{kind}: subgraph") for one in value
                )
            found[name] = value
        return found

    def _signature(self, table: Parsed) -> Signature:
        index = table["subgraph_index"]
        subgraph: Subgraph = self.entry(self.subgraphs, index, "the signature's subgraph")
        key = table["signature_key"] or DEFAULT_SERVING_SIGNATURE_DEF_KEY

        def named(side: str, among: Sequence[Tensor]) -> dict[str, Tensor]:
            found: dict[str, Tensor] = {}
            for one in table.list(side):
                name = one["name"] or ""
                tensor = self.entry(self.tensors[index], one["tensor_index"], "tensor")
                if name in found or not any(tensor is other for other in among):
                    self.damaged(
                        f"signature {key!r:.120} names {name!r:.120} among its {side} twice, or "
                        "one that its subgraph has not"
                    )
                found[name] = tensor
            return found

        inputs = named("inputs", subgraph.inputs)
        told = {id(one) for one in inputs.values()}
        if not len(inputs) == len(told) == len(subgraph.inputs):
            self.damaged(
                f"signature {key!r:.120} names {len(told)} of {len(subgraph.inputs)} inputs, by "
                f"{len(inputs)} names"
            )
        return Signature(key, inputs, named("outputs", subgraph.outputs), subgraph)
