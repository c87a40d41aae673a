"""Frozen graphs, tag sets and shapes at the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from support.command_line import pinnace
from support.golden import FOLDER

pytest.importorskip("onnxruntime")
MODELS = FOLDER / "v1_models"
TEXT = MODELS / "frozen_mlp_resources_as_text" / "graph.pbtxt"
MIDDLE = MODELS / "frozen_from_the_middle" / "graph.pb"
LOOP = MODELS / "frozen_loop" / "graph.pb"
TWO = MODELS / "serve_and_train" / "model"


def recorded(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "io.npz") as file:
        return {key: file[key] for key in file.files if key.startswith("0/")}


def test_a_frozen_graph_is_run_by_the_names_of_its_tensors(tmp_path: Path) -> None:
    known = recorded(TEXT.parent)
    np.save(tmp_path / "x.npy", known["0/serving_default/in/x:0"])
    answer = pinnace("run", TEXT, "--inputs", f"x={tmp_path}/x.npy", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    np.testing.assert_allclose(found["scores"], known["0/serving_default/out/scores:0"], rtol=1e-5)


def test_any_tensor_of_a_frozen_graph_may_be_given_and_wanted() -> None:
    given = ("--inputs", "decoded:0=[4.0, 9.0, 1.0]", "--outputs", "best:1", "--json")
    answer = pinnace("run", MIDDLE, *given)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out) == {"best:1": [1, 0]}
    assert "'raw'" not in answer.err


def test_what_a_frozen_graph_needs_besides_is_asked_for() -> None:
    answer = pinnace("run", LOOP, "--inputs", "n=3")
    assert answer.code == 1
    assert "no value for x" in answer.err
    assert pinnace("run", LOOP, "--inputs", "n=0", "--inputs", "x=[2.0]").code == 0


def test_a_frozen_graph_has_no_signatures() -> None:
    answer = pinnace("run", LOOP, "--signature", "serving_default")
    assert answer.code == 1
    assert "a frozen graph has no signatures; leave --signature out" in answer.err


def test_a_frozen_graph_is_shown() -> None:
    answer = pinnace("show", LOOP)
    assert answer.code == 0, answer.err
    for text in ("frozen graph", "all supported", "serving_default", "NextIteration 2"):
        assert text in answer.out
    assert "scores" in pinnace("show", TEXT, "--graph", "serving_default").out


def test_other_commands_say_what_a_frozen_graph_is_good_for(tmp_path: Path) -> None:
    answer = pinnace("edit", LOOP, tmp_path / "out")
    assert answer.code == 1
    assert "its kind is frozen graph" in answer.err
    assert "Try: pinnace run" in answer.err


def test_a_frozen_graph_is_exported(tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    answer = pinnace("export", TEXT, target)
    assert answer.code == 0, answer.err
    given = ("--inputs", "decoded:0", "--outputs", "best:1", "--input", "decoded=7")
    answer = pinnace("export", MIDDLE, target, *given)
    assert answer.code == 0, answer.err
    answer = pinnace("run", target, "--inputs", "decoded=np.arange(7, dtype=np.float32)", "--json")
    assert list(json.loads(answer.out).values()) == [[6, 5]]


def test_names_of_tensors_are_for_frozen_graphs_alone(tmp_path: Path) -> None:
    answer = pinnace("export", TWO, tmp_path / "m.onnx", "--outputs", "y")
    assert answer.code == 1
    assert "--inputs and --outputs are for frozen graphs" in answer.err


def test_a_shape_makes_an_input_of_unknown_rank_exportable(tmp_path: Path) -> None:
    model, target = MODELS / "unknown_rank" / "model", tmp_path / "m.onnx"
    answer = pinnace("export", model, target)
    assert answer.code == 1
    assert "--input x=?,3" in answer.err
    answer = pinnace("export", model, target, "--input", "x=?,3")
    assert answer.code == 0, answer.err
    answer = pinnace("run", target, "--inputs", "x=[[1.0, -2, 0.5]]", "--json")
    assert json.loads(answer.out) == {"n": 3, "y": [[3.0, 0.0, 1.5]]}
    assert pinnace("export", LOOP, target, "--input", "x=2,2").code == 0


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("x", "must be NAME=SHAPE, got 'x'"),
        ("x=1,b", "must be NAME=SHAPE"),
        ("z=3", "there is no input 'z'; the inputs are: x"),
        ("x=?,5", r"not of shape [?, 5]"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(given: str, wrong: str, tmp_path: Path) -> None:
    answer = pinnace("export", TEXT, tmp_path / "m.onnx", "--input", given)
    assert answer.code == 1
    assert wrong in answer.err


def test_a_sample_is_what_the_file_is_compared_on(tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    np.savez(tmp_path / "sample.npz", x=np.ones((3, 4), np.float32))
    answer = pinnace("export", TEXT, target, "--sample", tmp_path / "sample.npz")
    assert answer.code == 0, answer.err
    np.savez(tmp_path / "other.npz", y=np.ones((3, 4), np.float32))
    answer = pinnace("export", TEXT, target, "--sample", tmp_path / "other.npz")
    assert answer.code == 1
    assert "sample must have the inputs ['x']" in answer.err
    assert pinnace("export", TEXT, target, "--sample", tmp_path / "none.npz").code == 1


def test_the_only_signature_is_taken_of_several_one_is_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    module = tf.Module()
    module.double = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([2])])
    tf.saved_model.save(module, tmp_path / "model", signatures={"images": module.double})
    answer = pinnace("export", tmp_path / "model", target)
    assert answer.code == 0, answer.err
    answer = pinnace("export", TWO, target, "--tag_set", "train")
    assert answer.code == 1
    assert "signatures: 'eval', 'train'" in answer.err
    answer = pinnace("export", TWO, target, "--tag_set", "train", "--signature_def", "train")
    assert answer.code == 0, answer.err


def test_tags_are_spelt_as_saved_model_cli_has_them() -> None:
    for flag in ("--tags", "--tag_set"):
        answer = pinnace("run", TWO, flag, "train", "--signature_def", "eval", "--random")
        assert answer.code == 0, answer.err
        assert "eval" in pinnace("show", TWO, flag, "train").out
