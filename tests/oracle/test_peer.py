"""TensorFlow's processes: the pinned version, and the effects of crashes and leftovers."""

import numpy as np
import pytest

from oracle.peer import Peer, PeerDiedError
from support.fresh_process import run_fresh
from support.loaded_process import run_either

NEGATED = {
    "op": "Neg",
    "arguments": ["x"],
    "inputs": [np.float32([1, -2])],
    "attrs": {},
    "seed": None,
    "static": None,
}


def test_the_peer_is_the_pinned_tensorflow(tensorflow_python: str) -> None:
    code = "import importlib.metadata as m; print(m.version('tensorflow-cpu'))"
    assert run_fresh(code, python=tensorflow_python).strip() == "2.21.0"


def test_where_it_ends_its_end_is_told_and_the_next_call_answered(peer: Peer) -> None:
    for _ in range(2):
        peer.send([NEGATED, {"program": ["ending", "aborted"], "inputs": []}])
        with pytest.raises(PeerDiedError, match="it ended with -6"):
            peer.receive()
        peer.send([NEGATED])
        ((values,),) = [found["values"] for found in peer.receive()]
        np.testing.assert_array_equal(values, np.float32([-1, 2]))


def test_programs_of_a_loaded_process_reach_none_after_them(tensorflow_python: str) -> None:
    leaves = """
import builtins, os, sys
import tensorflow as tf
builtins.left = tf.Variable(1.0)
os.environ["LEFT"] = sys.argv[1]
open("left", "w").close()
tf.keras.backend.set_floatx("float64")
sys.exit(3)
"""
    with pytest.raises(AssertionError, match="exit code 3"):
        run_either(leaves, "here", python=tensorflow_python)
    finds = """
import builtins, os, sys
import tensorflow as tf
found = [hasattr(builtins, "left"), "LEFT" in os.environ, os.listdir(), sys.argv[1:]]
print(found, tf.keras.backend.floatx(), __name__, "leaves" in globals())
"""
    told = run_either(finds, python=tensorflow_python).strip()
    assert told == "[False, False, [], []] float32 __main__ False"
