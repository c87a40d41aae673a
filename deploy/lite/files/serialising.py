"""A model as the bytes of a .tflite file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.deploy.lite.ir.kinds import NUMBERS, TYPES, options_of
from pinnace.deploy.lite.ir.model import Subgraph
from pinnace.deploy.lite.ir.versions import version_of
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.proto import lite_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.ir.model import Model, Operator, Signature, Tensor
    from pinnace.framework import dtypes
    from pinnace.framework.tensor import Array

# A flatbuffer's offsets have 31 bits.
LIMIT = (1 << 31) - 1
_SCHEMA_VERSION = 3
# The last number of an operator that the first readers' one byte holds.
_LAST_OLD = 127
# What an operator or a tensor takes beside numbers, about.
_ENTRY = 256


def serialised(model: Model) -> bytes:
    """The file.

    Raises:
        UnimplementedError: it would be larger than a flatbuffer can be.
    """
    return _Writer(model).file()


class _Writer:
    """Numbers for what refers to each other: buffers, operator codes, subgraphs, tensors."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.subgraphs = model.subgraphs()
        self.numbers = {id(one): index for index, one in enumerate(self.subgraphs)}
        self.codes: dict[tuple[str, str, int], int] = {}
        # The first is the empty one that stands for "no numbers".
        self.buffers: list[Array | bytes] = [b""]
        self.known: dict[object, int] = {}
        self.places: list[dict[int, int]] = []

    def file(self) -> bytes:
        """The bytes."""
        subgraphs = [self._subgraph(one) for one in self.subgraphs]
        signatures = [self._signature(one) for one in self.model.signatures]
        metadata = [
            Table("Metadata", {"name": name, "buffer": self._buffer(content)})
            for name, content in self.model.metadata.items()
        ]
        size = sum(x.nbytes if isinstance(x, np.ndarray) else len(x) for x in self.buffers)
        entries = sum(len(one.operators) + len(one.tensors()) for one in self.subgraphs)
        if size + _ENTRY * entries > LIMIT:
            raise UnimplementedError(
                f"export: the weights take {size / (1 << 30):.2f} GiB, and a .tflite file has at "
                "most 2\n  Try: float16=True (--float16) or int8=True (--int8)"
            )
        root = Table(
            "Model",
            {
                "version": _SCHEMA_VERSION,
                "operator_codes": [_code(*one) for one in self.codes],
                "subgraphs": subgraphs,
                "description": self.model.description,
                "buffers": [Table("Buffer", {"data": _content(x)}) for x in self.buffers],
                "metadata": metadata or None,
                "signature_defs": signatures,
            },
        )
        return written(root, size + _ENTRY * (entries + 8))

    def _subgraph(self, subgraph: Subgraph) -> Table:
        tensors = subgraph.tensors()
        places = {id(tensor): index for index, tensor in enumerate(tensors)}
        self.places.append(places)
        return Table(
            "SubGraph",
            {
                "tensors": [self._tensor(tensor) for tensor in tensors],
                "inputs": [places[id(tensor)] for tensor in subgraph.inputs],
                "outputs": [places[id(tensor)] for tensor in subgraph.outputs],
                "operators": [self._operator(one, places) for one in subgraph.operators],
                "name": subgraph.name,
            },
        )

    def _tensor(self, tensor: Tensor) -> Table:
        sizes = None if tensor.rank is None else list(tensor.shape)
        is_open = sizes is not None and None in sizes
        known: Sequence[int] = [] if sizes is None else [1 if n is None else n for n in sizes]
        fields: dict[str, Any] = {
            "shape": known,
            "type": TYPES[tensor.dtype],
            "buffer": 0 if tensor.data is None else self._buffer(tensor.data),
            "name": tensor.name,
            "is_variable": tensor.is_state or None,
            "has_rank": sizes is not None,
        }
        if is_open and sizes is not None:
            fields["shape_signature"] = [-1 if n is None else n for n in sizes]
        found = tensor.quantization
        if found is not None:
            fields["quantization"] = Table(
                "QuantizationParameters",
                {
                    "scale": found.scales,
                    "zero_point": found.zeros,
                    "quantized_dimension": found.axis,
                },
            )
        return Table("Tensor", fields)

    def _buffer(self, data: Array | bytes) -> int:
        """The buffer with these numbers; equal ones share it."""
        if not isinstance(data, bytes):
            data = np.asarray(data)  # arithmetic makes scalars of arrays without axes
        content = data if isinstance(data, bytes) else stored(data)
        raw = content if isinstance(content, bytes) else content.data.cast("B")
        if not len(raw):
            return self._add(b"")
        key = hashlib.blake2b(raw, digest_size=16).digest()
        if key not in self.known:
            # Weights whose axes were turned are copied once more when they are written, one after
            # the other; all these copies together are as large as the file.
            is_text = isinstance(data, np.ndarray) and data.dtype == object
            self.known[key] = self._add(content if is_text else data)
        return self.known[key]

    def _add(self, content: Array | bytes) -> int:
        self.buffers.append(content)
        return len(self.buffers) - 1

    def _operator(self, operator: Operator, places: dict[int, int]) -> Table:
        code = (operator.kind, operator.custom, version_of(operator))
        table = options_of(operator.kind)
        fields: dict[str, Any] = {
            "opcode_index": self.codes.setdefault(code, len(self.codes)),
            "inputs": [-1 if x is None else places[id(x)] for x in operator.inputs],
            "outputs": [places[id(x)] for x in operator.outputs],
            "custom_options": operator.payload or None,
            "intermediates": [places[id(x)] for x in operator.inner] or None,
        }
        if table is not None:
            options = {name: self._option(value) for name, value in operator.options.items()}
            second = table in lite_schema.UNIONS["BuiltinOptions2"]
            fields["builtin_options_2" if second else "builtin_options"] = Table(table, options)
        elif operator.options:
            raise InternalError(f"{operator.kind} has no table for {sorted(operator.options)}")
        return Table("Operator", fields)

    def _option(self, value: Any) -> Any:
        """A field of an operator's options: subgraphs by their numbers."""
        if isinstance(value, Subgraph):
            return self.numbers[id(value)]
        if isinstance(value, tuple) and value and isinstance(value[0], Subgraph):
            return [self.numbers[id(one)] for one in value]
        return value

    def _signature(self, signature: Signature) -> Table:
        number = self.numbers[id(signature.subgraph)]
        places = self.places[number]

        def named(values: dict[str, Tensor]) -> list[Table]:
            return [
                Table("TensorMap", {"name": name, "tensor_index": places[id(tensor)]})
                for name, tensor in values.items()
            ]

        return Table(
            "SignatureDef",
            {
                "inputs": named(signature.inputs),
                "outputs": named(signature.outputs),
                "signature_key": signature.key,
                "subgraph_index": number,
            },
        )


def _code(kind: str, custom: str, version: int) -> Table:
    number = NUMBERS[kind]
    return Table(
        "OperatorCode",
        {
            "deprecated_builtin_code": min(number, _LAST_OLD),
            "custom_code": custom or None,
            "version": version,
            "builtin_code": number,
        },
    )


def _content(buffer: Array | bytes) -> Array | bytes | None:
    """What a buffer holds, None if it is empty."""
    size = len(buffer) if isinstance(buffer, bytes) else buffer.size
    return buffer if size else None


def stored(data: Array) -> Array | bytes:
    """The bytes of a constant as they stand in the file."""
    if data.dtype == object:
        return _strings(data)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _strings(data: Array) -> bytes:
    """A number of strings: their count, the bounds of each, and then all of them."""
    texts = [bytes(text) for text in data.reshape(-1)]
    ends = np.cumsum([0, *map(len, texts)]) + 4 * (len(texts) + 2)
    head = np.array([len(texts), *ends], "<i4")
    return head.tobytes() + b"".join(texts)


def is_known(dtype: dtypes.DType) -> bool:
    """Whether the format has the element type."""
    return dtype in TYPES
