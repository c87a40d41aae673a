"""`tf.saved_model.experimental`: fingerprints that TensorFlow wrote, and policies."""

import pytest

import pinnace as tf
from pinnace.proto.saved_model_pb2 import FingerprintDef

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
