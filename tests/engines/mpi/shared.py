"""What multi-process strategies distribute and sum: one program, for two libraries.

    python shared.py LIBRARY FOLDER

Each process of the job writes `FOLDER/RANK.json`; the text files in `FOLDER` exist before.
"""

import importlib
import json
import sys
from pathlib import Path

import numpy as np

library, folder = sys.argv[1], Path(sys.argv[2])
tf = importlib.import_module(library)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
SIZE = strategy.num_replicas_in_sync
Dataset = tf.data.Dataset
Policy = tf.data.experimental.AutoShardPolicy
FILES = [str(folder / f"{number}.txt") for number in range(4)]


def replica():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


RANK = int(strategy.experimental_local_results(strategy.run(replica))[0])


def plain(value):
    """A value as JSON can represent it."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    found = np.asarray(strategy.experimental_local_results(value)[0]).tolist()
    texts = json.dumps(found, default=lambda one: one.decode())
    return json.loads(texts)


def elements(dataset):
    return [plain(one) for one in strategy.experimental_distribute_dataset(dataset)]


def with_policy(dataset, policy):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(options)


def varying():
    yield from (np.arange(size) for size in (5, 2, 4))


def texts(count=4):
    return tf.data.TextLineDataset(FILES[:count])


def from_varying():
    spec = tf.TensorSpec([None], tf.int64)
    return Dataset.from_generator(varying, output_signature=spec)


def slices():
    def one():
        number = replica()
        rows = tf.fill([1, 2], tf.cast(number + 1, tf.float32))
        given = tf.IndexedSlices(rows, tf.reshape(number, [1]), tf.constant([4, 2]))
        found = tf.distribute.get_replica_context().all_reduce("MEAN", given)
        return found.values, found.indices

    return strategy.run(one)


def gathered():
    def one():
        context = tf.distribute.get_replica_context()
        rows = tf.fill([replica() + 1, 2], replica())
        return context.all_gather(rows, 0), context.all_reduce("SUM", tf.constant(2.0))

    return strategy.run(one)


def reduced():
    number = strategy.run(lambda: tf.cast(replica(), tf.float32) + 1)
    rows = strategy.run(lambda: tf.range(replica() + 1))
    return [
        number,
        strategy.reduce("SUM", number, axis=None),
        strategy.reduce("MEAN", number, axis=None),
        strategy.gather(rows, 0),
        strategy.reduce("SUM", rows, axis=0),
        strategy.reduce(
            "MEAN", strategy.run(lambda: tf.cast(tf.range(replica() + 1), tf.float32)), axis=0
        ),
        strategy.reduce("SUM", 1.0, axis=None),
        strategy.reduce("MEAN", 3.0, axis=None),
    ]


def differentiated():
    """The gradient of an all-reduce sum: each process gets the sum of all upstream gradients."""

    def one():
        x = tf.cast(replica(), tf.float32) + 2
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.distribute.get_replica_context().all_reduce("SUM", x * x)
            z = y * (tf.cast(replica(), tf.float32) + 1)
        return z, tape.gradient(z, x)

    return strategy.run(tf.function(one))


def variables():
    kinds = tf.VariableAggregation
    on_read = tf.VariableSynchronization.ON_READ
    with strategy.scope():
        first = tf.Variable(float(RANK + 5))
        mean = tf.Variable(0.0, aggregation=kinds.MEAN)
        total = tf.Variable(0.0, aggregation=kinds.SUM)
        only = tf.Variable(0.0, aggregation=kinds.ONLY_FIRST_REPLICA)
        alone = tf.Variable(0.0)
        read = tf.Variable(0.0, synchronization=on_read, aggregation=kinds.SUM, trainable=False)

    def one():
        x = tf.cast(replica(), tf.float32) + 1
        for variable in (mean, total, only, alone):
            variable.assign(x)
        read.assign_add(x)

    strategy.run(one)
    found = [first, mean, total, only, alone, read]
    values = [variable.numpy() for variable in found]
    read.assign(6.0)
    return [*values, read.numpy(), read.numpy()]


def of_function():
    contexts = []

    def made(context):
        contexts.append(
            [context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync]
        )
        return Dataset.range(context.input_pipeline_id * 3 + 2).batch(2)

    batches = [plain(one) for one in strategy.distribute_datasets_from_function(made)]
    return contexts, batches


CASES = {
    "10 by 4": lambda: elements(Dataset.range(10).batch(4)),
    "11 by 4": lambda: elements(Dataset.range(11).batch(4)),
    "5 by 3": lambda: elements(Dataset.range(5).batch(3)),
    "1 by 4": lambda: elements(Dataset.range(1).batch(4)),
    "11 by 4, whole": lambda: elements(Dataset.range(11).batch(4, drop_remainder=True)),
    "11 by 3, whole": lambda: elements(Dataset.range(11).batch(3, drop_remainder=True)),
    "mapped": lambda: elements(Dataset.range(10).batch(4).map(lambda x: x * 2)),
    "varying": lambda: elements(from_varying()),
    "rows": lambda: elements(Dataset.from_tensor_slices(np.arange(12).reshape(3, 4))),
    "off": lambda: elements(with_policy(Dataset.range(10).batch(4), Policy.OFF)),
    "off, 7 by 3": lambda: elements(with_policy(Dataset.range(7).batch(3), Policy.OFF)),
    "off, varying": lambda: elements(with_policy(from_varying(), Policy.OFF)),
    "off, mapped": lambda: elements(with_policy(texts().batch(4).map(lambda x: x), Policy.OFF)),
    "hint": lambda: elements(with_policy(Dataset.range(10).batch(4), Policy.HINT)),
    "data": lambda: elements(with_policy(Dataset.range(10).batch(4), Policy.DATA)),
    "texts": lambda: elements(texts().batch(4)),
    "texts by 3": lambda: elements(with_policy(texts().batch(3), Policy.FILE)),
    "texts, data": lambda: elements(with_policy(texts().batch(4), Policy.DATA)),
    "texts, off": lambda: elements(with_policy(texts().batch(4), Policy.OFF)),
    "3 texts": lambda: elements(texts(3).batch(4)),
    "names": lambda: elements(tf.data.TextLineDataset(Dataset.from_tensor_slices(FILES)).batch(4)),
    "interleaved": lambda: elements(
        Dataset.from_tensor_slices(FILES)
        .interleave(tf.data.TextLineDataset, cycle_length=2)
        .batch(4)
    ),
    "listed": lambda: elements(
        Dataset.list_files(str(folder / "?.txt"), shuffle=False)
        .flat_map(tf.data.TextLineDataset)
        .batch(4)
    ),
    "zipped": lambda: elements(Dataset.zip((texts(), texts())).map(lambda a, b: a).batch(4)),
    "of a function": of_function,
    "reduced": reduced,
    "gathered": gathered,
    "slices": slices,
    "differentiated": differentiated,
    "variables": variables,
}
found = {name: plain(case()) for name, case in CASES.items()}
(folder / f"{RANK}.json").write_text(json.dumps(found))
