"""The peer of these tests is the TensorFlow that requirements/tensorflow.txt pins."""

from support.fresh_process import run_fresh


def test_the_peer_is_the_pinned_tensorflow(tensorflow_python: str) -> None:
    code = "import importlib.metadata as m; print(m.version('tensorflow-cpu'))"
    assert run_fresh(code, python=tensorflow_python).strip() == "2.21.0"
