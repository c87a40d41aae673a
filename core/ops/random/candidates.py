"""Sampling of classes for training: the candidate samplers, ComputeAccidentalHits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting
from pinnace.ops.execute import execute_all
from pinnace.ops.kernels import candidates
from pinnace.ops.memory import POINTER, claim
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.random import stateful
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import Attrs
    from pinnace.ops.running import RunContext

__all__ = [
    "all_candidate_sampler",
    "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Classes in [0, range_max), all equally likely.

    Args:
        true_classes: [batch, num_true], int64: the right classes.
        num_true: how many each row has.
        num_sampled: how many to draw.
        unique: whether no class may come twice.
        range_max: the number of classes.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        [num_sampled], int64, the sampled classes; and the expected counts of `true_classes` [batch,
        num_true] and of the sampled ones [num_sampled], float32.

    Raises:
        InvalidArgumentError: more unique classes than there are.

    Source:
        TensorFlow op `UniformCandidateSampler` (candidate_sampling_ops.cc); with a seed, its
        classes.
    """
    options = {"range_max": int(range_max)}
    return _sampled(UNIFORM, true_classes, num_true, num_sampled, unique, seed, name, options)


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Classes by Zipf's law: class n has probability log((n + 2) / (n + 1)) / log(range_max + 1).

    It suits classes in descending order of frequency. Arguments, results and errors are those of
    `uniform_candidate_sampler`.

    Args:
        true_classes: [batch, num_true], int64.
        num_true: right classes of each example.
        num_sampled: how many classes are drawn.
        unique: whether no class is drawn twice.
        range_max: number of classes.
        seed: an int; None draws others each time.
        name: name of the node while tracing.
    """
    options = {"range_max": int(range_max)}
    return _sampled(LOG_UNIFORM, true_classes, num_true, num_sampled, unique, seed, name, options)


def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Classes with probabilities proportional to their counts in `true_classes` so far, plus one.

    Arguments, results and errors are those of `uniform_candidate_sampler`.

    Args:
        true_classes: [batch, num_true], int64.
        num_true: right classes of each example.
        num_sampled: how many classes are drawn.
        unique: whether no class is drawn twice.
        range_max: number of classes.
        seed: an int; None draws others each time.
        name: name of the node while tracing.
    """
    options = {"range_max": int(range_max)}
    return _sampled(LEARNED, true_classes, num_true, num_sampled, unique, seed, name, options)


_SIGNATURE = (
    "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float32, "
    "sampled_expected_count: float32"
)

# TensorFlow reserves this many words of the stream per candidate, used or not.
_WORDS_EACH = 2048


def _sampled(
    op: OpDef,
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None,
    name: str | None,
    options: dict[str, Any],
) -> tuple[Tensor, Tensor, Tensor]:
    first, second = get_seed(seed)
    return execute_all(
        op,
        casting.cast(convert_to_tensor(true_classes), int64),
        num_true=int(num_true),
        num_sampled=int(num_sampled),
        unique=bool(unique),
        seed=first,
        seed2=second,
        name=name,
        **options,
    )


def _draw(
    key: tuple[Any, ...], chances: Any, true_classes: Array, ctx: RunContext
) -> tuple[Array, Array, Array]:
    """Classes from the stream of `key`: op, count, uniqueness, the rest, the seeds."""
    op, num_sampled, unique, *rest, seed, seed2 = key
    if unique and num_sampled > chances.count:
        raise InvalidArgumentError(
            f"{op}: no {num_sampled} unique classes can be drawn from {chances.count}"
        )
    if true_classes.size and not 0 <= true_classes.min() <= true_classes.max() < chances.size:
        raise InvalidArgumentError(
            f"{op}: true_classes must be from 0 to {chances.size - 1}, "
            f"got {true_classes.min()} to {true_classes.max()}"
        )
    stream = stateful.stream_of(ctx, op, (num_sampled, unique, *rest), seed, seed2)
    words = candidates.Words(stream.reserve(num_sampled, _WORDS_EACH // 4))
    drawn, tries = candidates.draw(chances, words, num_sampled, unique)
    expected = [
        candidates.expected_count(chances.probability(classes), num_sampled, tries)
        for classes in (true_classes, drawn)
    ]
    chances.learn(true_classes)
    return drawn, expected[0], expected[1]


def _infer(call: InferCall) -> tuple[Shape, Shape, Shape]:
    shape = call.spec(0).shape.with_rank(2)
    num_true, drawn = call.attrs["num_true"], call.attrs["num_sampled"]
    if shape[1] is not None and shape[1] != num_true:
        call.fail(f"true_classes must have num_true = {num_true} columns")
    if drawn < 1:
        call.fail(f"num_sampled must be at least 1, got {drawn}")
    return Shape([drawn]), Shape([shape[0], num_true]), Shape([drawn])


def _sampler(
    name: str,
    kernel: Callable[..., Any],
    attrs: dict[str, Any],
    reaches: str | Callable[[Attrs], str] = "",
) -> OpDef:
    return define(
        name=name,
        signature=_SIGNATURE,
        attrs={**attrs, **stateful.SEEDS},
        infer=_infer,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="random",
        reaches=reaches,
    )


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Classes by given frequencies.

    Args:
        true_classes: [batch, num_true], int64: the right classes.
        num_true: how many each row has.
        num_sampled: how many to draw.
        unique: whether no class may come twice.
        range_max: the number of classes.
        vocab_file: a CSV file whose last column are the frequencies; or `unigrams`.
        distortion: exponent of the frequencies.
        num_reserved_ids: classes before the first one of the list, which are never drawn.
        num_shards: take every one of so many classes.
        shard: from this one on.
        unigrams: the frequencies, one per class.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        As `uniform_candidate_sampler`.

    Raises:
        InvalidArgumentError: both or neither of file and list, or of the wrong length.
    """
    options = {
        "range_max": int(range_max),
        "vocab_file": vocab_file,
        "distortion": float(distortion),
        "num_reserved_ids": int(num_reserved_ids),
        "num_shards": int(num_shards),
        "shard": int(shard),
        "unigrams": tuple(map(float, unigrams)),
    }
    return _sampled(FIXED, true_classes, num_true, num_sampled, unique, seed, name, options)


def _fixed_kernel(
    true_classes: Array,
    *,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: tuple[float, ...],
    seed: int,
    seed2: int,
    ctx: RunContext,
) -> tuple[Array, Array, Array]:
    op = "FixedUnigramCandidateSampler"
    if bool(vocab_file) == bool(unigrams):
        raise InvalidArgumentError(f"{op}: exactly one of vocab_file and unigrams must be given")
    if not 0 <= shard < num_shards:
        raise InvalidArgumentError(f"{op}: shard must be below num_shards, got {shard}")
    options = (range_max, vocab_file, distortion, num_reserved_ids, num_shards, shard, unigrams)
    key = (op, num_sampled, unique, *options, seed, seed2)

    def make() -> candidates.Frequencies:
        given = candidates.frequencies_of_file(vocab_file) if vocab_file else unigrams
        claim(num_reserved_ids * POINTER)
        weights = [0.0] * num_reserved_ids + [float(w) ** distortion for w in given]
        found = weights[shard::num_shards]
        if len(found) != range_max:
            raise InvalidArgumentError(
                f"{op}: range_max is {range_max}, and there are {len(found)} frequencies"
            )
        return candidates.Frequencies(found)

    chances = ctx.stream((*key, "chances"), make)
    return _draw(key, chances, true_classes, ctx)


_ATTRS = {"num_true": attr("int"), "num_sampled": attr("int"), "unique": attr("bool")}
_RANGED = {**_ATTRS, "range_max": attr("int")}


FIXED: OpDef = _sampler(
    "FixedUnigramCandidateSampler",
    _fixed_kernel,
    {
        **_RANGED,
        "vocab_file": attr("string", default=""),
        "distortion": attr("float", default=1.0),
        "num_reserved_ids": attr("int", default=0),
        "num_shards": attr("int", default=1),
        "shard": attr("int", default=0),
        "unigrams": attr("list(float)", default=()),
    },
    reaches=lambda attrs: "files" if attrs["vocab_file"] else "",
)


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Every class in [0, num_sampled), once; see `uniform_candidate_sampler`.

    Args:
        true_classes: [batch, num_true], int64.
        num_true: right classes of each example.
        num_sampled: number of classes.
        unique: accepted.
        seed: accepted.
        name: name of the node while tracing.
    """
    return _sampled(ALL, true_classes, num_true, num_sampled, unique, seed, name, {})


def _all_kernel(true_classes: Array, *, num_sampled: int) -> tuple[Array, Array, Array]:
    return (
        np.arange(num_sampled, dtype=np.int64),
        np.ones(true_classes.shape, np.float32),
        np.ones(num_sampled, np.float32),
    )


ALL: OpDef = _sampler("AllCandidateSampler", _all_kernel, _ATTRS)


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The pairs of a row and a sampled class that is a true class of that row.

    Args:
        true_classes: [batch, num_true], int64.
        sampled_candidates: [num_sampled], int64.
        num_true: how many right classes each row has.
        seed: accepted, and not used.
        name: name of the node while tracing.

    Returns:
        int32 rows, int64 positions among the candidates, and float32 weights, the lowest finite
        number, to be added to logits; all [hits].
    """
    first, second = get_seed(seed)
    return execute_all(
        COMPUTE_ACCIDENTAL_HITS,
        true_classes,
        sampled_candidates,
        num_true=int(num_true),
        seed=first,
        seed2=second,
        name=name,
    )


def _hits_kernel(true_classes: Array, sampled_candidates: Array) -> tuple[Array, Array, Array]:
    places = {value: place for place, value in enumerate(sampled_candidates.tolist())}
    hits = [
        (row, places[value])
        for row, values in enumerate(true_classes.tolist())
        for value in values
        if value in places
    ]
    rows = np.array([row for row, _ in hits], np.int32)
    ids = np.array([place for _, place in hits], np.int64)
    return rows, ids, np.full(len(hits), np.finfo(np.float32).min, np.float32)


def _infer_hits(call: InferCall) -> tuple[Shape, Shape, Shape]:
    shape, num_true = call.spec(0).shape.with_rank(2), call.attrs["num_true"]
    if shape[1] is not None and shape[1] != num_true:
        call.fail(f"true_classes must have num_true = {num_true} columns")
    call.spec(1).shape.with_rank(1)
    hits = Shape([None])
    return hits, hits, hits


COMPUTE_ACCIDENTAL_HITS: OpDef = define(
    name="ComputeAccidentalHits",
    signature="true_classes: int64, sampled_candidates: int64 -> "
    "indices: int32, ids: int64, weights: float32",
    attrs={"num_true": attr("int"), **stateful.SEEDS},
    infer=_infer_hits,
    kernel=_hits_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _kernel_of(op: str, make: Callable[..., candidates.Distribution]) -> Callable[..., Any]:
    """A kernel that draws from `make(range_max)`, which is cached between calls."""

    def kernel(
        true_classes: Array,
        *,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int,
        seed2: int,
        ctx: RunContext,
    ) -> tuple[Array, Array, Array]:
        key = (op, num_sampled, unique, range_max, seed, seed2)
        chances = ctx.stream((*key, "chances"), lambda: make(range_max))
        return _draw(key, chances, true_classes, ctx)

    return kernel


def _ranged(name: str, make: Callable[..., candidates.Distribution]) -> OpDef:
    return _sampler(name, _kernel_of(name, make), _RANGED)


UNIFORM: OpDef = _ranged("UniformCandidateSampler", candidates.Uniform)
LOG_UNIFORM: OpDef = _ranged("LogUniformCandidateSampler", candidates.LogUniform)
LEARNED: OpDef = _ranged("LearnedUnigramCandidateSampler", candidates.Learned)
THREAD_UNSAFE: OpDef = _ranged("ThreadUnsafeUnigramCandidateSampler", candidates.Learned)
