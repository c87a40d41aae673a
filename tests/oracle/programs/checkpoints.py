"""Checkpoints by TensorFlow's own ops, only in its process."""

from typing import Any


def written(tf: Any, ops: Any, prefix: Any, x: Any, y: Any) -> list[Any]:
    """Write two shards and merge them; returns their names."""
    shards = [
        ops.ShardedFilename(basename=prefix, shard=tf.constant(i), num_shards=tf.constant(2))
        for i in range(2)
    ]
    for shard, name, value in zip(shards, "ab", (x, y), strict=True):
        ops.SaveV2(prefix=shard, tensor_names=[name], shape_and_slices=[""], tensors=[value])
    ops.MergeV2Checkpoints(checkpoint_prefixes=tf.stack(shards), destination_prefix=prefix)
    return [tf.stack(shards)]


def read(_: Any, ops: Any, prefix: Any, x: Any, y: Any) -> list[Any]:
    """Two variables of a checkpoint, and the first row of the second."""
    rows, columns = y.shape
    first, second = (f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in "xy")
    return list(
        ops.RestoreV2(
            prefix=prefix,
            tensor_names=[first, second, second],
            shape_and_slices=["", "", f"{rows} {columns} 0,1:0,{columns}"],
            dtypes=[x.dtype, y.dtype, y.dtype],
        )
    )


def paths(tf: Any, _: Any, home: Any, folder: Any) -> list[Any]:
    """The file names of a manager and a checkpoint, relative to `home`, and the state file."""
    import contextlib
    import pathlib

    with contextlib.chdir(home.numpy().decode()):
        place = folder.numpy().decode()
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
        manager = tf.train.CheckpointManager(checkpoint, place, max_to_keep=2)
        told = [manager.save() for _ in range(3)]
        lines = pathlib.Path(place, "checkpoint").read_text().splitlines()
        state = tf.train.get_checkpoint_state(place)
        again = tf.train.CheckpointManager(checkpoint, place, max_to_keep=2)
        told += [manager.latest_checkpoint, *manager.checkpoints, manager.directory]
        told += [line for line in lines if "timestamp" not in line]
        told += [state.model_checkpoint_path, *state.all_model_checkpoint_paths]
        told += [again.latest_checkpoint, *again.checkpoints, again.restore_or_initialize()]
        told += [checkpoint.save(f"{place}/saved"), tf.train.latest_checkpoint(place)]
    return [tf.constant(told)]
