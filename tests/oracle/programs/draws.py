"""Random ops with seeds, each drawing twice in one run of a graph."""

from typing import Any


def seeded(tf: Any, ops: Any, logits: Any, seed: Any) -> list[Any]:
    """Streams of ops that have both seeds."""
    shape = tf.constant([2, 3])
    first = int(seed[0])
    size = tf.constant([90, 70, 3], tf.int64)
    boxes = tf.constant([[[0.25, 0.125, 0.75, 0.875]]])

    def function(logits: Any) -> list[Any]:
        seeds = {"seed": first, "seed2": 7}
        return [
            ops.RandomUniform(shape=shape, dtype=tf.float32, **seeds),
            ops.RandomStandardNormal(shape=shape, dtype=tf.float32, **seeds),
            ops.TruncatedNormal(shape=shape, dtype=tf.float32, **seeds),
            ops.RandomUniformInt(
                shape=shape, minval=tf.constant(-5), maxval=tf.constant(9), **seeds
            ),
            ops.RandomShuffle(value=logits, **seeds),
            ops.Multinomial(logits=logits, num_samples=tf.constant(4), **seeds),
            *ops.SampleDistortedBoundingBox(image_size=size, bounding_boxes=boxes, **seeds),
            *ops.SampleDistortedBoundingBoxV2(
                image_size=size,
                bounding_boxes=boxes,
                min_object_covered=tf.constant(0.4),
                **seeds,
            ),
        ]

    return list(ops.trace(function, logits))


def stateful(tf: Any, ops: Any, _: Any, seed: Any) -> list[Any]:
    """Draws that advance a generator's state."""
    shape = tf.constant([3, 2], tf.int64)
    state = tf.Variable(tf.concat([tf.abs(seed), seed[:1]], 0))
    algorithm = tf.constant(1, tf.int64)
    given = {"resource": state.handle, "algorithm": algorithm, "shape": shape}
    low, high = tf.constant(-9, tf.int64), tf.constant(1000, tf.int64)
    found = [
        ops.StatefulUniform(dtype=tf.float32, **given),
        ops.StatefulStandardNormalV2(dtype=tf.float32, **given),
        ops.StatefulTruncatedNormal(dtype=tf.float32, **given),
        ops.StatefulUniformFullInt(dtype=tf.uint64, **given),
        ops.StatefulUniformInt(minval=low, maxval=high, **given),
        ops.RngReadAndSkip(
            resource=state.handle, alg=tf.constant(1), delta=tf.constant(10, tf.uint64)
        ),
    ]
    ops.RngSkip(resource=state.handle, algorithm=algorithm, delta=tf.constant(77, tf.int64))
    return [*found, state.read_value()]


def distributions(tf: Any, ops: Any, x: Any, seed: Any) -> list[Any]:
    """Draws from distributions whose parameter is a tensor, twice from each stream."""
    shape, first = tf.constant([3]), int(seed[0])

    def function(x: Any) -> list[Any]:
        seeds = {"seed": first, "seed2": 7}
        return [
            ops.RandomGamma(shape=shape, alpha=tf.abs(x), **seeds),
            ops.RandomPoissonV2(shape=shape, rate=tf.abs(x) * 8.0, dtype=tf.int64, **seeds),
            ops.StatelessRandomGetAlg(),
        ]

    return list(ops.trace(function, x))


def sampled(tf: Any, ops: Any, x: Any, seed: Any) -> list[Any]:
    """Candidates without accidental hits, each sampler twice; binomial numbers from a state."""
    first = int(seed[0])
    right = tf.constant([[1, 4], [0, 2]], tf.int64)

    def function(right: Any) -> list[Any]:
        given = {"true_classes": right, "num_true": 2, "seed": first, "seed2": 7}
        ranged = {**given, "num_sampled": 4, "unique": True, "range_max": 9}
        samplers = (
            ops.UniformCandidateSampler,
            ops.LogUniformCandidateSampler,
            ops.LearnedUnigramCandidateSampler,
            ops.ThreadUnsafeUnigramCandidateSampler,
        )
        weights = [0.5, 1.0, 2.0, 0.25, 4.0, 1.0, 1.0, 3.0, 0.125]
        found = [sampler(**ranged) for sampler in samplers for _ in range(2)]
        found.append(ops.FixedUnigramCandidateSampler(**ranged, unigrams=weights))
        found.append(ops.AllCandidateSampler(**given, num_sampled=9, unique=True))
        return [part for parts in found for part in parts]

    state = tf.Variable(tf.concat([tf.abs(seed), seed[:1]], 0))
    binomial = ops.StatefulRandomBinomial(
        resource=state.handle,
        algorithm=tf.constant(1, tf.int64),
        shape=tf.concat([[3], tf.shape(x)], 0),
        counts=tf.constant(40.0, x.dtype),
        probs=tf.abs(x) / 8,
        dtype=tf.float32,
    )
    return [*ops.trace(function, right), binomial, state.read_value()]
