"""Files for servers: SignatureDefs, names of tensors, batches of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.deploy import lite
from pinnace.deploy.lite.ir.model import Operator, Subgraph, Tensor
from pinnace.deploy.lite.reading.content import read_content
from pinnace.deploy.lite.reading.saving import functions_of, write_saved_model, write_to_serve
from pinnace.deploy.lite.reading.signatures import METADATA, Naming
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework import dtypes
from pinnace.framework.errors import DataLossError, InternalError
from pinnace.framework.shapes import Shape
from pinnace.proto.example_pb2 import Example
from pinnace.saved_model.inspection import inspect
from support.golden import FOLDER
from support.lite_files import half_plus, signature_def, signature_defs, without_signatures
from unit.deploy.lite.test_reading import TOLERANCE, assert_near, draw, file_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytest.importorskip("flatbuffers")
CLASSIFY = "tensorflow/serving/classify"


def keys_of(content: bytes, naming: Naming) -> dict[str, tuple[list[str], list[str]]]:
    signatures = read_content(content, "the file", naming).signatures
    return {one.key: (list(one.inputs), list(one.outputs)) for one in signatures}


@pytest.mark.parametrize("naming", list(Naming))
def test_signature_defs_of_the_metadata_count(naming: Naming) -> None:
    """Tensors are found without `:0`, which old converters omitted."""
    messages = signature_defs(
        serving_default=signature_def({"x": "lite_input:0"}, {"y": "y"}),
        other=signature_def({"given": "lite_input"}, {"found": "y:0"}, CLASSIFY),
    )
    content = without_signatures(half_plus(2, "lite_input"), messages)
    assert keys_of(content, naming) == {
        "serving_default": (["x"], ["y"]),
        "other": (["given"], ["found"]),
    }
    functions, _ = functions_of(content, "the file", naming)
    (found,) = functions["other"].run_arrays({"given": np.float32([[3]])}).values()
    assert found.tolist() == [[3.5]]


def test_the_kind_of_answer_stays_in_a_saved_model(tmp_path: Path) -> None:
    messages = signature_defs(rows=signature_def({"x": "x"}, {"scores": "y"}, CLASSIFY))
    file = tmp_path / "model.tflite"
    file.write_bytes(without_signatures(half_plus(2), messages))
    (signature,) = write_to_serve(file, tmp_path / "served")
    assert signature.method == CLASSIFY
    write_saved_model(file, tmp_path / "kept")
    for folder in ("served", "kept"):
        (told,) = inspect(tmp_path / folder).signatures
        assert (told.name, told.method) == ("rows", CLASSIFY)
        assert saved_model.load(str(tmp_path / folder)).signatures["rows"]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({METADATA: b"no flexbuffer at all"}, "must be a map of SignatureDefs"),
        (signature_defs(a=signature_def({"x": "z:0"}, {"y": "y"})), r"for tensor 'z:0'; .*\['x'\]"),
        (signature_defs(a=signature_def({}, {"y": "y"})), "names 0 of 1 inputs, by 0 names"),
        (
            signature_defs(a=signature_def({"x": "x", "again": "x"}, {"y": "y"})),
            "names 1 of 1 inputs, by 2 names",
        ),
    ],
)
def test_signature_defs_that_do_not_fit_are_refused(
    metadata: Mapping[str, bytes], message: str
) -> None:
    content = without_signatures(half_plus(2), metadata)
    with pytest.raises(DataLossError, match=message):
        read_content(content, "the file")


def test_names_of_tensors_end_before_the_colon() -> None:
    """Serving keeps the last of several outputs that then have one name; here none is lost."""
    x = Tensor("in:0", dtypes.float32, Shape([1, 2]))
    outs = [Tensor(f"out:{n}", dtypes.float32, Shape([1, 2])) for n in (0, 1)]
    kinds = ("RELU", "NEG")
    operators = [Operator(kind, [x], [out]) for kind, out in zip(kinds, outs, strict=True)]
    content = without_signatures(Subgraph("main", [x], outs, operators))
    found = keys_of(content, Naming.SERVING)
    assert found == {"serving_default": (["in"], ["out:0", "out"])}
    assert keys_of(content, Naming.OWN) == {"serving_default": (["in"], ["out", "out:1"])}
    functions, _ = functions_of(content, "the file", Naming.SERVING)
    results = functions["serving_default"].run_arrays({"in": np.float32([[-1, 2]])})
    assert results["out"].tolist() == [[1, -2]]


def test_signatures_with_other_names_stay_beside_those_of_tensors() -> None:
    content = (FOLDER / "lite" / "signatures.tflite").read_bytes()
    assert set(keys_of(content, Naming.OWN)) == {"encode", "decode"}
    assert set(keys_of(content, Naming.SERVING)) == {"serving_default", "encode", "decode"}


# LiteRT without XNNPACK is resized; sizes that it refuses are skipped.
ROWS = {
    *("control", "conv_int8", "conv_uint8", "convolutions", "dense", "dense_int8"),
    *("dense_of_rows", "elements", "elements_int8", "float16", "gru", "lstm", "pictures"),
    *("products", "shapes", "signatures", "solids", "spectra", "tables", "transposed"),
    *("conv_by_tensor", "conv_int16", "whole_numbers", "choices", "detection"),
}
# One quantisation step, as for each operator.
STEPS = {"elements_int8": 0.033}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_another_batch_gives_what_litert_gives_when_it_is_resized(name: str) -> None:
    pytest.importorskip("ai_edge_litert")
    content = (FOLDER / "lite" / f"{name}.tflite").read_bytes()
    functions, _ = functions_of(content, name, any_batch=True)
    for key, function in functions.items():
        for rows in (1, 4):
            feeds = {
                one: resized(draw(spec, rows), spec, rows)
                for one, spec in function.array_inputs.items()
            }
            try:
                wanted = Interpreter(content, WAYS[1]).run(feeds, key)
            except InternalError:
                continue
            found = function.run_arrays(feeds)
            for one, value in wanted.items():
                what = f"{rows} rows, {one}"
                assert_near(found[one], value, STEPS.get(name, TOLERANCE.get(name, 1e-5)), what)


def resized(array: Any, spec: Any, rows: int) -> Any:
    if not spec.shape.rank or spec.shape[0] is not None:
        return array
    return np.concatenate([array] * rows)[:rows]


def test_a_size_that_an_operator_needs_stays_as_the_file_fixes_it(tmp_path: Path) -> None:
    """Computed weights have a known number of columns only once the batch is known."""
    x = Tensor("x", dtypes.float32, Shape([3, 2]))
    w = Tensor("w", dtypes.float32, Shape([5, 2]))
    y = Tensor("y", dtypes.float32, Shape([3, 5]))
    options = {"fused_activation_function": 0, "weights_format": 0, "keep_num_dims": False}
    inputs: list[Tensor | None] = [x, w, None]
    file = tmp_path / "model.tflite"
    file.write_bytes(file_of("FULLY_CONNECTED", inputs, [y], options))
    write_to_serve(file, tmp_path / "served")
    served = saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    found = served.run_arrays({"x": np.ones([3, 2], np.float32), "w": np.ones([5, 2], np.float32)})
    assert found["y"].tolist() == [[2.0] * 5] * 3


def records() -> Any:
    first, second = Example(), Example()
    first.features.feature["x"].float_list.value.append(1.5)
    second.features.feature["y"].bytes_list.value.append(b"hi")
    return np.array([one.SerializeToString() for one in (first, second)], object)


def words(name: str, *texts: bytes) -> Tensor:
    return Tensor(name, dtypes.string, Shape([len(texts)]), np.array(texts, object))


@pytest.mark.parametrize("first", [True, False])
def test_records_are_parsed(first: bool) -> None:
    """Examples are parsed with the options that have only the numbers of keys.

    Source of the options: TensorFlow's lite/kernels/parse_example/parse_example.cc.
    """
    from flatbuffers import flexbuffers

    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Int("Nsparse" if first else "num_sparse", 0)
        if first:
            builder.Int("Ndense", 2)
    serialized = Tensor("input", dtypes.string, Shape([1]))
    keys = [words("kx", b"x"), words("ky", b"y")] if first else [words("keys", b"x", b"y")]
    none = [] if first else [words("sparse_keys")], [] if first else [words("ragged_keys")]
    zero = Tensor("zero", dtypes.float32, Shape([1]), np.float32([0]))
    inputs = [serialized, words("names"), *none[0], *keys, *none[1], zero, words("d", b"none")]
    outs = [
        Tensor("a", dtypes.float32, Shape([1, 1])),
        Tensor("b", dtypes.string, Shape([1, 1])),
    ]
    payload = bytes(builder.Finish())
    name = "ParseExample" if first else "ParseExampleV2"
    content = file_of("CUSTOM", list(inputs), outs, custom=name, payload=payload)
    functions, _ = functions_of(content, "the file", any_batch=True)
    found = functions["serving_default"].run_arrays({"input": records()})
    assert found["a"].tolist() == [[1.5], [0.0]]
    assert found["b"].tolist() == [[b"none"], [b"hi"]]
    damaged = file_of("CUSTOM", list(inputs[:-1]), outs, custom=name, payload=payload)
    with pytest.raises(DataLossError, match="do not match its inputs and outputs"):
        functions_of(damaged, "the file")


def test_a_list_of_outputs_of_tensorflow_s_own_ops_is_read() -> None:
    from flatbuffers import flexbuffers

    from pinnace.proto.node_def_pb2 import NodeDef

    node = NodeDef(name="split", op="Split")
    node.attr["T"].type = 1
    node.attr["num_split"].i = 2
    builder = flexbuffers.Builder()
    with builder.Vector():
        builder.String("Split")
        builder.Blob(node.SerializeToString())
    axis = Tensor("axis", dtypes.int32, Shape([]), np.int32(1))
    x = Tensor("x", dtypes.float32, Shape([1, 4]))
    outs = [Tensor(name, dtypes.float32, Shape([1, 2])) for name in ("a", "b")]
    content = file_of(
        "CUSTOM", [axis, x], outs, custom="FlexSplit", payload=bytes(builder.Finish())
    )
    function = functions_of(content, "the file")[0]["serving_default"]
    found = function.run_arrays({"x": np.float32([[1, 2, 3, 4]])})
    assert found["b"].tolist() == [[3, 4]]


def test_load_takes_signature_defs(tmp_path: Path) -> None:
    file = tmp_path / "model.tflite"
    messages = signature_defs(half=signature_def({"given": "x:0"}, {"found": "y:0"}))
    file.write_bytes(without_signatures(half_plus(2), messages))
    assert set(lite.load(file)) == {"half"}
