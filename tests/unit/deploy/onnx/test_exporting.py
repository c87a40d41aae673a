"""export: the file, the report, the refusals."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import pinnace as tf
from pinnace.deploy.onnx import NO_ONNX, ExportReport, export
from pinnace.deploy.onnx.verification import checking
from pinnace.framework import dtypes, errors
from pinnace.framework.specs import TensorSpec
from pinnace.functions.concrete import ConcreteFunction
from unit.deploy.onnx.networks import NETWORKS, classifier, image, op, traced, weights

X = TensorSpec([None, 3], np.float32, name="x")


def by_name(function: Any, **specs: TensorSpec) -> ConcreteFunction:
    """A signature: called by name, results by name."""
    names = sorted(specs)

    def flat(*tensors: Any) -> Any:
        found = function(**dict(zip(names, tensors, strict=True)))
        return tuple(found[name] for name in sorted(found))

    concrete = traced(flat, *[TensorSpec(specs[n].shape, specs[n].dtype, n) for n in names])
    results = function_results(function, specs)
    outputs = dict(zip(results, concrete.structured_outputs, strict=True))
    return ConcreteFunction(
        concrete.graph, concrete.captured, ((), dict(specs)), outputs, by_name=True
    )


def function_results(function: Any, specs: dict[str, TensorSpec]) -> list[str]:
    found: list[str] = []

    def probe(*tensors: Any) -> Any:
        results = function(**dict(zip(sorted(specs), tensors, strict=True)))
        found.extend(sorted(results))
        return tuple(results[name] for name in sorted(results))

    traced(probe, *[specs[name] for name in sorted(specs)])
    return found


class Model:
    """The part of a Keras model that `export` uses."""

    def __init__(self, **signatures: ConcreteFunction) -> None:
        self.given = signatures

    def _default_signatures(self) -> dict[str, ConcreteFunction]:
        return self.given


def exported(**options: Any) -> ExportReport:
    return export(traced(classifier, image()), **options)


# Results.


def test_the_file_is_what_was_reported(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    report = exported(path=path)
    model = onnx.load(path)
    assert model == report.model
    assert report.path == str(path)
    assert report.file_bytes == path.stat().st_size
    assert report.node_count == len(model.graph.node) == sum(report.op_counts.values())
    assert report.opset == model.opset_import[0].version == 18
    assert report.ir_version == model.ir_version == 8
    assert report.source_counts["Conv2D"] == 2
    assert report.unconvertible == {}


def test_the_report_tells_how_well_both_sides_agree() -> None:
    report = exported()
    assert report.largest_difference is not None
    assert report.largest_relative is not None
    assert 0 <= report.largest_difference <= 1e-6
    assert report.largest_relative <= 1e-5
    assert report.batches >= 2


def test_a_report_is_plain_data() -> None:
    found = exported().as_dict()
    assert found["inputs"] == {"image": "float32[?, 8, 8, 3]"}
    assert found["outputs"] == {"output_0": "float32[?, 10]"}
    assert found["transposes"] == 1


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, (function, spec) in NETWORKS.items():
        files = [tmp_path / f"{name}{i}.onnx" for i in range(2)]
        for file in files:
            export(traced(function, spec), file)
        assert files[0].read_bytes() == files[1].read_bytes(), name


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from unit.deploy.onnx.networks import branches, image, traced\n"
        "from pinnace.deploy.onnx import export\n"
        "export(traced(branches, image()), sys.argv[2])\n"
    )
    tests = Path(__file__).parents[3]
    files = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for seed, file in enumerate(files):
        subprocess.run(
            [sys.executable, "-c", program, str(tests), str(file)],
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PATH": ""},
        )
    assert files[0].read_bytes() == files[1].read_bytes()


def test_unknown_sizes_have_names() -> None:
    model = exported().model
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_sizes_of_two_inputs_have_two_names() -> None:
    def net(x: Any, y: Any) -> Any:
        return op("AddV2", x, y)

    specs = [TensorSpec([None, 3], np.float32, name=name) for name in "xy"]
    model = export(traced(net, *specs)).model
    names = [value.type.tensor_type.shape.dim[0].dim_param for value in model.graph.input]
    assert names == ["x_batch", "y_batch"]


def test_metadata_says_where_it_comes_from() -> None:
    model = exported(signature="classify").model
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts["signature"] == "classify"
    assert facts["exporter"].startswith("pinnace ")
    assert model.producer_name == "pinnace"


def test_metadata_names_the_saved_model_and_who_wrote_it() -> None:
    folder = Path(__file__).parents[3] / "golden" / "saved_models" / "keras_mlp" / "model"
    facts = {entry.key: entry.value for entry in export(folder).model.metadata_props}
    assert facts["source"] == "model"
    assert facts["signature"] == "serving_default"
    assert re.fullmatch(r"2\.\d+\.\d+", facts["source_tensorflow_version"])
    assert re.fullmatch(r"[0-9a-f]{16}", facts["source_saved_model_checksum"])
    assert "float32[?" in facts["inputs"]


def test_axes_of_images_and_others_have_names_of_their_own() -> None:
    specs = [
        TensorSpec([None, None, None, 3], np.float32, name="picture"),
        TensorSpec([None, None], np.float32, name="more"),
    ]
    concrete = traced(lambda x, y: (op("Relu", x), op("Tanh", y)), *specs)
    model = export(concrete).model
    given, made = (
        [[dim.dim_param or dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in side]
        for side in (model.graph.input, model.graph.output)
    )
    assert given == [
        ["picture_batch", "picture_height", "picture_width", 3],
        ["more_batch", "more_axis1"],
    ]
    assert made == given


def test_weights_are_initializers_and_stand_there_once() -> None:
    shared = weights(3, 3)

    def net(x: Any) -> Any:
        return op("MatMul", op("Relu", op("MatMul", x, shared)), shared)

    model = export(traced(net, X)).model
    assert len(model.graph.initializer) == 1
    assert [value.name for value in model.graph.input] == ["x"]


def test_a_signature_is_exported_by_its_names() -> None:
    def serve(b: Any, a: Any) -> Any:
        return {"total": op("AddV2", a, b), "apart": op("Sub", a, b)}

    report = export(by_name(serve, b=X, a=X))
    assert [value.name for value in report.model.graph.input] == ["a", "b"]
    assert [value.name for value in report.model.graph.output] == ["apart", "total"]


def test_one_name_for_input_and_output_becomes_two() -> None:
    report = export(by_name(lambda x: {"x": op("Relu", x)}, x=X))
    assert report.output_names == {"x": "x_out"}
    facts = {entry.key: entry.value for entry in report.model.metadata_props}
    assert facts["renamed_outputs"] == "x -> x_out"


NAMES = ["input_1:0", "a$b", "scope/x", "two words", "é", "0", "a_b", "a.b"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_those_of_the_signature(name: str) -> None:
    def serve(**given: Any) -> Any:
        return {f"{name}/out": op("Relu", given[name])}

    report = export(by_name(serve, **{name: X}))
    session = checking.open_session(report.model.SerializeToString())
    x = np.float32([[-1, 0, 2]])
    (got,) = session.run([f"{name}/out"], {name: x})
    np.testing.assert_array_equal(got, [[0, 0, 2]])


@pytest.mark.parametrize("ending", [".tflite", ".ort", ".pb", ".onn", ".onnx.gz", ""])
def test_an_ending_says_the_format(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    with pytest.raises(errors.InvalidArgumentError, match=r"must end in \.onnx(.|\n)*Try: "):
        export(traced(classifier, image()), path)
    assert not path.exists()
    export(traced(classifier, image()), tmp_path / "model.ONNX")


def test_results_that_nothing_computes_are_copied() -> None:
    variable = weights(2)

    def serve(x: Any) -> Any:
        return {"same": x, "again": x, "constant": variable.value(), "zero": op("Neg", [0.0])}

    report = export(by_name(serve, x=X))
    assert report.op_counts == {"Identity": 4}


def test_a_model_is_asked_for_its_signatures() -> None:
    concrete = traced(classifier, image())
    report = export(Model(serving_default=concrete, other=concrete), signature="other")
    assert report.signature == "other"


@pytest.mark.parametrize("opset", [18, 20, 23, 26])
def test_later_opsets_work_as_well(opset: int) -> None:
    assert exported(opset=opset, ir_version=10).opset == opset


def test_bfloat16_is_rounded_where_the_program_rounds() -> None:
    def net(x: Any) -> Any:
        narrow = op("Cast", x, DstT=dtypes.bfloat16)
        return op("Cast", op("Mul", narrow, narrow), DstT=dtypes.float32)

    report = export(traced(net, X))
    assert report.casts == {"Mul bfloat16 -> float32": 1}
    assert report.largest_difference == 0


# Refusals.


def refused(function: Any, *specs: TensorSpec) -> str:
    with pytest.raises(errors.UnimplementedError) as caught:
        export(traced(function, *specs))
    return str(caught.value)


def test_a_refusal_names_every_op_node_and_line() -> None:
    def net(x: Any) -> Any:
        square = op("MatMul", x, x, transpose_a=True)
        first = op("Ndtri", square)  # here
        second = op("Ndtri", first)
        return op("NextAfter", second, second)

    message = refused(net, X)
    assert "2 ops of 'net' cannot be written in ONNX" in message
    assert f"Ndtri (2 nodes): {NO_ONNX['Ndtri']}" in message
    assert f"NextAfter (1 node): {NO_ONNX['NextAfter']}" in message
    assert (
        len(re.findall(rf"called at {re.escape(__file__)}:\d+|called at .*networks", message)) >= 3
    )


def test_what_follows_a_refused_op_is_looked_at_too() -> None:
    def net(x: Any) -> Any:
        drawn = op("RandomUniform", op("Shape", x), dtype=dtypes.float32)
        return op("Ndtri", op("AddV2", x, drawn))

    message = refused(net, X)
    assert "allow_random=True (--allow-random) lets ONNX Runtime draw them" in message
    assert NO_ONNX["Ndtri"] in message


def test_nothing_is_written_when_something_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"what was there")
    with pytest.raises(errors.UnimplementedError):
        export(traced(lambda x: op("Ndtri", x), X), path)
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_written_when_both_sides_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(session: object, feeds: dict[str, Any], *limit: float) -> list[Any]:
        del session, limit
        return [np.ones((len(feeds["image"]), 10), np.float32)]

    monkeypatch.setattr(checking, "run_session", run)
    with pytest.raises(errors.InternalError, match="output 'output_0' differs by"):
        exported(path=tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_variable_that_a_loop_assigns_is_named() -> None:
    variable = weights(3)

    @tf.function
    def net(x: Any) -> Any:
        for row in x:
            variable.assign_add(row)
        return x - variable

    with pytest.raises(errors.UnimplementedError) as caught:
        export(net.get_concrete_function(X))
    message = str(caught.value)
    assert f"variable {variable.name.removesuffix(':0')!r}" in message
    assert "AssignAddVariableOp assigns variable" in message


def test_a_table_or_state_is_told_as_such() -> None:
    assert "no state" in NO_ONNX["LookupTableInsertV2"]


def test_weights_that_are_nan_are_refused() -> None:
    bad = weights(3, 2)
    values = bad.numpy().copy()
    values[1, 1] = np.nan
    bad.assign(values)
    with pytest.raises(errors.InvalidArgumentError, match="holds 1 NaN among its 6 elements"):
        export(traced(lambda x: op("MatMul", x, bad), X))


def test_an_unknown_signature_is_told_with_those_there_are() -> None:
    concrete = traced(classifier, image())
    with pytest.raises(errors.NotFoundError, match="no signature 'classify'\n  signatures: 'a'"):
        export(Model(a=concrete), signature="classify")


@pytest.mark.parametrize("opset", [0, 7, 17, 27, 99, "18", None, True])
def test_an_opset_out_of_range_is_refused(opset: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="opset must be from 18 to 26, got"):
        exported(opset=opset)


@pytest.mark.parametrize("version", [3, 14, "8"])
def test_a_format_version_out_of_range_is_refused(version: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="ir_version must be from 8 to 13, got"):
        exported(ir_version=version)


def test_an_input_of_unknown_rank_is_explained() -> None:
    spec = TensorSpec(None, np.float32, name="anything")
    with pytest.raises(errors.InvalidArgumentError) as caught:
        export(traced(lambda x: op("Relu", x), spec))
    assert "rank of input 'anything' is unknown" in str(caught.value)
    assert "Try: " in str(caught.value)


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError):
        exported(path=tmp_path / "missing" / "model.onnx")
    with pytest.raises(errors.OpError):
        export(tmp_path / "no model")


@pytest.mark.parametrize("thing", [3, None, lambda x: x])
def test_other_objects_are_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="model must be a SavedModel's folder"):
        export(thing)


# Comparison.


def test_inputs_can_be_given() -> None:
    picture = np.zeros((5, 8, 8, 3))
    assert exported(sample={"image": picture}).batches == 1


def test_other_inputs_than_the_models_are_refused() -> None:
    with pytest.raises(errors.FailedPreconditionError, match=r"must have the inputs \['image'\]"):
        exported(sample={"picture": np.zeros((1, 8, 8, 3))})


def test_a_model_that_takes_no_drawn_input_asks_for_one() -> None:
    def net(x: Any) -> Any:
        return op("Reshape", x, np.array([-1, 1009], np.int32))

    concrete = traced(net, TensorSpec([None, None], np.float32, name="x"))
    with pytest.raises(errors.FailedPreconditionError, match="Try: export"):
        export(concrete)
    assert export(concrete, sample={"x": np.ones((2, 1009))}).batches == 1


def test_without_verifying_nothing_is_compared() -> None:
    report = exported(verify=False)
    assert report.largest_difference is None
    assert report.batches == 0


def test_effects_that_change_nothing_are_left_out_and_counted() -> None:
    def net(x: Any) -> Any:
        op("CheckNumerics", x, message="fine")
        return op("Relu", x)

    assert export(traced(net, X)).node_count == 1


def test_importing_pinnace_does_not_import_onnx() -> None:
    program = "import sys, pinnace; assert not {'onnx', 'onnxruntime'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_deploy_gives_onnx_when_asked() -> None:
    program = "from pinnace import deploy; assert deploy.onnx.export"
    subprocess.run([sys.executable, "-c", program], check=True)
