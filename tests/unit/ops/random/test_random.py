"""Random ops: TensorFlow's numbers, continued streams, seeds, generators, distributions."""

import json
import math
import threading
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.ops import nn, random
from pinnace.ops.execute import execute, forced_context
from pinnace.ops.random import experimental
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import lookup
from pinnace.ops.running import RunContext
from support.golden import golden

Array = npt.NDArray[Any]
STATELESS = json.loads(golden("random/stateless.json").read_text())
STATEFUL = json.loads(golden("random/stateful.json").read_text())
LOGITS = np.log(
    np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]], np.float32)
)


def run(op: str, *inputs: Any, **attrs: Any) -> Any:
    return execute(lookup(op), *inputs, **attrs)


@pytest.fixture(autouse=True)
def _no_seed() -> Any:
    with forced_context(RunContext()):
        random.set_seed(None)
        yield
    random.set_seed(None)


def near(found: Array, expected: Any, dtype: str) -> None:
    """Equal, except for the last digit if NumPy's logarithm and sine are involved."""
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 3e-6}.get(dtype, 1e-12)
    np.testing.assert_allclose(
        found.astype(np.float64), np.array(expected, np.float64), rtol=tolerance, atol=tolerance
    )


KEYED = {
    "uniform": "StatelessRandomUniformV2",
    "normal": "StatelessRandomNormalV2",
    "truncated_normal": "StatelessTruncatedNormalV2",
    "uniform_full_int": "StatelessRandomUniformFullIntV2",
}


@pytest.mark.parametrize(
    "case",
    [case for case in STATELESS if case["op"] in KEYED and "seed" in case],
    ids=lambda c: f"{c['op']}-{c['dtype']}-{c['seed']}",
)
def test_stateless_numbers_are_tensorflows(case: dict[str, Any]) -> None:
    seed = np.array(case["seed"], np.int64)
    key, counter = run("StatelessRandomGetKeyCounter", seed)
    count, dtype = len(case["values"]), as_dtype(case["dtype"])
    found = run(KEYED[case["op"]], [count], key, counter, 1, dtype=dtype).numpy()
    assert found.dtype == dtype.numpy
    if dtype.is_integer or case["op"] == "uniform":
        expected = np.array(case["values"], dtype.numpy)
        np.testing.assert_array_equal(found, expected)
    else:
        near(found, case["values"], case["dtype"])


@pytest.mark.parametrize("case", [c for c in STATELESS if c["op"] == "key_counter"], ids=str)
def test_keys_and_counters_are_tensorflows(case: dict[str, Any]) -> None:
    for kind in (np.int64, np.int32):
        if max(map(abs, case["seed"])) >= 2**31 and kind is np.int32:
            continue
        key, counter = run("StatelessRandomGetKeyCounter", np.array(case["seed"], kind))
        assert [*key.numpy().tolist(), *counter.numpy().tolist()] == case["values"]
        *same, alg = run("StatelessRandomGetKeyCounterAlg", np.array(case["seed"], kind))
        np.testing.assert_array_equal(same[1].numpy(), counter.numpy())
        assert int(alg) == 1


def test_integers_between_bounds_are_tensorflows() -> None:
    cases = [case for case in STATELESS if case["op"] == "uniform_int" and "seed" in case]
    assert cases
    for case in cases:
        low, high = case["low"], case["high"]
        seed = np.array(case["seed"], np.int64)
        found = random.stateless_uniform([len(case["values"])], seed, low, high, case["dtype"])
        assert found.numpy().tolist() == case["values"]


def test_splitting_and_folding_give_tensorflows_seeds() -> None:
    # The numbers of TensorFlow's documentation of tf.random.split and tf.random.fold_in.
    expected = [[1105988140, 1738052849], [-335576002, 370444179], [10670227, -246211131]]
    assert random.split([1, 2], num=3).numpy().tolist() == expected
    assert random.fold_in([1, 2], 3).numpy().tolist() == [1105988140, 3]
    assert experimental.stateless_fold_in is random.fold_in


def test_ops_with_a_seed_draw_what_ops_with_its_key_draw() -> None:
    seed, shape = np.array([3, 4], np.int64), [5]
    key, counter = run("StatelessRandomGetKeyCounter", seed)
    for name in ("RandomUniform", "RandomNormal", "TruncatedNormal", "RandomUniformFullInt"):
        old = run(f"Stateless{name}", shape, seed).numpy()
        new = run(f"Stateless{name}V2", shape, key, counter, 1).numpy()
        np.testing.assert_array_equal(old, new)
    old = run("StatelessRandomUniformInt", shape, seed, 3, 9).numpy()
    new = run("StatelessRandomUniformIntV2", shape, key, counter, 1, 3, 9).numpy()
    np.testing.assert_array_equal(old, new)


STATEFUL_OPS = {
    "uniform": ("RandomUniform", dtypes.float32),
    "normal": ("RandomStandardNormal", dtypes.float32),
    "truncated_normal": ("TruncatedNormal", dtypes.float32),
    "uniform_double": ("RandomUniform", dtypes.float64),
}


@pytest.mark.parametrize("case", STATEFUL, ids=lambda c: f"{c['op']}-{c['seed']}-{c['seed2']}")
def test_streams_go_on_from_draw_to_draw_as_tensorflows_do(case: dict[str, Any]) -> None:
    seeds = {"seed": case["seed"], "seed2": case["seed2"]}
    for expected in case["runs"]:
        shape = np.array([len(expected)], np.int32)
        if case["op"] == "uniform_int":
            found = run("RandomUniformInt", shape, 0, 1000, **seeds).numpy()
            assert found.tolist() == expected
        else:
            op, dtype = STATEFUL_OPS[case["op"]]
            found = run(op, shape, dtype=dtype, **seeds).numpy()
            near(found, expected, dtype.name)


def test_eager_numbers_after_set_seed_are_tensorflows() -> None:
    # TensorFlow 2.21: tf.random.set_seed(5), then these calls.
    random.set_seed(5)
    near(random.uniform([3]).numpy(), [0.62639308, 0.52984321, 0.75845718], "float32")
    near(random.uniform([3]).numpy(), [0.70170748, 0.04336786, 0.56045723], "float32")
    near(random.normal([3]).numpy(), [1.4665463, -1.02481389, 0.86743289], "float32")
    random.set_seed(5)
    near(random.uniform([3], seed=1).numpy(), [0.38751841, 0.74854553, 0.54871905], "float32")
    near(random.uniform([3], seed=1).numpy(), [0.83331883, 0.38934743, 0.66618121], "float32")
    drawn = random.uniform([3], seed=1, dtype="float64").numpy()
    near(drawn, [0.10014755977046774, 0.3897530659572699, 0.2811135661371156], "float64")
    near(random.normal([3], seed=1).numpy(), [-1.37688971, -0.01258316, -0.16951500], "float32")
    assert random.uniform([5], 2, 9, dtype="int32", seed=3).numpy().tolist() == [6, 5, 7, 6, 7]
    assert random.uniform([5], 2, 9, dtype="int64", seed=3).numpy().tolist() == [4, 2, 8, 7, 2]


def test_classes_are_tensorflows() -> None:
    # TensorFlow 2.21: tf.random.set_seed(5), tf.random.categorical(logits, 7, seed=3), twice.
    random.set_seed(5)
    first, second = (random.categorical(LOGITS, 7, seed=3).numpy().tolist() for _ in range(2))
    assert first == [[2, 2, 3, 3, 3, 3, 2], [1, 1, 0, 0, 3, 2, 1], [3, 1, 0, 1, 3, 3, 1]]
    assert second == [[3, 2, 3, 3, 3, 0, 1], [0, 1, 1, 0, 3, 0, 1], [3, 2, 1, 3, 0, 3, 3]]
    found = random.stateless_categorical(LOGITS, 7, [3, 4]).numpy().tolist()
    assert found == [[3, 3, 1, 3, 3, 3, 1], [0, 1, 0, 0, 1, 2, 0], [1, 3, 3, 2, 0, 2, 0]]


def test_orders_are_tensorflows() -> None:
    # TensorFlow 2.21: tf.random.set_seed(5), tf.random.shuffle(x, seed=3), three times.
    random.set_seed(5)
    x, rows = np.arange(10), np.arange(20).reshape(10, 2)
    assert random.shuffle(x, seed=3).numpy().tolist() == [0, 9, 8, 7, 4, 6, 3, 2, 5, 1]
    assert random.shuffle(x, seed=3).numpy().tolist() == [5, 9, 7, 0, 4, 1, 2, 8, 6, 3]
    third = [6, 0, 2, 7, 1, 9, 8, 5, 3, 4]
    assert random.shuffle(rows, seed=3).numpy()[:, 0].tolist() == [2 * n for n in third]
    expected = [3, 8, 4, 2, 7, 9, 1, 0, 6, 5]
    assert experimental.stateless_shuffle(x, [3, 4]).numpy().tolist() == expected
    assert experimental.stateless_shuffle(rows, [3, 4]).numpy()[:, 1].tolist() == [
        2 * n + 1 for n in expected
    ]


def test_a_scalar_one_row_and_strings_can_be_shuffled() -> None:
    assert int(random.shuffle(3)) == 3
    assert random.shuffle([[1, 2]]).numpy().tolist() == [[1, 2]]
    assert sorted(random.shuffle(["a", "b", "c"]).numpy()) == [b"a", b"b", b"c"]


def test_the_same_seed_makes_the_same_program_draw_the_same_numbers() -> None:
    def program() -> list[float]:
        random.set_seed(7)
        return [
            float(random.uniform([])),
            float(random.normal([], seed=2)),
            float(random.uniform([])),
        ]

    first = program()
    assert program() == first
    assert len(set(first)) == 3


def test_without_a_seed_nothing_repeats() -> None:
    assert not np.array_equal(random.uniform([8]).numpy(), random.uniform([8]).numpy())
    with forced_context(RunContext()):
        one = random.uniform([8]).numpy()
    with forced_context(RunContext()):
        other = random.uniform([8]).numpy()
    assert not np.array_equal(one, other)


def test_the_seeds_of_an_op_are_the_global_one_and_its_own() -> None:
    assert get_seed(None) == (0, 0)
    assert get_seed(3) == (87654321, 3)
    random.set_seed(5)
    assert get_seed(3) == (5, 3)
    assert get_seed(2**31 + 1) == (5, 2)
    first, second = get_seed(None), get_seed(None)
    assert first[0] == second[0] == 5
    assert first != second
    random.set_seed(0)
    assert get_seed(0) == (0, 2**31 - 1)


def test_a_graph_counts_its_seeds_from_zero() -> None:
    random.set_seed(7)
    traces = []

    def draw() -> Any:
        a, b, c = random.uniform([2]), random.uniform([2]), random.uniform([2], seed=1)
        traces.append([t.value.node.attrs["seed2"] for t in (a, b, c)])
        return a + b + c

    for _ in range(2):
        function(draw)()
    assert traces == [[0, 1, 1], [0, 1, 1]]


def test_threads_draw_from_one_stream_without_repeating() -> None:
    random.set_seed(3)
    found: list[Array] = []

    def draw() -> None:
        found.extend(random.uniform([4], seed=1).numpy() for _ in range(50))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({values.tobytes() for values in found}) == 200


def test_a_generator_draws_tensorflows_numbers_and_moves_on() -> None:
    # TensorFlow 2.21: tf.random.Generator.from_seed(1234), then these calls.
    g = random.Generator.from_seed(1234)
    expected = [[0.93566090, 1.08543050, -0.93788373], [-0.50615471, 1.31697023, 0.71375787]]
    near(g.normal([2, 3]).numpy(), expected, "float32")
    assert g.state.numpy().tolist() == [2770, 0, 0]
    drawn = g.uniform([3], dtype="float64").numpy()
    near(drawn, [0.21009101333020364, 0.0698718725836247, 0.7859842614569139], "float64")
    assert g.uniform([4], 3, 10, dtype="int32").numpy().tolist() == [7, 8, 8, 8]
    near(g.truncated_normal([3]).numpy(), [0.24427608, 0.38336813, -0.39639255], "float32")
    assert g.uniform_full_int([2]).numpy().tolist() == [10434985011165393978, 5830123041989737674]
    assert g.make_seeds(2).numpy().tolist() == [[-1723169384922343483, 2721854723098062781], [0, 0]]
    assert g.skip(3).numpy().tolist() == [6354, 0, 0]
    assert g.state.numpy().tolist() == [7122, 0, 0]
    keys = [-4418417772478619720, -8115386375356442330]
    assert [part.state.numpy().tolist() for part in g.split(2)] == [[0, 0, key] for key in keys]
    near(g.uniform([]).numpy(), 0.15931439, "float32")
    assert int(g.key) == 0
    assert g.algorithm == 1


def test_generators_are_made_and_reset_as_tensorflows_are() -> None:
    make = random.Generator
    assert make.from_seed([5, 6]).state.numpy().tolist() == [0, 5, 6]
    assert make.from_seed(2**70 + 5).state.numpy().tolist() == [5, 64, 0]
    assert make.from_seed(-5).state.numpy().tolist() == [-5, -1, -1]
    g = make.from_key_counter(7, [1, 2], "philox")
    assert g.state.numpy().tolist() == [1, 2, 7]
    assert make(copy_from=g).state.numpy().tolist() == [1, 2, 7]
    assert make.from_state(g.state, "philox").state is g.state
    g.reset([4, 5, 6])
    assert g.state.numpy().tolist() == [4, 5, 6]
    g.reset_from_seed(9)
    assert g.state.numpy().tolist() == [9, 0, 0]
    g.reset_from_key_counter(1, [2, 3])
    assert g.state.numpy().tolist() == [2, 3, 1]
    assert random.create_rng_state(1234, "philox").numpy().tolist() == [1234, 0, 0]
    assert random.create_rng_state([12, 34], "threefry").numpy().tolist() == [12, 34]
    one, other = (make.from_non_deterministic_state().state.numpy() for _ in range(2))
    assert not np.array_equal(one, other)
    assert random.get_global_generator() is random.get_global_generator()
    random.set_global_generator(g)
    assert random.get_global_generator() is g


def test_a_generator_is_a_trackable_with_one_variable() -> None:
    g = random.Generator.from_seed(1)
    assert g._trackable_children() == {"_state_var": g.state}
    assert g.state.name.startswith("StateVar")
    assert not g.state.trainable


def test_a_traced_generator_goes_on_from_call_to_call() -> None:
    g, h = random.Generator.from_seed(3), random.Generator.from_seed(3)
    draw = function(lambda: g.normal([2]))
    for _ in range(3):
        np.testing.assert_array_equal(draw().numpy(), h.normal([2]).numpy())
    np.testing.assert_array_equal(g.state.numpy(), h.state.numpy())


def test_ops_on_a_state_variable_draw_tensorflows_numbers() -> None:
    # TensorFlow 2.21, one op after the other on one variable.
    state = Variable(np.array([1, 2, 3], np.int64))
    run("RngSkip", state, 1, 5)
    assert state.numpy().tolist() == [1281, 2, 3]
    near(
        run("StatefulUniform", state, 1, [3]).numpy(),
        [0.76525271, 0.63538945, 0.89801574],
        "float32",
    )
    assert state.numpy().tolist() == [2049, 2, 3]
    drawn = run("StatefulStandardNormalV2", state, 1, [3]).numpy()
    near(drawn, [0.52280438, -1.79653811, 0.68969232], "float32")
    drawn = run("StatefulTruncatedNormal", state, 1, [3]).numpy()
    near(drawn, [-0.41422427, 0.05343625, -1.12536514], "float32")
    bounds = np.array(3, np.int64), np.array(10, np.int64)
    assert run("StatefulUniformInt", state, 1, [3], *bounds).numpy().tolist() == [5, 4, 9]
    drawn = run("StatefulUniformFullInt", state, 1, [3], dtype=dtypes.uint32).numpy()
    assert drawn.tolist() == [1536669452, 2312327418, 1061123668]
    assert state.numpy().tolist() == [5121, 2, 3]
    wrapping = Variable(np.array([-1, 2**63 - 1, 3], np.int64))
    before = run("RngReadAndSkip", wrapping, 1, np.array(2, np.uint64))
    assert before.numpy().tolist() == [-1, 2**63 - 1, 3]
    assert wrapping.numpy().tolist() == [511, -(2**63), 3]


def test_non_deterministic_integers_do_not_repeat() -> None:
    one, other = (run("NonDeterministicInts", np.array([4], np.int64)).numpy() for _ in range(2))
    assert one.dtype == np.int64
    assert not np.array_equal(one, other)


COUNT = 20_000


@pytest.mark.parametrize("draw", ["stateless", "stateful", "generator"])
def test_samples_follow_their_distributions(draw: str) -> None:
    random.set_seed(11)
    if draw == "stateless":
        uniform = random.stateless_uniform([COUNT], [1, 2], -2.0, 3.0)
        normal = random.stateless_normal([COUNT], [1, 3], 1.0, 2.0)
        truncated = random.stateless_truncated_normal([COUNT], [1, 4], 1.0, 2.0)
        integers = random.stateless_uniform([COUNT], [1, 5], -3, 4, "int32")
    elif draw == "stateful":
        uniform = random.uniform([COUNT], -2.0, 3.0)
        normal = random.normal([COUNT], 1.0, 2.0)
        truncated = random.truncated_normal([COUNT], 1.0, 2.0)
        integers = random.uniform([COUNT], -3, 4, "int32")
    else:
        g = random.Generator.from_seed(5)
        uniform, normal = g.uniform([COUNT], -2.0, 3.0), g.normal([COUNT], 1.0, 2.0)
        truncated = g.truncated_normal([COUNT], 1.0, 2.0)
        integers = g.uniform([COUNT], -3, 4, "int32")
    assert stats.kstest(uniform.numpy(), stats.uniform(-2, 5).cdf).pvalue > 0.01
    assert stats.kstest(normal.numpy(), stats.norm(1, 2).cdf).pvalue > 0.01
    assert stats.kstest(truncated.numpy(), stats.truncnorm(-2, 2, 1, 2).cdf).pvalue > 0.01
    counts = np.bincount(integers.numpy() + 3, minlength=7)
    assert stats.chisquare(counts).pvalue > 0.01


def test_classes_come_up_as_often_as_their_probability_says() -> None:
    drawn = random.stateless_categorical(LOGITS, COUNT, [8, 9]).numpy()
    for row, logits in zip(drawn, LOGITS, strict=True):
        counts = np.bincount(row, minlength=4)
        assert stats.chisquare(counts, special.softmax(logits.astype(float)) * COUNT).pvalue > 0.01
    never = random.stateless_categorical([[0.0, -math.inf, 0.0]], 1000, [1, 2]).numpy()
    assert set(never.reshape(-1).tolist()) == {0, 2}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_dropout_keeps_a_share_and_scales_it(dtype: Any) -> None:
    random.set_seed(1)
    x = np.ones((100, 100), dtype)
    for y in (nn.dropout(x, 0.25), nn.experimental.stateless_dropout(x, 0.25, [1, 2])):
        values = y.numpy()
        assert values.dtype == dtype
        kept = values != 0
        assert abs(kept.mean() - 0.75) < 0.02
        expected = (np.ones(1, dtype) * dtype(1 / 0.75))[0]
        np.testing.assert_array_equal(values[kept], np.full(kept.sum(), expected))


def test_dropout_of_nothing_is_the_input_and_a_noise_shape_drops_whole_rows() -> None:
    x = convert_to_tensor(np.ones((50, 4), np.float32))
    assert nn.dropout(x, 0) is x
    rows = nn.dropout(x, 0.5, noise_shape=[None, 1], seed=3).numpy()
    assert {tuple(row) for row in rows.tolist()} == {(0.0,) * 4, (2.0,) * 4}
    drawn = nn.dropout(x, convert_to_tensor(0.5), seed=4).numpy()
    assert set(np.unique(drawn).tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.uniform([3], dtype="int32"), "maxval must be given for int32"),
        (lambda: random.uniform([3], 0, 3, dtype="int8"), "dtype must be a float, int32 or int64"),
        (
            lambda: random.uniform([3], 5, 3, dtype="int32"),
            "minval must be less than maxval, got 5",
        ),
        (lambda: random.uniform([-1]), "RandomUniform: sizes must not be negative, got"),
        (lambda: random.stateless_uniform([3], [1, 2, 3]), "seed must be a vector of 2 numbers"),
        (
            lambda: random.stateless_uniform([3], [1, 2], 5, None, "int32"),
            "both given or both None",
        ),
        (lambda: random.stateless_uniform([3], [1, 2], 0, 5, "uint32"), "uint32 has no bounds"),
        (lambda: random.stateless_uniform([3], [1, 2], alg="threefry"), "on CPUs alg must be 1"),
        (lambda: random.stateless_uniform([3], [1, 2], alg="mersenne"), "alg must be 'philox'"),
        (lambda: random.categorical([1.0, 2.0], 3), "Multinomial: logits must have 2 axes"),
        (lambda: random.categorical(np.zeros((2, 0)), 3), "logits must have at least one class"),
        (lambda: random.Generator(), "state and alg must be given"),
        (lambda: random.Generator(state=[1, 2], alg="philox"), r"state must have shape \[3\]"),
    ],
)
def test_what_cannot_be_right_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_algorithms_are_known_by_name_number_and_member() -> None:
    reference = random.stateless_uniform([3], [1, 2]).numpy()
    for alg in ("philox", "Auto-Select", 1, 3, random.Algorithm.PHILOX):
        found = random.stateless_uniform([3], [1, 2], alg=alg).numpy()
        np.testing.assert_array_equal(found, reference)


def test_a_generator_counts_successes_as_tensorflow_does() -> None:
    # Both rows, and the state after them, are TensorFlow 2.21's.
    generator = random.Generator.from_seed(3)
    drawn = generator.binomial([5], [3.0, 10.0, 100.0, 4.0, 7.0], [0.5, 0.2, 0.9, 0.1, 0.3])
    np.testing.assert_array_equal(drawn, [1, 2, 93, 0, 4])
    np.testing.assert_array_equal(generator.state.numpy(), [256003, 0, 0])
