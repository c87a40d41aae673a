"""`pinnace scan` finds what a model could do, and calls harmless models so."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.deploy.cli.findings import LEVELS
from pinnace.ops.registry import registered
from pinnace.proto.saved_model_pb2 import SavedModel
from support.changed_models import write_changed
from support.command_line import pinnace
from support.golden import FOLDER

onnx = pytest.importorskip("onnx")
h5py = pytest.importorskip("h5py")
SAVED_MODELS = FOLDER / "saved_models"
MODELS = sorted(one.name for one in SAVED_MODELS.iterdir() if one.is_dir())


def scan(path: Path, *options: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """The exit code, title -> level, and the whole output."""
    answer = pinnace("scan", path, "--json", *options)
    assert answer.code in (0, 1), answer.err
    told = json.loads(answer.out)
    return answer.code, {one["title"]: one["level"] for one in told["findings"]}, told


def changed(tmp_path: Path, name: str, change: Callable[[Any], None]) -> Path:
    """A copy of a model whose graph was changed."""
    folder = tmp_path / name
    shutil.copytree(SAVED_MODELS / name / "model", folder)
    file = folder / "saved_model.pb"
    message = SavedModel.FromString(file.read_bytes())
    change(message.meta_graphs[0])
    write_changed(file, message)
    return folder


def body_of(meta: Any, start: str) -> Any:
    return next(f for f in meta.graph_def.library.function if f.signature.name.startswith(start))


@pytest.mark.parametrize("name", MODELS)
def test_what_tensorflow_wrote_without_files_is_harmless(name: str) -> None:
    code, titles, told = scan(SAVED_MODELS / name / "model")
    assert code == 0
    assert LEVELS.index(told["level"]) <= LEVELS.index("low")
    assert "size" in titles
    assert ("reads a file when it is loaded" in titles) == bool(
        list((SAVED_MODELS / name / "model").glob("assets/*"))
    )


@pytest.mark.parametrize(
    ("op", "title", "level"),
    [
        ("ReadFile", "reads files", "high"),
        ("WriteFile", "writes files", "high"),
        ("SaveV2", "writes files", "high"),
        ("EagerPyFunc", "runs Python", "high"),
        ("DataServiceDatasetV4", "uses the network", "high"),
        ("Vendor>Thing", "custom ops", "high"),
        ("XlaLaunch", "carries compiled code", "medium"),
        ("NobodyKnowsThis", "ops unknown here", "medium"),
        ("PrintV2", "prints", "low"),
    ],
)
def test_an_op_that_a_signature_reaches_is_told(
    op: str, title: str, level: str, tmp_path: Path
) -> None:
    def add(meta: Any) -> None:
        body_of(meta, "__inference_f").node_def.add(name="inserted", op=op)

    model = changed(tmp_path, "poly_module", add)
    code, titles, told = scan(model)
    assert titles[title] == level
    assert code == (level == "high")
    (finding,) = [one for one in told["findings"] if one["title"] == title]
    assert any("inserted" in place for place in finding["places"])
    assert scan(model, "--fail-on", "never")[0] == 0
    assert scan(model, "--fail-on", "low")[0] == 1
    text = pinnace("scan", model).out
    assert f"{level:6}  {title}" in text


@pytest.mark.parametrize(
    ("op", "attribute", "title"),
    [
        ("PrintV2", ("output_stream", b"file:///srv/models/log"), "writes files"),
        ("FixedUnigramCandidateSampler", ("vocab_file", b"/etc/passwd"), "reads files"),
    ],
)
def test_an_op_whose_attribute_names_a_file_is_told(
    op: str, attribute: tuple[str, bytes], title: str, tmp_path: Path
) -> None:
    def add(meta: Any) -> None:
        node = body_of(meta, "__inference_f").node_def.add(name="inserted", op=op)
        node.attr[attribute[0]].s = attribute[1]

    code, titles, _ = scan(changed(tmp_path, "poly_module", add))
    assert (code, titles[title]) == (1, "high")


def test_whatever_the_gate_stops_is_told_and_fails_the_scan(tmp_path: Path) -> None:
    stopped = [
        op.name
        for op in registered().values()
        if isinstance(op.reaches, str) and op.reaches not in ("", "the terminal")
    ]
    for op in stopped:
        if op == "InitializeTableFromTextFileV2":
            continue  # it may read an asset, see below

        def add(meta: Any, op: str = op) -> None:
            body_of(meta, "__inference_f").node_def.add(name="inserted", op=op)

        code, _, told = scan(changed(tmp_path / op, "poly_module", add))
        assert code == 1, op
        assert any("inserted" in place for one in told["findings"] for place in one["places"])


def test_a_table_that_names_its_file_is_told(tmp_path: Path) -> None:
    def add(meta: Any) -> None:
        body = body_of(meta, "__inference_f").node_def
        path = body.add(name="path", op="Const")
        path.attr["value"].tensor.string_val.append(b"/etc/passwd")
        body.add(name="same", op="Identity", input=["path:output:0"])
        body.add(
            name="inserted",
            op="InitializeTableFromTextFileV2",
            input=["handle", "same:output:0", "^other"],
        )

    code, titles, _ = scan(changed(tmp_path, "poly_module", add))
    assert (code, titles["fills a table from a file that is not its own"]) == (1, "high")


def test_an_op_that_nothing_reaches_weighs_less(tmp_path: Path) -> None:
    def add(meta: Any) -> None:
        meta.graph_def.node.add(name="inserted", op="ReadFile")

    code, titles, _ = scan(changed(tmp_path, "poly_module", add))
    assert code == 0
    assert titles["reads files, in nodes that nothing calls"] == "low"


def test_paths_in_constants_are_told(tmp_path: Path) -> None:
    def add(meta: Any) -> None:
        node = body_of(meta, "__inference_f").node_def.add(name="inserted", op="Const")
        node.attr["value"].tensor.string_val.extend([b"/etc/passwd", b"s3://bucket/x", b"a/b"])

    _, titles, told = scan(changed(tmp_path, "poly_module", add))
    assert titles["names of files or addresses"] == "low"
    (finding,) = [one for one in told["findings"] if one["title"] == "names of files or addresses"]
    assert finding["count"] == 2


@pytest.mark.parametrize(
    ("name", "title", "level"),
    [
        ("helper.so", "programs", "medium"),
        ("assets.extra/helper.so", "programs", "medium"),
        ("assets.extra/pinnace_kernels/native.so", "kernels compiled ahead", "medium"),
        ("weights.pkl", "pickles", "high"),
    ],
)
def test_files_that_do_not_belong_there_are_told(
    name: str, title: str, level: str, tmp_path: Path
) -> None:
    shutil.copytree(SAVED_MODELS / "counter" / "model", tmp_path / "m")
    file = tmp_path / "m" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")
    _, levels, told = scan(tmp_path / "m")
    assert levels[title] == level
    if title == "kernels compiled ahead":
        (finding,) = [one for one in told["findings"] if one["title"] == title]
        assert "Nothing runs it any more" in str(finding)


def test_links_and_assets_that_lead_out_are_told(tmp_path: Path) -> None:
    def escape(meta: Any) -> None:
        meta.asset_file_def[0].filename = "../../secret.txt"

    assert scan(changed(tmp_path, "lookup_assets", escape))[1]["an asset outside the model"] == (
        "high"
    )
    shutil.copytree(SAVED_MODELS / "counter" / "model", tmp_path / "m")
    (tmp_path / "m" / "assets").mkdir(exist_ok=True)
    (tmp_path / "m" / "assets" / "words.txt").symlink_to("/etc/hostname")
    assert scan(tmp_path / "m")[1]["links out of its folder"] == "high"


def keras_file(path: Path, config: Any, **parts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", b"")
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def sequential(*layers: Any) -> Any:
    return {"module": "keras", "class_name": "Sequential", "config": {"layers": list(layers)}}


DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 2}}
CODE = {"class_name": "__lambda__", "config": {"code": "4wAAAA==", "defaults": None}}
LAMBDA = {"module": "keras.layers", "class_name": "Lambda", "config": {"name": "l"}}


@pytest.mark.parametrize(
    ("layer", "title", "level"),
    [
        ({**LAMBDA, "config": {"name": "l", "function": CODE}}, "carries Python code", "high"),
        (
            {
                **LAMBDA,
                "config": {
                    "function": {
                        "module": "builtins",
                        "class_name": "function",
                        "config": "double",
                        "registered_name": "function",
                    }
                },
            },
            "calls a Python function by name",
            "medium",
        ),
        (
            {"class_name": "Lambda", "config": {"function": ["4wAA", None, None]}},
            "carries Python code",
            "high",
        ),
        (
            {"module": "os", "class_name": "system", "config": "true", "registered_name": None},
            "custom objects",
            "high",
        ),
        (
            {"module": "shop.layers", "class_name": "Cart", "registered_name": "shop>Cart"},
            "custom objects",
            "medium",
        ),
        (
            {**DENSE, "class_name": "TFSMLayer", "config": {"filepath": "/models/x"}},
            "loads another model",
            "medium",
        ),
    ],
)
def test_keras_files_that_need_code_are_told(
    layer: Any, title: str, level: str, tmp_path: Path
) -> None:
    path = keras_file(tmp_path / "m.keras", sequential(DENSE, layer))
    code, titles, _ = scan(path)
    assert titles == {title: level, "size": "info"}
    assert code == (level == "high")


def test_a_plain_keras_file_is_harmless(tmp_path: Path) -> None:
    code, titles, told = scan(keras_file(tmp_path / "m.keras", sequential(DENSE, DENSE)))
    assert (code, told["level"], set(titles)) == (0, "info", {"size"})


def test_keras_archives_that_harm_who_unpacks_them(tmp_path: Path) -> None:
    path = keras_file(
        tmp_path / "m.keras", sequential(DENSE), **{"../x": b"x", "zeros": bytes(65_000_000)}
    )
    _, titles, _ = scan(path)
    assert titles["unpacks outside its folder"] == "high"
    assert titles["grows when it is unpacked"] == "high"
    path.write_bytes(path.read_bytes()[:200])
    assert pinnace("scan", path).code == 2


def test_hdf5_files_are_read_too(tmp_path: Path) -> None:
    layer = {"class_name": "Lambda", "config": {"function": ["4wAA", None, None]}}
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(sequential(layer))
        file["weights/a"] = np.zeros(2)
        file["weights/b"] = h5py.ExternalLink("/etc/other.h5", "/x")
    _, titles, _ = scan(tmp_path / "m.h5")
    assert titles["carries Python code"] == "high"
    assert titles["links to other files"] == "high"
    (tmp_path / "n.h5").write_bytes(b"no")
    assert pinnace("scan", tmp_path / "n.h5").code == 2


def onnx_file(path: Path, *nodes: Any, tensors: tuple[Any, ...] = ()) -> Path:
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph(list(nodes), "g", [value], [value], list(tensors))
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    return path


def external(location: str) -> Any:
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[1])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize(
    ("domain", "op", "title", "level"),
    [
        ("vendor.ops", "Thing", "custom ops", "high"),
        ("ai.onnx.contrib", "PyOp", "runs Python", "high"),
        ("com.microsoft", "FusedMatMul", "ops of ONNX Runtime", "low"),
        ("", "Loop", "has loops", "info"),
    ],
)
def test_ops_of_an_onnx_file_are_told(
    domain: str, op: str, title: str, level: str, tmp_path: Path
) -> None:
    node = onnx.helper.make_node(op, ["x"], ["y"], domain=domain)
    inner = onnx.helper.make_graph([node], "inner", [], [])
    outer = onnx.helper.make_node("If", ["x"], ["z"], then_branch=inner, else_branch=inner)
    for number, one in enumerate((node, outer)):
        _, titles, _ = scan(onnx_file(tmp_path / f"{number}.onnx", one))
        assert titles[title] == level


@pytest.mark.parametrize(
    ("location", "title", "level"),
    [
        ("/etc/passwd", "weights outside its folder", "high"),
        ("../other/w.bin", "weights outside its folder", "high"),
        ("C:\\w.bin", "weights outside its folder", "high"),
        ("missing.bin", "missing weights", "medium"),
        ("there.bin", "weights in other files", "info"),
    ],
)
def test_weights_in_other_files_are_told(
    location: str, title: str, level: str, tmp_path: Path
) -> None:
    (tmp_path / "there.bin").write_bytes(bytes(4))
    path = onnx_file(tmp_path / "m.onnx", tensors=(external(location),))
    assert scan(path)[1][title] == level


@pytest.mark.parametrize("name", ["m.onnx", "m.keras"])
def test_a_damaged_file_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x00\xff nothing of the kind")
    answer = pinnace("scan", tmp_path / name)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    wrong = pinnace("scan", tmp_path / name, "--fail-on", "sometimes")
    assert wrong.code == 2
