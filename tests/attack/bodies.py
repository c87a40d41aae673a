"""Requests of at most a megabyte that expand to more or take long to parse, on every front end."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.inference_pb2 import ClassificationRequest, MultiInferenceRequest
from pinnace.proto.predict_pb2 import PredictRequest

MOST = 2**20
PREDICT = "/v1/models/victim:predict"
INFER = "/v2/models/victim/infer"
GRPC_PREDICT = "/tensorflow.serving.PredictionService/Predict"
GRPC_CLASSIFY = "/tensorflow.serving.PredictionService/Classify"
GRPC_MULTI = "/tensorflow.serving.PredictionService/MultiInference"
GRPC_INFER = "/inference.GRPCInferenceService/ModelInfer"


@dataclass(frozen=True)
class Body:
    """One request.

    Attributes:
        name: what it is.
        path: the HTTP path, or the gRPC method.
        data: the body.
        headers: the HTTP headers.
    """

    name: str
    path: str
    data: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def is_grpc(self) -> bool:
        """Whether it is sent over gRPC."""
        return not self.path.startswith("/v")


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _repeated(unit: bytes) -> bytes:
    return unit * ((MOST - 300) // len(unit))


def _json(unit: bytes, begin: bytes = b'{"instances":[', end: bytes = b"]}") -> bytes:
    return begin + b",".join([unit] * ((MOST - 300) // (len(unit) + 1))) + end


def _filled(kind: int, shape: list[int], signature: str = "", **values: object) -> bytes:
    request = PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "victim", signature
    tensor = request.inputs["inputs" if kind == 7 else "x"]
    tensor.dtype = kind  # type: ignore[assignment]
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    for name, value in values.items():
        getattr(tensor, name).extend(value)
    return request.SerializeToString()


def _tensor(data: bytes, kind: bytes = b"\x08\x01") -> bytes:
    """A PredictRequest of one tensor with these fields after its dtype."""
    spec = _field(1, _field(1, b"victim"))
    return spec + _field(2, _field(1, b"x") + _field(2, kind + data))


def _npy(header: object, data: bytes) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(file, header)  # type: ignore[arg-type]
    return file.getvalue() + data


def _json_bodies() -> list[Body]:
    units = {
        "lists": b"[]",
        "objects": b"{}",
        "objects with keys": b'{"":0}',
        "lists of one": b"[0]",
        "texts": b'"ab"',
        "numbers": b"1",
        "decimals": b"0.1",
        "base64": b'{"b64":""}',
    }
    found = [Body(f"JSON of {name}", PREDICT, _json(unit)) for name, unit in units.items()]
    tolerant = (b'{"":0}', b"Inf", b"1.5")
    found += [
        Body(f"tolerant JSON of {unit.decode()}", PREDICT, _json(unit, end=b",NaN]}"))
        for unit in tolerant
    ]
    found += [
        Body("deep JSON", PREDICT, b'{"instances":' + b"[" * (MOST - 300)),
        Body("JSON cut short", PREDICT, _json(b"[[1,2],[3,4]]")[:-2]),
        Body(
            "a long shape",
            INFER,
            _json(b"1", b'{"inputs":[{"name":"x","datatype":"FP32","shape":[', b"]}]}"),
        ),
        Body(
            "an output asked often",
            INFER,
            _json(
                b'{"name":"y"}',
                b'{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[',
            ),
        ),
        Body(
            "many inputs",
            INFER,
            _json(b'{"name":"x","shape":[0],"datatype":"FP32","data":[]}', b'{"inputs":['),
        ),
    ]
    context = {"context": {"a": "x" * (MOST // 2)}, "examples": [{}] * (MOST // 16)}
    examples = {"signature_name": "text", **context}
    found.append(
        Body(
            "a context before each example",
            "/v1/models/victim:classify",
            json.dumps(examples).encode(),
        )
    )
    found.append(
        Body(
            "many features",
            "/v1/models/victim:regress",
            _json(b'{"a":[1,2]}', b'{"signature_name":"text","examples":['),
        )
    )
    return found


def _binary_bodies() -> list[Body]:
    strings = struct.pack("<I", 0) * (MOST // 4 - 100)
    tensor = {"name": "inputs", "shape": [len(strings) // 4], "datatype": "BYTES"}
    tensor["parameters"] = {"binary_data_size": len(strings)}
    head = json.dumps({"inputs": [tensor], "parameters": {"signature_name": "text"}}).encode()
    huge = json.dumps(
        {
            "inputs": [
                {
                    "name": "x",
                    "shape": [2**60, 0],
                    "datatype": "FP32",
                    "parameters": {"binary_data_size": 0},
                }
            ]
        }
    ).encode()
    npy = {"Content-Type": "application/x-npy", "Accept": "application/x-npy"}
    whole = {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**20)}
    texts = {"descr": "|S2", "fortran_order": False, "shape": (MOST // 2 - 200,)}
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(b" " * 2**20) for _ in range(1000)) + bomb.flush()
    lists = _json(b"[]") * 40
    return [
        Body(
            "empty strings as bytes",
            INFER,
            head + strings,
            {"Inference-Header-Content-Length": str(len(head))},
        ),
        Body(
            "a shape beyond NumPy's",
            INFER,
            huge,
            {"Inference-Header-Content-Length": str(len(huge))},
        ),
        Body(".npy of a huge shape", PREDICT, _npy(whole, b""), npy),
        Body(
            ".npy of texts",
            PREDICT,
            _npy(texts, b"ab" * (MOST // 2 - 200)),
            {**npy, "X-Signature-Name": "text"},
        ),
        Body(
            ".npy with a header that nests",
            PREDICT,
            b"\x93NUMPY\x02\0" + struct.pack("<I", MOST // 2) + b"(" * (MOST // 2),
            npy,
        ),
        Body("gzip of a gigabyte", PREDICT, packed, {"Content-Encoding": "gzip"}),
        Body("gzip of lists", PREDICT, gzip.compress(lists, 6), {"Content-Encoding": "gzip"}),
        Body(
            "deflate in deflate",
            PREDICT,
            zlib.compress(zlib.compress(b" " * 2**28, 9), 9),
            {"Content-Encoding": "deflate, deflate"},
        ),
    ]


def _grpc_bodies() -> list[Body]:
    predict = {
        "a value that fills 2^28": _filled(1, [2**28], float_val=[1.0]),
        "nothing that fills 2^29": _filled(1, [2**29]),
        "a value that fills what it may": _filled(1, [2**22], float_val=[1.0]),
        "a text that fills 2^28": _filled(7, [2**28], "text", string_val=[b"x"]),
        "a long text that fills 2^12": _filled(7, [2**12], "text", string_val=[b"x" * 2**19]),
        "a shape that overflows": _filled(1, [2**62, 4], float_val=[1.0]),
        "a shape of no elements": _filled(1, [2**62, 0]),
        "half a million axes": _tensor(_field(2, _repeated(b"\x12\0"))),
        "half a million handles": _tensor(_repeated(b"\x72\0"), b"\x08\x14"),
        "axes behind a group": _tensor(_field(2, b"\x9b\x06\x9c\x06" + _repeated(b"\x12\0"))),
        "handles among texts": _tensor(_repeated(b"\x42\0\x42\0\x72\0"), b"\x08\x07"),
        "half a million inputs": _field(1, _field(1, b"victim")) + _repeated(b"\x12\0"),
        "named inputs": _field(1, _field(1, b"victim"))
        + b"".join(_field(2, _field(1, b"%d" % i)) for i in range(90_000)),
        "half a million texts": _tensor(_repeated(b"\x42\0"), b"\x08\x07"),
        "a million small numbers": _tensor(
            _field(2, _field(2, b"\x08" + _varint(MOST - 400)))
            + _field(10, b"\x01" * (MOST - 400)),
            b"\x08\x09",
        ),
        "half a million larger numbers": _tensor(
            _field(2, _field(2, b"\x08" + _varint(MOST // 2 - 200)))
            + _field(10, b"\xff\x7f" * (MOST // 2 - 200)),
            b"\x08\x09",
        ),
        "decimals in a list": _tensor(
            _field(2, _field(2, b"\x08" + _varint(MOST // 4 - 100)))
            + _field(5, b"\0\0\x80\x3f" * (MOST // 4 - 100)),
        ),
        "filters": _field(1, _field(1, b"victim")) + _repeated(b"\x1a\0"),
        "fields that nobody knows": _field(1, _field(1, b"victim")) + _repeated(b"\x98\x06\x01"),
        "groups": _repeated(b"\x9b\x06")[: MOST // 2],
        "no message": b"\xff" * (MOST - 300),
    }
    found = [Body(name, GRPC_PREDICT, data) for name, data in predict.items()]
    spec = _field(1, _field(1, b"victim") + _field(3, b"text"))
    found.append(
        Body("empty examples", GRPC_CLASSIFY, spec + _field(2, _field(1, _repeated(b"\x0a\0"))))
    )
    found.append(
        Body(
            "features of one example",
            GRPC_CLASSIFY,
            spec + _field(2, _field(1, _field(1, _field(1, _repeated(b"\x0a\0"))))),
        )
    )
    names = b"".join(_field(1, _field(1, b"%d" % i)) for i in range(90_000))
    found.append(
        Body(
            "named features of one example",
            GRPC_CLASSIFY,
            spec + _field(2, _field(1, _field(1, _field(1, names)))),
        )
    )
    task = _field(1, _field(2, b"tensorflow/serving/regress") + spec)
    examples = _field(2, _field(1, b"\x0a\0" * (MOST // 2 - 5000)))
    found.append(Body("tasks on empty examples", GRPC_MULTI, task * 60 + examples))
    request = ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "victim", "text"
    both = request.input.example_list_with_context
    both.context.features.feature["a"].bytes_list.value.append(b"x" * (MOST // 2))
    for _ in range(MOST // 8):
        both.examples.add()
    found.append(Body("a context before each example", GRPC_CLASSIFY, request.SerializeToString()))
    tasks = MultiInferenceRequest()
    for _ in range(MOST // 64):
        task = tasks.tasks.add(method_name="tensorflow/serving/classify")
        task.model_spec.name = "victim"
    found.append(Body("tasks", GRPC_MULTI, tasks.SerializeToString()))
    name = _field(1, b"victim")
    for unit, what in (
        (b"\x2a\0", "inputs"),
        (b"\x32\0", "outputs"),
        (b"\x3a\0", "raw tensors"),
        (b"\x22\0", "parameters"),
    ):
        found.append(Body(f"half a million {what}", GRPC_INFER, name + _repeated(unit)))
    inside = {
        "parameters of an input": _field(5, _repeated(b"\x22\0")),
        "named parameters of an output": _field(
            6, b"".join(_field(2, _field(1, b"%d" % i)) for i in range(90_000))
        ),
        "a million numbers": _field(
            5,
            _field(1, b"x")
            + _field(2, b"INT64")
            + _field(3, _varint(MOST - 400))
            + _field(5, _field(3, b"\x01" * (MOST - 400))),
        ),
        "half a million texts": _field(
            5,
            _field(1, b"inputs")
            + _field(2, b"BYTES")
            + _field(3, _varint(MOST // 2 - 200))
            + _field(5, b"\x42\0" * (MOST // 2 - 200)),
        ),
    }
    for what, data in inside.items():
        found.append(Body(what, GRPC_INFER, name + data))
    message = v2.ModelInferRequest(model_name="victim")
    message.inputs.add(name="x", datatype="FP32", shape=[1] * (MOST - 300))
    found.append(Body("a long shape", GRPC_INFER, message.SerializeToString()))
    return found


def all_bodies() -> list[Body]:
    """All bodies; none is larger than a megabyte."""
    found = [*_json_bodies(), *_binary_bodies(), *_grpc_bodies()]
    too_large = [body.name for body in found if len(body.data) > MOST]
    assert not too_large, too_large
    return found
