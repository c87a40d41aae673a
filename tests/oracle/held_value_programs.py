"""Values behind variants and handles: lists, files; see `both`.

python held_value_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
FOLDER = Path(sys.argv[2])
raw = tf.raw_ops


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.hex()
    if isinstance(x, complex):
        return [x.real, x.imag]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, tf.IndexedSlices):
        x = tf.convert_to_tensor(x)
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), plain(array.reshape(-1).tolist())]


def told(call: Any) -> Any:
    """The result of a call, or that it refuses."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError):
        return "refused"
    except (tf.errors.OpError, LookupError, RuntimeError, TypeError) as error:
        return type(error).__name__


def lists() -> Any:
    def made(rows: Any) -> Any:
        x = tf.constant(rows)
        return raw.TensorListFromTensor(tensor=x, element_shape=x.shape[1:])

    def stacked(handle: Any) -> Any:
        shape = tf.constant([2])
        return raw.TensorListStack(
            input_handle=handle, element_shape=shape, element_dtype=tf.float32
        )

    a, b = made([[1.0, 2.0]]), made([[3.0, 4.0], [5.0, 6.0]])
    joined = raw.TensorListConcatLists(input_a=a, input_b=b, element_dtype=tf.float32)
    handles = tf.stack([a, b])
    more = raw.TensorListPushBackBatch(
        input_handles=handles, tensor=tf.constant([[7.0, 8.0], [9.0, 0.0]])
    )
    pairs = raw.TensorListConcatLists(input_a=handles, input_b=more, element_dtype=tf.float32)
    wrong = made([[1, 2]])
    return [
        stacked(joined),
        *(stacked(more[place]) for place in range(2)),
        *(stacked(pairs[place]) for place in range(2)),
        told(
            lambda: stacked(
                raw.TensorListConcatLists(input_a=a, input_b=wrong, element_dtype=tf.float32)
            )
        ),
        told(
            lambda: raw.TensorListPushBackBatch(input_handles=handles, tensor=tf.ones([3, 2])).shape
        ),
    ]


def bundles() -> Any:
    prefix = str(FOLDER / "a" / "ckpt")
    values = [tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant(["x", "yz"]), tf.constant(7)]
    names = ["w/a", "text", "n"]
    raw.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=["", "", ""], tensors=values)
    kinds = [tf.float32, tf.string, tf.int32]

    def restored(prefix: str, names: Any, parts: Any, kinds: Any) -> Any:
        return list(
            raw.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=parts, dtypes=kinds)
        )

    other, target = str(FOLDER / "b" / "ckpt"), str(FOLDER / "c" / "ckpt")
    raw.SaveV2(
        prefix=other, tensor_names=["more"], shape_and_slices=[""], tensors=[tf.constant([5, 6])]
    )
    found = [
        restored(prefix, names, ["", "", ""], kinds),
        restored(prefix, ["w/a"], ["2 2 0,1:-"], [tf.float32]),
        restored(prefix, ["w/a"], ["2 2 -:1,1"], [tf.float32]),
        told(lambda: restored(prefix, ["w/a"], [""], [tf.int32])),
        told(lambda: restored(prefix, ["w/b"], [""], [tf.float32])),
        told(lambda: restored(prefix, ["w/a"], ["3 2 -:-"], [tf.float32])),
        told(lambda: restored(str(FOLDER / "nowhere"), ["w/a"], [""], [tf.float32])),
    ]
    raw.MergeV2Checkpoints(checkpoint_prefixes=[prefix, other], destination_prefix=target)
    return [
        *found,
        restored(target, ["more", *names], ["", "", "", ""], [tf.int32, *kinds]),
        sorted(path.name for path in (FOLDER / "c").iterdir()),
        (FOLDER / "a").exists(),
        (FOLDER / "b").exists(),
    ]


def tables() -> Any:
    keys, values = tf.constant([1, 2], tf.int64), tf.constant([[0.5, 0.25], [1.0, 2.0]])
    kinds = {"key_dtype": tf.int64, "value_dtype": tf.float32}
    marks = [tf.constant(mark, tf.int64) for mark in (-1, -2)]
    made = [
        raw.AnonymousMutableHashTable(**kinds),
        raw.AnonymousMutableHashTableOfTensors(**kinds, value_shape=[2]),
        raw.AnonymousMutableDenseHashTable(
            empty_key=marks[0], deleted_key=marks[1], value_dtype=tf.float32, value_shape=[2]
        ),
    ]
    found = []
    for place, handle in enumerate(made):
        rows, default = (values, [-1.0, -2.0]) if place else (values[:, 0], -1.0)
        raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=rows)
        wanted = tf.constant([2, 7], tf.int64)
        found.append(raw.LookupTableFindV2(table_handle=handle, keys=wanted, default_value=default))
    fixed = raw.AnonymousHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    raw.InitializeTableV2(table_handle=fixed, keys=["a", "b"], values=keys)
    zero = tf.constant(0, tf.int64)
    words = ["b", "z"]
    return [
        *found,
        raw.LookupTableFindV2(table_handle=fixed, keys=words, default_value=zero),
        told(lambda: raw.InitializeTableV2(table_handle=fixed, keys=["a"], values=keys[:1])),
    ]


def counting() -> Any:
    variable = tf.Variable(3)

    def up() -> Any:
        return raw.ResourceCountUpTo(resource=variable.handle, limit=5, T=tf.int32)

    return [
        *(told(up) for _ in range(3)),
        int(variable),
        raw.DeviceIndex(device_names=["GPU", "CPU"]),
        raw.DeviceIndex(device_names=["TPU"]),
    ]


def padded_convolutions() -> Any:
    rng = np.random.default_rng(0)
    # Only one image: in TensorFlow the others get parts of the first one.
    x = rng.normal(size=(1, 5, 6, 2)).astype(np.float32)
    w = rng.normal(size=(2, 3, 2, 3)).astype(np.float32)
    found = []
    for mode in ("REFLECT", "SYMMETRIC"):
        for padding in ("SAME", "VALID"):
            options = {
                "paddings": [[0, 0], [1, 2], [0, 1], [0, 0]],
                "filter": w,
                "mode": mode,
                "strides": [1, 1, 2, 1],
                "padding": padding,
            }
            found.append(raw.FusedPadConv2D(input=x, **options))
            found += [
                raw.FusedResizeAndPadConv2D(
                    input=x, size=[7, 8], resize_align_corners=corners, **options
                )
                for corners in (True, False)
            ]
    return found


def queues() -> Any:
    kinds = {"component_types": [tf.int32, tf.float32], "shapes": [[], [2]]}

    def rows(*numbers: int) -> Any:
        return [tf.constant(numbers), tf.constant([[n, n + 0.5] for n in numbers], tf.float32)]

    def one(number: int) -> Any:
        return [tf.constant(number), tf.constant([number, -1.0])]

    def taken(handle: Any, count: Any = None, **options: Any) -> Any:
        take = raw.QueueDequeueV2 if count is None else raw.QueueDequeueManyV2
        given = {} if count is None else {"n": count}
        types = kinds["component_types"]
        return told(lambda: take(handle=handle, component_types=types, **given, **options))

    def run(handle: Any) -> Any:
        raw.QueueEnqueueV2(handle=handle, components=one(7))
        raw.QueueEnqueueManyV2(handle=handle, components=rows(3, 9, 1))
        found = [raw.QueueSizeV2(handle=handle), taken(handle), taken(handle, 2)]
        found.append(told(lambda: raw.QueueIsClosedV2(handle=handle)))
        found.append(told(lambda: raw.QueueEnqueueV2(handle=handle, components=one(7)[::-1])))
        raw.QueueCloseV2(handle=handle, cancel_pending_enqueues=False)
        found.append(told(lambda: raw.QueueIsClosedV2(handle=handle)))
        found.append(told(lambda: raw.QueueEnqueueV2(handle=handle, components=one(7))))
        some = raw.QueueDequeueUpToV2(handle=handle, n=3, component_types=kinds["component_types"])
        return [*found, some, taken(handle), raw.QueueSizeV2(handle=handle)]

    first = raw.PriorityQueueV2(component_types=[tf.float32], shapes=[[], [2]][:1])
    for number in (5, 2, 8):
        values = [tf.constant(number, tf.int64), tf.constant(float(number))]
        told(lambda v=values: raw.QueueEnqueueV2(handle=first, components=v))
    types = [tf.int64, tf.float32]
    order = [told(lambda: raw.QueueDequeueV2(handle=first, component_types=types)) for _ in "ab"]
    shuffled = raw.RandomShuffleQueueV2(**kinds, seed=3, seed2=4, min_after_dequeue=0)
    raw.QueueEnqueueManyV2(handle=shuffled, components=rows(*range(20)))
    numbers = raw.QueueDequeueManyV2(
        handle=shuffled, n=20, component_types=kinds["component_types"]
    )[0]
    padding = raw.PaddingFIFOQueueV2(component_types=[tf.int32], shapes=[[-1]])
    for size in (2, 3, 1):
        raw.QueueEnqueueV2(handle=padding, components=[tf.range(size) + 1])
    padded = raw.QueueDequeueManyV2(handle=padding, n=3, component_types=[tf.int32])
    fifo = plain(run(raw.FIFOQueueV2(**kinds, capacity=10)))
    return [fifo, order, sorted(np.asarray(numbers).tolist()), plain(padded)]


def mutexes() -> Any:
    mutex = raw.MutexV2(shared_name="a mutex of this program")
    held = raw.MutexLock(mutex=mutex)
    raw.ConsumeMutexLock(mutex_lock=held)
    section, total = tf.CriticalSection(name="a section"), tf.Variable(0.0)

    @tf.function
    def add(x: Any) -> Any:
        return section.execute(lambda: total.assign_add(x))

    return [plain(add(tf.constant(2.0))), plain(add(tf.constant(3.5)))]


PROGRAMS = {
    "queues": queues,
    "mutexes": mutexes,
    "tables": tables,
    "counting": counting,
    "padded convolutions": padded_convolutions,
    "lists": lists,
    "bundles": bundles,
}


if __name__ == "__main__":
    report(PROGRAMS, plain)
