"""Fingerprints: TensorFlow's and ours, mismatches on loading; and variable policies."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import DataLossError
from pinnace.proto.saved_model_pb2 import FingerprintDef, MetaGraphDef, SavedModel
from pinnace.saved_model import fingerprints
from pinnace.saved_model.editing import edit
from pinnace.saved_model.fingerprints import write_fingerprint

GOLDEN = Path(__file__).parents[2] / "golden"
PB = "saved_model.pb"

experimental = tf.saved_model.experimental
HASHES = {
    "saved_model_checksum": 2**64 - 1,
    "graph_def_program_hash": 1,
    "signature_def_hash": 2,
    "saved_object_graph_hash": 3,
    "checkpoint_hash": 4,
}


def test_a_fingerprint_is_read(tmp_path):
    message = FingerprintDef(**HASHES)
    message.version.producer = 3
    (tmp_path / "fingerprint.pb").write_bytes(message.SerializeToString())
    found = experimental.read_fingerprint(tmp_path)
    assert {name: getattr(found, name) for name in HASHES} == HASHES
    assert found.version.producer == 3
    assert found.singleprint() == "1/2/3/4"
    assert found == experimental.Fingerprint(**HASHES) == message
    assert found != experimental.Fingerprint(**{**HASHES, "checkpoint_hash": 5})
    assert hash(found) == hash(experimental.Fingerprint(**HASHES))
    assert "checkpoint_hash: 4" in str(found)


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="Fingerprint Error"):
        experimental.read_fingerprint(tmp_path)
    (tmp_path / "fingerprint.pb").write_bytes(b"\xff\xff")
    with pytest.raises(RuntimeError, match="Fingerprint Error"):
        experimental.read_fingerprint(tmp_path)
    with pytest.raises(ValueError, match="could not be deserialized"):
        experimental.Fingerprint.from_proto(3)
    with pytest.raises(ValueError, match="singleprint"):
        experimental.Fingerprint(1).singleprint()


def test_policies_have_names():
    policy = experimental.VariablePolicy
    assert policy.from_obj(None) is policy.NONE
    assert policy.from_obj("save_variable_devices") is policy.SAVE_VARIABLE_DEVICES
    with pytest.raises(ValueError, match="invalid VariablePolicy"):
        policy.from_obj("other")


class Numbers(tf.Module):
    """A model whose values are constants of its graph."""

    def __init__(self) -> None:
        super().__init__()
        self.table = np.arange(400, dtype=np.float32).reshape(20, 20)

    @tf.function(input_signature=[tf.TensorSpec([None, 20], tf.float32)])
    def __call__(self, x):
        return tf.matmul(x, self.table)


def saved_here(folder: Path) -> Path:
    tf.saved_model.save(Numbers(), folder / "model")
    return folder / "model"


def saved_by_tensorflow(folder: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "saved_models" / "words" / "model", folder / "model"))


WRITERS = pytest.mark.parametrize("write", [saved_here, saved_by_tensorflow])


def by_tensorflow() -> list[Path]:
    """Models with fingerprints that TensorFlow computed."""
    return sorted(one.parent for one in GOLDEN.rglob("fingerprint.pb"))


@pytest.mark.parametrize("model", by_tensorflow(), ids=lambda one: one.parent.name)
def test_every_hash_is_the_one_that_tensorflow_wrote(tmp_path, model):
    data = (model / PB).read_bytes()
    shutil.copytree(model / "variables", tmp_path / "variables")
    write_fingerprint(SavedModel.FromString(data), data, tmp_path)
    assert experimental.read_fingerprint(tmp_path) == experimental.read_fingerprint(model)
    assert experimental.read_fingerprint(tmp_path).version.producer == 4


@WRITERS
def test_no_changed_bit_is_taken_for_a_model(tmp_path, write):
    model = write(tmp_path)
    data = (model / PB).read_bytes()
    draw = random.Random(3)
    same = 0
    for _ in range(60):
        changed = bytearray(data)
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        (model / PB).write_bytes(changed)
        try:
            tf.saved_model.load(model)
        except DataLossError as error:
            assert "saved_model.pb is damaged" in str(error)  # noqa: PT017 (or it is the same)
        else:  # a bool of 3 instead of 1 is still true
            assert SavedModel.FromString(bytes(changed)) == SavedModel.FromString(data)
            same += 1
    assert same <= 3
    (model / PB).write_bytes(data)
    tf.saved_model.load(model)


@WRITERS
def test_the_error_says_how_to_load_what_was_changed_on_purpose(tmp_path, write):
    model = write(tmp_path)
    message = SavedModel.FromString((model / PB).read_bytes())
    message.meta_graphs[0].meta_info_def.tensorflow_git_version = "mine"
    (model / PB).write_bytes(message.SerializeToString())
    with pytest.raises(DataLossError, match=r"remove .*fingerprint\.pb, and it is not compared"):
        tf.saved_model.load(model)
    (model / "fingerprint.pb").unlink()
    tf.saved_model.load(model)


@WRITERS
@pytest.mark.parametrize("content", [b"", b"\xff\xff", b"\x32\x02\x08\x04"])
def test_a_damaged_fingerprint_is_said(tmp_path, write, content):
    model = write(tmp_path)
    (model / "fingerprint.pb").write_bytes(content)
    with pytest.raises(DataLossError, match=r"fingerprint\.pb is damaged"):
        tf.saved_model.load(model)


def test_the_order_in_which_a_writer_serialised_does_not_matter(tmp_path):
    """TensorFlow's checksum is that of the message: other runtimes may order maps differently."""
    model = saved_by_tensorflow(tmp_path)
    whole = SavedModel.FromString((model / PB).read_bytes())
    meta = whole.meta_graphs[0]
    entries = []
    for name in sorted(meta.signature_def, reverse=True):
        entry = MetaGraphDef()
        entry.signature_def[name].CopyFrom(meta.signature_def[name])
        entries.append(entry.SerializeToString())
    meta.ClearField("signature_def")
    # Two concatenated messages are one message for every parser.
    body = b"".join([*entries, meta.SerializeToString()])
    whole.ClearField("meta_graphs")
    size = bytes(128 | len(body) >> by & 127 for by in (0, 7, 14)) + bytes([len(body) >> 21])
    data = b"\x12" + size + body + whole.SerializeToString()
    assert data != (model / PB).read_bytes()
    (model / PB).write_bytes(data)
    assert tf.saved_model.load(model).signatures


def test_a_large_graph_is_compared_by_its_crc(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprints, "LARGEST_HASHED", 1000)
    model = saved_here(tmp_path)
    found = experimental.read_fingerprint(model)
    assert found.saved_model_checksum == found.graph_def_program_hash == 0
    assert found.signature_def_hash
    assert found.saved_object_graph_hash
    assert found.checkpoint_hash
    tf.saved_model.load(model)
    data = bytearray((model / PB).read_bytes())
    at = data.index(np.float32(123).tobytes())
    data[at] ^= 1
    (model / PB).write_bytes(data)
    with pytest.raises(DataLossError, match="checksum"):
        tf.saved_model.load(model)


def test_a_large_graph_of_tensorflow_is_compared_if_asked(tmp_path, monkeypatch):
    model = saved_by_tensorflow(tmp_path)
    message = SavedModel.FromString((model / PB).read_bytes())
    message.meta_graphs[0].meta_info_def.tensorflow_git_version = "mine"
    (model / PB).write_bytes(message.SerializeToString())
    monkeypatch.setattr(fingerprints, "LARGEST_COMPARED", 1000)
    tf.saved_model.load(model)
    with pytest.raises(DataLossError, match="checksum"):
        tf.saved_model.load(model, options=tf.saved_model.LoadOptions(verify=True))


def test_rules_that_are_not_known_are_not_compared(tmp_path):
    model = saved_by_tensorflow(tmp_path)
    stored = FingerprintDef.FromString((model / "fingerprint.pb").read_bytes())
    stored.saved_model_checksum += 1
    stored.version.producer = 1
    (model / "fingerprint.pb").write_bytes(stored.SerializeToString())
    tf.saved_model.load(model)


def test_an_edited_model_has_its_own(tmp_path):
    model = saved_here(tmp_path)
    edit(model, tmp_path / "edited", tags=["serve", "mine"])
    before = experimental.read_fingerprint(model)
    after = experimental.read_fingerprint(tmp_path / "edited")
    assert before.saved_model_checksum != after.saved_model_checksum
    tf.saved_model.load(tmp_path / "edited")


def test_two_saves_of_one_model_have_one_fingerprint(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        model = tf.Module()
        model.v = tf.Variable([1.0, 2.0])
        tf.saved_model.save(model, folder)
    assert (first / "fingerprint.pb").read_bytes() == (second / "fingerprint.pb").read_bytes()
