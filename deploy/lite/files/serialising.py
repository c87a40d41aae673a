"""Serialisation of a model as the bytes of a .tflite file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.files.flatbuffer import Product, Table, built
from pinnace.deploy.lite.ir.kinds import NUMBERS, TYPES, options_of
from pinnace.deploy.lite.ir.model import Scaled, Subgraph
from pinnace.deploy.lite.ir.versions import version_of
from pinnace.deploy.program.mapped_weights import pieces
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.proto.lite_schema import LITE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from pinnace.deploy.lite.files.flatbuffer import Flatbuffer
    from pinnace.deploy.lite.ir.model import Model, Operator, Signature, Tensor
    from pinnace.framework import dtypes
    from pinnace.framework.tensor import Array

    Numbers: TypeAlias = Array | bytes | Product

# Offsets in a flatbuffer have 31 bits.
LIMIT = (1 << 31) - 1
_SCHEMA_VERSION = 3
# The largest operator code that the one byte of the first schema holds.
_LAST_OLD = 127
# Approximate size of an operator or a tensor, without data.
_ENTRY = 256
# Bytes at both ends of a buffer that are compared first.
_END = 64


def serialised(model: Model) -> bytes:
    """The bytes of the file.

    Raises:
        UnimplementedError: the file would be larger than 2 GiB.
    """
    return in_pieces(model).whole()


def in_pieces(model: Model) -> Flatbuffer:
    """The file in pieces; long pieces are the model's weights, without a copy.

    Raises:
        UnimplementedError: the file would be larger than 2 GiB.
    """
    return _Writer(model).file()


class _Writer:
    """The indices of buffers, operator codes, subgraphs and tensors of one file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.subgraphs = model.subgraphs()
        self.numbers = {id(one): index for index, one in enumerate(self.subgraphs)}
        self.codes: dict[tuple[str, str, int], int] = {}
        # By the format's rule, buffer 0 is empty and stands for "no data".
        self.buffers: list[Numbers] = [b""]
        # (length, first bytes, last bytes) -> indices of the buffers that match.
        self.known: dict[object, list[int]] = {}
        self.digests: dict[int, bytes] = {}
        self.places: list[dict[int, int]] = []

    def file(self) -> Flatbuffer:
        """The file in pieces."""
        subgraphs = [self._subgraph(one) for one in self.subgraphs]
        signatures = [self._signature(one) for one in self.model.signatures]
        metadata = [
            Table("Metadata", {"name": name, "buffer": self._buffer(content)})
            for name, content in self.model.metadata.items()
        ]
        size = sum(_size(x) for x in self.buffers)
        entries = sum(len(one.operators) + len(one.tensors()) for one in self.subgraphs)
        if size + _ENTRY * entries > LIMIT:
            raise UnimplementedError(
                f"export: the weights take {size / (1 << 30):.2f} GiB; a .tflite file has at "
                "most 2\n  Try: float16=True (--float16) or int8=True (--int8)"
            )
        buffers = [Table("Buffer", {"data": x if _size(x) else None}) for x in self.buffers]
        root = Table(
            "Model",
            {
                "version": _SCHEMA_VERSION,
                "operator_codes": [_code(*one) for one in self.codes],
                "subgraphs": subgraphs,
                "description": self.model.description,
                "buffers": buffers,
                "metadata": metadata or None,
                "signature_defs": signatures,
            },
        )
        return built(root, size + _ENTRY * (entries + 8))

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
            "buffer": self._buffer(_numbers(tensor)) if tensor.is_constant else 0,
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

    def _buffer(self, numbers: Numbers) -> int:
        """The index of the buffer with this data; equal data share a buffer."""
        if not _size(numbers):
            return self._add(numbers)
        alike = self.known.setdefault((_size(numbers), *_ends(numbers)), [])
        if alike:
            digest = _digest(numbers)
            for number in alike:
                if number not in self.digests:
                    self.digests[number] = _digest(self.buffers[number])
                if self.digests[number] == digest:
                    return number
            self.digests[len(self.buffers)] = digest
        alike.append(len(self.buffers))
        return self._add(numbers)

    def _add(self, numbers: Numbers) -> int:
        self.buffers.append(numbers)
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
            second = table in LITE.unions["BuiltinOptions2"]
            fields["builtin_options_2" if second else "builtin_options"] = Table(table, options)
        elif operator.options:
            raise InternalError(f"{operator.kind} has no table for {sorted(operator.options)}")
        return Table("Operator", fields)

    def _option(self, value: Any) -> Any:
        """A field of an operator's options; subgraphs become indices."""
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


def _numbers(tensor: Tensor) -> Numbers:
    """The data of a constant as it is written."""
    if isinstance(tensor, Scaled):
        return Product(tensor.held, tensor.factor)
    data = np.asarray(tensor.data)  # arithmetic turns arrays of rank 0 into scalars
    return _strings(data) if data.dtype == object else data


def _size(numbers: Numbers) -> int:
    """The size in bytes."""
    if isinstance(numbers, Product):
        return numbers.array.nbytes
    return len(numbers) if isinstance(numbers, bytes) else numbers.nbytes


def _ends(numbers: Numbers) -> tuple[bytes, bytes]:
    """The first and last bytes of the data, for comparison."""
    if isinstance(numbers, bytes):
        return numbers[:_END], numbers[-_END:]
    array, factor = numbers if isinstance(numbers, Product) else (np.atleast_1d(numbers), None)
    count = min(array.size, _END // array.itemsize)
    found = []
    for first in (0, array.size - count):
        where = np.unravel_index(np.arange(first, first + count), array.shape)
        some = array[where]
        if factor is not None:
            some = (some * np.broadcast_to(factor, array.shape)[where]).astype(array.dtype)
        found.append(some.tobytes())
    return found[0], found[1]


def _digest(numbers: Numbers) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    if isinstance(numbers, bytes):
        found.update(numbers)
    else:
        for piece in pieces(*(numbers if isinstance(numbers, Product) else (numbers,))):
            found.update(piece.view(np.uint8).data)
    return found.digest()


def _strings(data: Array) -> bytes:
    """Encode strings: their number, the offsets of each, and then all bytes."""
    texts = [bytes(text) for text in data.reshape(-1)]
    ends = np.cumsum([0, *map(len, texts)]) + 4 * (len(texts) + 2)
    head = np.array([len(texts), *ends], "<i4")
    return head.tobytes() + b"".join(texts)


def is_known(dtype: dtypes.DType) -> bool:
    """Whether the format has this element type."""
    return dtype in TYPES
