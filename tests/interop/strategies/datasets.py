"""How strategies split datasets, as JSON: the same program for both libraries."""

import importlib
import json
import sys

import numpy as np

tf = importlib.import_module(sys.argv[1])
count = int(sys.argv[2])
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
)
strategy = tf.distribute.MirroredStrategy([f"/CPU:{i}" for i in range(count)])
Dataset = tf.data.Dataset


def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value.to_list() if hasattr(value, "to_list") else value.numpy().tolist()


def read(distributed, most=9):
    found = []
    for step, element in enumerate(distributed):
        if step == most:
            break
        found.append([plain(one) for one in strategy.experimental_local_results(element)])
    return found


def shapes(distributed):
    leaves = tf.nest.flatten(distributed.element_spec, expand_composites=True)
    return [leaf.shape.as_list() for leaf in leaves]


def lengths():
    return iter([np.arange(4), np.arange(4), np.arange(3)])


of_lists = tf.TensorSpec([None], tf.int64)
datasets = {
    "uneven end": Dataset.range(10).batch(4),
    "dropped end": Dataset.range(10).batch(4, drop_remainder=True),
    "five": Dataset.range(10).batch(5),
    "six": Dataset.range(9).batch(6),
    "seven": Dataset.range(7).batch(4),
    "repeated batches": Dataset.range(10).batch(4).repeat(2),
    "batches of repeated": Dataset.range(10).repeat(2).batch(4),
    "mapped": Dataset.range(10).batch(4).map(lambda x: x * 2),
    "prefetched": Dataset.range(10).batch(4).prefetch(2),
    "taken": Dataset.range(20).batch(4).take(2),
    "filtered": Dataset.range(10).batch(4).filter(lambda x: True),
    "generated": Dataset.from_generator(lengths, output_signature=of_lists),
    "tuples": Dataset.from_tensor_slices((np.arange(6), np.arange(6.0))).batch(4),
    "dicts": Dataset.from_tensor_slices({"a": np.arange(6)}).batch(4),
    "padded": Dataset.range(6).map(lambda x: tf.fill([x], x)).padded_batch(4),
    "flat": Dataset.range(3).flat_map(lambda x: Dataset.range(5).batch(4)),
    "one after the other": Dataset.range(5).batch(4).concatenate(Dataset.range(3).batch(4)),
    "zipped": Dataset.zip((Dataset.range(10).batch(4), Dataset.range(10).batch(4))),
    "one element": Dataset.from_tensors(np.arange(6)),
    "rows": Dataset.from_tensor_slices(np.arange(12).reshape(3, 4)),
    "twice batched": Dataset.range(12).batch(2).batch(3),
    "batches of one": Dataset.range(3).batch(1),
    "without end": Dataset.range(10).batch(4).repeat(),
    "ragged": Dataset.range(6).map(lambda x: tf.fill([x], x)).ragged_batch(4),
    "strings": Dataset.from_tensor_slices([b"a", b"b", b"c"]).batch(2).map(tf.strings.length),
}
found = {}
for name, dataset in datasets.items():
    distributed = strategy.experimental_distribute_dataset(dataset)
    found[name] = read(distributed)
    found[f"{name}: shapes"] = shapes(distributed)
made_by = {
    "batches": lambda context: Dataset.range(7).batch(2),
    "scalars": lambda context: Dataset.range(5),
    "even batches": lambda context: Dataset.range(7).batch(2, drop_remainder=True),
    "share of a batch": lambda context: Dataset.range(8).batch(
        context.get_per_replica_batch_size(4)
    ),
}
for name, make in made_by.items():
    distributed = strategy.distribute_datasets_from_function(make)
    found[f"function: {name}"] = read(distributed)
    found[f"function: {name}: shapes"] = shapes(distributed)
options = tf.distribute.InputOptions(
    experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA,
    experimental_place_dataset_on_device=True,
    experimental_fetch_to_device=False,
)
found["a pipeline each"] = read(
    strategy.distribute_datasets_from_function(
        lambda context: Dataset.range(3).map(lambda x: x + 10 * context.input_pipeline_id),
        options,
    )
)


@tf.function
def over_dataset(dataset):
    total = tf.constant(0, tf.int64)
    for x in dataset:
        total += strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(x,)), axis=None)
    return total


@tf.function
def over_iterator(iterator, steps):
    total = tf.constant(0, tf.int64)
    for _ in tf.range(steps):
        sums = strategy.run(tf.reduce_sum, args=(next(iterator),))
        total += strategy.reduce("SUM", sums, axis=None)
    return total


def fresh():
    return strategy.experimental_distribute_dataset(Dataset.range(10).batch(4))


found["a loop in a function"] = int(over_dataset(fresh()))
found["steps in a function"] = int(over_iterator(iter(fresh()), tf.constant(3)))
iterator = iter(fresh())
optionals = [iterator.get_next_as_optional() for _ in range(4)]
found["optionals"] = [bool(one.has_value()) for one in optionals]
try:
    next(iterator)
except StopIteration:
    found["the end"] = "StopIteration"
try:
    iterator.get_next()
except tf.errors.OutOfRangeError:
    found["the end of get_next"] = "OutOfRangeError"
print(json.dumps(found))
