"""Plans: shared by threads, in workspaces that are never visible outside."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import tiers
from pinnace.engine.build import plan_of
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline
from pinnace.graph.graph import GraphBuilder

N = 144  # more numbers than one kernel accepts


@pytest.fixture(autouse=True)
def _by_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine code, which would run first: memory is tested by the plan's results."""
    monkeypatch.setattr(tiers, "is_compiling", lambda: False)


def chain(x: tf.Tensor) -> tf.Tensor:
    """Several steps whose intermediate results can share memory."""
    for _ in range(6):
        x = (x * 1.5 + 1.0) - x * 0.5
    return x


def reference(x: np.ndarray) -> np.ndarray:
    """The same in NumPy, in the same order of operations, and so equal bit for bit."""
    for _ in range(6):
        x = (x * np.float32(1.5) + np.float32(1.0)) - x * np.float32(0.5)
    return x


def traced(f: Callable[..., object], *specs: tf.TensorSpec) -> object:
    return tf.function(f).get_concrete_function(*specs)


def test_a_workspace_is_used_once_shapes_repeat_and_changes_nothing() -> None:
    concrete = traced(chain, tf.TensorSpec([None, N], tf.float32))
    plan = concrete.plan
    random = np.random.default_rng(0)
    for _ in range(8):
        x = random.standard_normal((N, N)).astype(np.float32)
        np.testing.assert_array_equal(concrete(tf.constant(x)).numpy(), reference(x))
    (prepared,) = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    assert 1 <= len(prepared.layout.slots) < 12


def test_a_result_kept_across_calls_never_changes() -> None:
    concrete = traced(chain, tf.TensorSpec([N, N], tf.float32))
    xs = [np.full((N, N), n, np.float32) for n in range(100)]
    kept = [concrete(tf.constant(x)) for x in xs]
    for x, y in zip(xs, kept, strict=True):
        np.testing.assert_array_equal(y.numpy(), reference(x))


def test_a_variable_never_holds_workspace_memory() -> None:
    v = tf.Variable(np.zeros((N, N), np.float32))

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        y = chain(x)
        v.assign(y * 2.0)
        return chain(y)

    values = []
    for n in range(10):
        f(tf.constant(np.full((N, N), n, np.float32)))
        values.append(v.value())
    for n, value in enumerate(values):
        np.testing.assert_array_equal(value.numpy(), reference(np.full((N, N), n, np.float32)) * 2)


def test_a_tape_never_keeps_workspace_memory() -> None:
    f = tf.function(lambda x: tf.reduce_sum(chain(x) * chain(x)))
    x = tf.constant(np.random.default_rng(0).standard_normal((N, N)).astype(np.float32))
    tapes = []
    for _ in range(6):
        with tf.GradientTape() as tape:
            tape.watch(x)
            tapes.append((tape, f(x)))
    found = [tape.gradient(y, x).numpy() for tape, y in tapes]
    for gradient in found[1:]:
        np.testing.assert_array_equal(gradient, found[0])


def test_eight_threads_share_one_plan() -> None:
    concrete = traced(chain, tf.TensorSpec([N, N], tf.float32))
    wrong: list[int] = []

    def work(n: int) -> None:
        x = np.full((N, N), n, np.float32)
        wanted = reference(x)
        wrong.extend(
            n for _ in range(50) if not np.array_equal(concrete(tf.constant(x)).numpy(), wanted)
        )

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_function_twice_in_a_graph_does_not_mix_its_memory() -> None:
    f = tf.function(chain)
    concrete = traced(
        lambda x, y: f(x) - f(y),
        tf.TensorSpec([N, N], tf.float32),
        tf.TensorSpec([N, N], tf.float32),
    )
    random = np.random.default_rng(1)
    for _ in range(5):
        x, y = (random.standard_normal((N, N)).astype(np.float32) for _ in range(2))
        found = concrete(tf.constant(x), tf.constant(y)).numpy()
        np.testing.assert_array_equal(found, reference(x) - reference(y))


def test_folding_leaves_only_what_depends_on_arguments() -> None:
    def f(x: tf.Tensor) -> tf.Tensor:
        c = tf.constant(2.0) * tf.constant(3.0) + 1.0
        return tf.reshape(tf.identity(x) * c, [tf.shape(x)[0] * 3])

    concrete = traced(f, tf.TensorSpec([4, 3], tf.float32))
    small = fold(inline(concrete.graph))
    kinds = sorted(
        node.op.name for node in small.nodes if node.op.name not in {"Const", "Placeholder"}
    )
    assert kinds == ["Mul", "Reshape"]
    np.testing.assert_array_equal(concrete(tf.ones([4, 3])).numpy(), np.full(12, 7, np.float32))


def test_equal_nodes_are_computed_once() -> None:
    concrete = traced(lambda x: tf.exp(x) + tf.exp(x) * tf.exp(x), tf.TensorSpec([2], tf.float32))
    small = fold(inline(concrete.graph))
    assert [node.op.name for node in small.nodes].count("Exp") == 1


def test_a_variable_is_read_once_until_it_changes() -> None:
    v = tf.Variable([3.0])

    @tf.function
    def f(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        before = tf.exp(v * x) - tf.exp(v * x)
        v.assign_add([1.0])
        return before, tf.exp(v * x)

    x = tf.constant([0.5])
    small = fold(inline(f.get_concrete_function(x).graph))
    kinds = [node.op.name for node in small.nodes]
    assert kinds.count("ReadVariableOp") == 2
    assert kinds.count("Exp") == 2
    before, after = f(x)
    np.testing.assert_array_equal(before.numpy(), [0.0])
    np.testing.assert_allclose(after.numpy(), np.exp([2.0]), rtol=1e-6)
    np.testing.assert_array_equal(v.numpy(), [4.0])


@pytest.mark.parametrize(
    ("axis", "count", "is_taken_apart"),
    [(2, 2, False), (-1, 2, False), (1, 2, True), (2, 4, True)],
)
def test_parts_that_were_joined_are_not_taken_apart_again(
    axis: int, count: int, is_taken_apart: bool
) -> None:
    def f(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        return tf.split(tf.concat([x, y], 2), count, axis)

    spec = tf.TensorSpec([None, 4, 6], tf.float32)
    concrete = traced(f, spec, spec)
    kinds = [node.op.name for node in fold(inline(concrete.graph)).nodes]
    assert ("Split" in kinds) is is_taken_apart
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 3, 4, 6)).astype(np.float32)
    wanted = np.split(np.concatenate([x, y], 2), count, axis)
    for found, part in zip(concrete(tf.constant(x), tf.constant(y)), wanted, strict=True):
        np.testing.assert_array_equal(found.numpy(), part)


def test_parts_of_other_sizes_than_were_joined_are_cut() -> None:
    def f(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        return tf.split(tf.concat([x, y], 0), 2)

    concrete = traced(f, tf.TensorSpec([2], tf.float32), tf.TensorSpec([4], tf.float32))
    first, second = concrete(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(first.numpy(), [1, 2, 3])
    np.testing.assert_array_equal(second.numpy(), [4, 5, 6])


def test_random_ops_are_not_equal_nodes() -> None:
    concrete = traced(lambda: tf.random.uniform([8]) - tf.random.uniform([8]))
    assert np.abs(concrete().numpy()).max() > 0


def test_overflow_is_a_value_and_not_a_warning() -> None:
    concrete = traced(lambda x: tf.exp(x) / (x - x), tf.TensorSpec([], tf.float32))
    assert np.isinf(concrete(tf.constant(1000.0)).numpy())
    assert np.isinf((tf.exp(tf.constant(1000.0))).numpy())


def test_a_missing_kernel_is_named() -> None:
    from pinnace.ops.array.constants import PLACEHOLDER

    concrete = traced(lambda x: x + 1.0, tf.TensorSpec([], tf.float32))
    builder = GraphBuilder("f", concrete.graph)
    extra = builder.add(PLACEHOLDER, (), {"dtype": tf.float32}, "fed_by_nobody")
    builder.set_outputs(extra.outputs)
    with pytest.raises(
        tf.errors.UnimplementedError, match=r"no kernel for Placeholder .*fed_by_nobody"
    ):
        plan_of(builder.finish())
