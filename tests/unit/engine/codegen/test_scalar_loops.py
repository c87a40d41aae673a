"""Loops over scalars, with branches and nested loops: kernels give the plan's results."""

from __future__ import annotations

import contextlib
import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.engine.codegen.loops import loop_of
from pinnace.framework import config, denormals
from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.ops.running import RunContext, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.engine.codegen.loops import Loop
    from pinnace.engine.plan import Plan

raw = tf.raw_ops
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]


def loop_and_plan(function: Any, *arguments: Any) -> tuple[Loop, Plan]:
    """The compiled loop of the one `While` of a function, and the plan of an iteration."""
    graph = function.get_concrete_function(*arguments).graph
    (node,) = [node for node in graph.nodes if node.op.runs == "loop"]
    body = plan_of(node.attrs["body"].graph)
    loop = loop_of(plan_of(node.attrs["cond"].graph), body)
    assert loop is not None
    return loop, body


def one_iteration(results: Callable[[Any, Any], Sequence[Any]], kind: str) -> tuple[Loop, Plan]:
    """A loop whose iterations compute scalars from two others of a dtype."""
    dtype = tf.dtypes.as_dtype(kind)
    like = results(tf.zeros([], dtype) + tf.ones([], dtype), tf.ones([], dtype))

    @tf.function
    def run(i: Any, x: Any, y: Any) -> Any:
        start = [tf.zeros([], one.dtype) for one in like]
        return tf.while_loop(
            lambda i, *_: i < 1,
            lambda i, x, y, *_: (i + 1, x, y, *results(x, y)),
            [i, x, y, *start],
        )

    return loop_and_plan(run, tf.constant(0), tf.ones([], dtype), tf.ones([], dtype))


def values_of(kind: str) -> list[Any]:
    """Numbers of a dtype, its extreme ones among them."""
    numpy = np.dtype(kind).type
    if kind in FLOATS:
        facts = np.finfo(kind)
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, facts.max, facts.min, facts.tiny]
        plain = [1.0, -1.0, 0.5, -2.5, 3.0, 7.25, -7.25, 100.7, -100.7, 40000.0, 3e9, -3e9, 1e19]
        return [numpy(one) for one in [*special, *plain]]
    limits = np.iinfo(kind)
    plain = [0, 1, 2, 3, 7, 100, limits.max, limits.max - 1, limits.min, limits.min + 1]
    return [numpy(one) for one in dict.fromkeys([*plain, *([-1, -2, -7] if limits.min else [])])]


def compare(
    loop: Loop, body: Plan, pairs: Sequence[tuple[Any, Any]], refuses: Callable[[Any, Any], bool]
) -> int:
    """Compare iterations of the kernel with the plan's, bit for bit; returns their number."""
    compared = 0
    start = [np.zeros([], value.dtype.numpy) for value in body.graph.inputs[3:]]
    for x, y in pairs:
        values = [np.int32(0), x, y, *start]
        values = [np.asarray(one) for one in values]
        done = denormals.flushing(loop.advance)(values, 1)
        assert done.is_refused == refuses(x, y), (x, y)
        if done.is_refused:
            assert done.iterations == 0
            continue
        with np.errstate(all="ignore"):
            wanted = denormals.flushing(body)(values, RunContext())
        for place, (found, one) in enumerate(zip(done.values, wanted, strict=True)):
            assert np.asarray(found).dtype == one.dtype
            same = np.array_equal(found, one, equal_nan=one.dtype.kind == "f")
            signs = one.dtype.kind != "f" or np.isnan(one) or np.signbit(found) == np.signbit(one)
            assert same and signs, (place, x, y, found, one)  # noqa: PT018 (both are wanted)
        compared += 1
    return compared


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_wrap_compare_and_shift(kind: str) -> None:
    def results(x: Any, y: Any) -> list[Any]:
        made = [
            x + y,
            x - y,
            x * y,
            tf.maximum(x, y),
            tf.minimum(x, y),
            x < y,
            x >= y,
            tf.equal(x, y),
        ]
        made += [tf.bitwise.left_shift(x, y), tf.bitwise.right_shift(x, y)]
        made += [tf.bitwise.bitwise_xor(x, y), raw.Select(condition=x < y, t=x, e=y)]
        return made + [tf.cast(x, other) for other in [*INTEGERS, *FLOATS, "bool"]]

    loop, body = one_iteration(results, kind)
    # A shift beyond the number of bits depends on the processor: TensorFlow clips it, as do the
    # ops.
    pairs = list(itertools.product(values_of(kind), values_of(kind)))
    assert compare(loop, body, pairs, lambda *_: False) == len(pairs)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_are_divided_as_the_ops_divide_and_zero_is_left_to_them(kind: str) -> None:
    def results(x: Any, y: Any) -> list[Any]:
        divisions = [raw.FloorDiv, raw.FloorMod, raw.TruncateDiv]
        divisions += [raw.TruncateMod] if kind in {"int32", "int64"} else []
        return [op(x=x, y=y) for op in divisions]

    loop, body = one_iteration(results, kind)
    pairs = list(itertools.product(values_of(kind), values_of(kind)))
    compared = compare(loop, body, pairs, lambda _, y: y == 0)
    assert compared == sum(y != 0 for _, y in pairs)


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_are_divided_and_rounded_as_the_ops_do(kind: str) -> None:
    def results(x: Any, y: Any) -> list[Any]:
        made = [x + y, x - y, x * y, x / y, raw.FloorDiv(x=x, y=y), raw.FloorMod(x=x, y=y)]
        made += [raw.Mod(x=x, y=y), raw.DivNoNan(x=x, y=y), raw.Select(condition=x < y, t=x, e=y)]
        made += [tf.maximum(x, y), tf.minimum(x, y), x < y, x >= y, tf.equal(x, y), tf.floor(x)]
        return [*made, tf.cast(x, "bool"), *(tf.cast(x, other) for other in FLOATS)]

    loop, body = one_iteration(results, kind)
    pairs = list(itertools.product(values_of(kind), values_of(kind)))
    assert compare(loop, body, pairs, lambda *_: False) == len(pairs)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_a_float_that_an_integer_cannot_hold_is_left_to_the_plan(kind: str, target: str) -> None:
    loop, body = one_iteration(lambda x, _: [tf.cast(x, target)], kind)
    limits = np.iinfo(target)

    def refuses(x: Any, y: Any) -> bool:
        del y
        return not (np.isfinite(x) and limits.min <= int(x) <= limits.max)

    pairs = [(x, x) for x in values_of(kind)]
    compared = compare(loop, body, pairs, refuses)
    assert 5 < compared < len(pairs)


# Whole programs, against Python's own numbers.


def collatz(n: Any) -> Any:
    count = 0 * n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count = count + 1
    return count


def sum_of_divisors(a: Any, b: Any) -> Any:
    total = 0 * a
    i = 0 * a + 1
    while i < a:
        x, y = i, b
        while y != 0:
            x, y = y, x % y
        if x > 3:
            total = total + x
        elif x > 1:
            if total > 50:  # noqa: SIM108 (a statement inside a branch)
                total = total - 7
            else:
                total = total * 2
        i = i + 1
    return total


def until_found(n: Any, limit: Any) -> Any:
    i = 0 * n
    state = n
    while i < limit:
        state = (state * 1103515245 + 12345) % 2147483648
        if state % 97 == 0:
            break
        if state % 2 == 1:
            i = i + 1
            continue
        i = i + 2
    return i * 1000 + state % 1000


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *((collatz, (n,)) for n in (1, 2, 27, 97, 871)),
        *((sum_of_divisors, pair) for pair in ((40, 36), (90, 60), (3, 7))),
        *((until_found, pair) for pair in ((1, 400), (5, 3), (77, 1000))),
    ],
)
@pytest.mark.parametrize("tier", ["plan", "compiled", "auto"])
def test_programs_give_what_python_gives(
    program: Any, arguments: tuple[int, ...], tier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)
    function = tf.function(program)
    for _ in range(3):
        found = function(*(tf.constant(one, tf.int64) for one in arguments))
        assert int(found) == program(*arguments)


@pytest.mark.parametrize(
    ("program", "count"), [(collatz, 1), (sum_of_divisors, 2), (until_found, 2)]
)
def test_these_programs_are_machine_code(program: Any, count: int) -> None:
    loop_and_plan(tf.function(program), *[tf.constant(5, tf.int64)] * count)


def decaying(x: Any, n: Any, step: Any) -> Any:
    scale = tf.constant(1.0)
    i = tf.constant(0)
    while i < n:
        if i % 3 == 0:
            scale = scale * 0.5
        elif scale < 0.3:
            scale = scale + tf.cast(7 // step, tf.float32)
        x = tf.tanh(x * scale + 0.25)
        i = i + 1
    return x


def test_branches_beside_arrays_give_what_the_plan_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array is a loop variable, and a branch selects its scale."""
    x = np.linspace(-2, 2, 256, dtype=np.float32)
    found = {}
    for tier in ("plan", "compiled"):
        monkeypatch.setattr(config.settings, "tier", tier)
        function = tf.function(decaying)
        for n in (0, 1, 50):
            found[tier, n] = function(tf.constant(x), tf.constant(n), tf.constant(2)).numpy()
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?i)division by zero"):
            function(tf.constant(x), tf.constant(50), tf.constant(0))
        never = function(tf.constant(x), tf.constant(1), tf.constant(0))
        assert np.isfinite(never.numpy()).all()
    for n in (0, 1, 50):
        # Each tanh is within a few ulps; the map is contracting.
        np.testing.assert_allclose(found["compiled", n], found["plan", n], rtol=1e-6, atol=1e-7)


def test_the_loop_of_a_branch_is_machine_code() -> None:
    @tf.function
    def steps(n: Any) -> Any:
        def turn(n: Any, count: Any) -> Any:
            return tf.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1

        return tf.while_loop(lambda n, _: n != 1, turn, [n, tf.constant(0, tf.int64)])

    loop, _ = loop_and_plan(steps, tf.constant(27, tf.int64))
    done, is_ended = loop.run([np.asarray(27, np.int64), np.asarray(0, np.int64)], lambda: None)
    assert is_ended
    assert [int(one) for one in done] == [1, 111]


def reads(i: Any, places: Any, table: Any) -> Any:
    total = 0 * i
    while i > 0:
        at = places[i % 3]
        if at >= 0:
            total = total * 3 + table[at]
        i = i - 1
    return total


@pytest.mark.parametrize("tier", ["plan", "compiled"])
def test_elements_are_read_and_an_index_out_of_range_is_the_ops_error(
    tier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)
    function = tf.function(reads)
    table = np.array([5, 7, 11], np.int32)
    for places in ([0, 1, 2], [2, -5, 0], [1, -1, -9]):
        found = function(tf.constant(9), tf.constant(places, tf.int32), tf.constant(table))
        assert int(found) == reads(9, places, table)
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 3"):
        function(tf.constant(9), tf.constant([0, 3, 1]), tf.constant(table))


@pytest.mark.parametrize("tier", ["plan", "compiled"])
def test_an_error_is_raised_by_the_branch_that_is_taken_alone(
    tier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)

    @tf.function
    def guarded(n: Any, step: Any) -> Any:
        total = 0 * n
        while n > 0:
            if step != 0:  # noqa: SIM108 (a statement)
                total = total + n // step
            else:
                total = total + 1
            n = n - 1
        return total

    @tf.function
    def unguarded(n: Any) -> Any:
        total = 0 * n
        while n > -3:
            total = total + 100 // n
            n = n - 1
        return total

    assert int(guarded(tf.constant(10), tf.constant(0))) == 10
    assert int(guarded(tf.constant(10), tf.constant(3))) == sum(n // 3 for n in range(1, 11))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?i)division by zero"):
        unguarded(tf.constant(5))


def endless_inside(x: Any) -> Any:
    i = 0 * x
    while i < 3:
        if x > 0:
            while x > 0:
                x = x % 7 + 1
        i = i + 1
    return x


@pytest.mark.parametrize("tier", ["auto", "plan", "compiled"])
def test_a_loop_without_end_inside_a_branch_ends(
    tier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)
    function = tf.function(endless_inside)
    x = tf.constant(3)
    function.get_concrete_function(x)
    stop = Stop()
    timer = threading.Timer(0.15, lambda: stop.end(DeadlineExceededError("too late")))
    state.stop = stop
    timer.start()
    try:
        with pytest.raises(DeadlineExceededError, match="too late"):
            function(x)
    finally:
        state.stop = None
        timer.cancel()


def test_a_loop_that_has_settled_gives_what_the_plan_gives() -> None:
    def run(n: Any, x: Any, y: Any, up: Any) -> Any:
        return tf.while_loop(
            lambda n, *_: n > 0,
            lambda n, x, y, up: (
                n - 1,
                x * 3 + tf.cast(n, tf.int64),
                y / 2 + 1.0,
                tf.logical_not(up),
            ),
            [n, x, y, up],
        )

    function = tf.function(run)
    random = np.random.default_rng(3)
    first = (tf.constant(3000, tf.int32), *_drawn(random))
    graph = function.get_concrete_function(*first).graph
    (node,) = [node for node in graph.nodes if node.op.runs == "loop"]
    tiers = plan_of(node.attrs["body"].graph).tiers.loops()
    assert tiers is not None
    with in_tier("auto"):
        function(*first)
        assert tiers._loop is not None
    for count in (0, 1, 2, 5000):
        for _ in range(10):
            given = (tf.constant(count, tf.int32), *_drawn(random))
            with in_tier("plan"):
                wanted = function(*given)
            with in_tier("auto"):
                found = function(*given)
            for one, other in zip(found, wanted, strict=True):
                assert one.dtype is other.dtype
                np.testing.assert_array_equal(one, other)


def _drawn(random: np.random.Generator) -> tuple[Any, Any, Any]:
    """An integer, its extremes among them, a float and a bool."""
    limits = np.iinfo(np.int64)
    integer = random.choice([limits.min, limits.max, -1, 0, int(random.integers(-9, 9))])
    number = random.choice([np.nan, np.inf, -0.0, 1e-310, random.standard_normal()])
    return (
        tf.constant(integer, tf.int64),
        tf.constant(number, tf.float64),
        tf.constant(bool(random.integers(2))),
    )


@contextlib.contextmanager
def in_tier(tier: Any) -> Iterator[None]:
    """A context in which functions run in this tier."""
    before, config.settings.tier = config.settings.tier, tier
    try:
        yield
    finally:
        config.settings.tier = before
