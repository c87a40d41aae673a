"""When a row of the benchmarks has met its aim; and the aims that were set."""

import pytest

from harness import Case, Comparison, Turn

# As set, as ratios of pinnace's time to the peer's. They are not relaxed.
AIMS = {
    "infer_mobilenet": {"tensorflow": 0.2, "onnxruntime": 0.85},
    "infer_mobilenet_32": {"tensorflow": 0.4, "onnxruntime": 0.9},
    "infer_resnet": {"tensorflow": 0.45, "onnxruntime": 0.85},
    "infer_resnet_32": {"tensorflow": 0.75, "onnxruntime": 0.88},
    "infer_encoder": {"tensorflow": 0.33, "onnxruntime": 0.9},
    "infer_encoder_32": {"tensorflow": 0.6, "onnxruntime": 0.85},
    "infer_perceptron": {"tensorflow": 0.08, "onnxruntime": 1.0},
    "infer_perceptron_32": {"tensorflow": 0.3, "onnxruntime": 1.0},
    "mlp_step": {"tensorflow": 0.6, "jax": 0.8},
    "mlp_fit": {"tensorflow": 0.25, "jax": 0.8},
    "cnn_step": {"tensorflow": 0.7},
    "infer_lstm_32": {"tensorflow": 0.2, "jax": 0.8},
    "lstm_step": {"tensorflow": 0.25, "jax": 0.6},
    "lstm_cell_layer": {"tensorflow": 0.02, "jax": 0.2},
    "collatz": {"tensorflow": 0.02, "xla": 1.0, "jax": 1.0},
    "scalar_loop": {"tensorflow": 0.02, "xla": 1.0, "jax": 1.0},
    "chain": {"tensorflow": 0.35, "jax": 0.6},
    "mlp_gradient": {"tensorflow": 0.06, "jax": 1.2},
    "first_call_encoder": {"tensorflow": 0.3},
    "first_call_mobilenet": {"tensorflow": 0.3},
    "first_call_resnet": {"tensorflow": 0.3},
}


def test_aims_are_those_that_were_set(cases) -> None:
    assert {name: cases[name][0] for name in AIMS} == AIMS


def test_every_aim_has_its_peer(cases) -> None:
    for name, (aims, peers) in cases.items():
        assert set(aims) <= set(peers), name


def comparison(peer: str, ratio: float, *, memory: float = 1.0, **more) -> Comparison:
    case = Case(title="work", **{"aims": {}, **more})
    ours, theirs = (
        Turn([seconds], round(size)) for seconds, size in ((ratio, memory * 1e6), (1, 1e6))
    )
    return Comparison("work", case, peer, [ours], [theirs])


@pytest.mark.parametrize(("ratio", "met"), [(0.1, True), (0.2, True), (0.21, False), (0.9, False)])
def test_an_aim_is_met_up_to_it(ratio, met) -> None:
    assert comparison("tensorflow", ratio, aims={"tensorflow": 0.2}).met is met


@pytest.mark.parametrize("peer", ["tensorflow", "onnxruntime", "jax", "xla"])
def test_without_an_aim_a_row_is_held_to_what_the_peer_takes(peer) -> None:
    assert comparison(peer, 0.99).met is True
    assert comparison(peer, 1.01).met is False


def test_an_aim_of_another_peer_does_not_count() -> None:
    assert comparison("jax", 1.5, aims={"tensorflow": 2.0}).met is False


def test_other_programs_of_ours_are_only_compared() -> None:
    assert comparison("half_depth", 2.0).met is None


def test_memory_may_miss_where_time_is_met() -> None:
    aims = {"aims": {"tensorflow": 1.0}, "memory_aims": {"tensorflow": 0.5}}
    assert comparison("tensorflow", 0.5, memory=0.4, **aims).met is True
    assert comparison("tensorflow", 0.5, memory=0.6, **aims).met is False
