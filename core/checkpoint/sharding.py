"""Which values of a checkpoint share a data file: ShardByTaskPolicy, MaxShardSizePolicy, custom.

`CheckpointOptions.experimental_sharding_callback` takes them. A value may be cut into parts, which
readers put together again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import string
from pinnace.framework.tensor import wrap
from pinnace.storage.slice_keys import parse_slice, slice_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.storage.bundle_writer import BundleWriter

    # Key of a value -> text of a part of it, or "" for all -> that part.
    Shard = Mapping[str, Mapping[str, Any]]

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


@dataclass(frozen=True, eq=False)
class ShardableTensor:
    """A value that is to be saved, as sharding callbacks see it.

    Attributes:
        _tensor_save_spec: None; TensorFlow's has what it saves by.
        tensor: the value.
        dtype: its dtype.
        device: where it lies.
        name: its key.
        shape: its shape.
        slice_spec: the part of a tensor that it is, as text; "" for all.
        checkpoint_key: the key under which it is saved.
        trackable: None; the object that it belongs to is not looked for.
    """

    _tensor_save_spec: Any
    tensor: Tensor
    dtype: DType
    device: str
    name: str
    shape: Shape
    slice_spec: str
    checkpoint_key: str
    trackable: Any

    def __hash__(self) -> int:
        return hash((self.name, str(self.dtype), str(self.slice_spec), self.checkpoint_key))

    def __repr__(self) -> str:
        return (
            f"ShardableTensor(checkpoint_key={self.checkpoint_key!r}, dtype={self.dtype.name}, "
            f"shape={self.shape.text}, slice_spec={self.slice_spec!r})"
        )


class ShardingCallback(ABC):
    """Says which values, or parts of them, share a data file.

    A subclass defines `description` and `__call__`.
    """

    @property
    @abstractmethod
    def description(self) -> str:
        """The rule, in words."""

    @abstractmethod
    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """The contents of each data file.

        Args:
            shardable_tensors: all values.

        Returns:
            For each file a dict from `checkpoint_key` to a dict from the part's text, as
            `4 3 0,2:-` or "" for all of it, to the part.
        """

    def __hash__(self) -> int:
        return hash(self.description)


class ShardByTaskPolicy(ShardingCallback):
    """The values of each process in one data file: all in one, for there is one process."""

    @property
    def description(self) -> str:
        """The rule, in words."""
        return "Split shards based on task."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """One file with all values."""
        found: dict[str, dict[str, Any]] = {}
        for one in shardable_tensors:
            found.setdefault(one.checkpoint_key, {})[one.slice_spec] = one.tensor
        return [found]


class MaxShardSizePolicy(ShardingCallback):
    """Data files of a certain size at most; large values are cut along their longest axis.

    What cannot be cut may make a file larger: strings, one number, the graph of objects.

    Args:
        max_shard_size: in bytes, at least 1.

    Raises:
        ValueError: it is less.
    """

    def __init__(self, max_shard_size: int) -> None:
        if max_shard_size < 1:
            raise ValueError(
                f"MaxShardSizePolicy: max_shard_size must be at least 1, got {max_shard_size}"
            )
        self.max_shard_size = max_shard_size

    @property
    def description(self) -> str:
        """The rule, in words."""
        return "Split shards based on max shard size."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Files that are filled one after the other."""
        shards: list[dict[str, dict[str, Any]]] = [{}]
        room = self.max_shard_size
        for one in shardable_tensors:
            for text, part, size in self._parts(one):
                if size > room and shards[-1]:
                    shards.append({})
                    room = self.max_shard_size
                shards[-1].setdefault(one.checkpoint_key, {})[text] = part
                room -= size
        return shards

    def _parts(self, one: ShardableTensor) -> list[tuple[str, Any, int]]:
        """The text, the value and the size of each part."""
        array = np.asarray(one.tensor)
        if one.dtype is string:
            return [("", one.tensor, sum(map(len, array.reshape(-1))))]
        if array.nbytes <= self.max_shard_size or not array.ndim:
            return [("", one.tensor, array.nbytes)]
        axis = int(np.argmax(array.shape))
        per_entry = array.nbytes // array.shape[axis]
        step = max(1, self.max_shard_size // max(1, per_entry))
        found = []
        for start in range(0, array.shape[axis], step):
            length = min(step, array.shape[axis] - start)
            box = [(0, size) for size in array.shape]
            box[axis] = (start, length)
            part = array.take(range(start, start + length), axis)
            found.append((slice_text(array.shape, box), part, part.nbytes))
        return found


def write_in_shards(
    bundle: BundleWriter, sharding: Callable[..., Any], values: Mapping[str, Array]
) -> None:
    """Write values into the data files that a callback says.

    Args:
        bundle: takes them; the last file stays open.
        sharding: see `ShardingCallback.__call__`.
        values: by their keys.

    Raises:
        ValueError: the callback leaves something out, or gives what is no part of a value.
    """
    tensors = {key: wrap(np.asarray(value)) for key, value in values.items()}
    given = [
        ShardableTensor(None, t, t.dtype, _DEVICE, key, t.shape, "", key, None)
        for key, t in tensors.items()
    ]
    shards = sharding(given)
    left = {key: math.prod(np.shape(value)) for key, value in values.items()}
    for shard in shards:
        bundle.begin_shard()
        for key, parts in shard.items():
            if key not in tensors:
                raise ValueError(f"sharding callback: there is no value {key!r} to save")
            for text, part in parts.items():
                left[key] -= _write_part(bundle, key, text, np.asarray(part), values[key])
    missing = sorted(key for key, count in left.items() if count)
    written = {key for shard in shards for key in shard}
    missing += sorted(set(values) - written - set(missing))
    if missing:
        raise ValueError(
            "sharding callback: every element of every value must be in one file, but "
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not"
        )


def _write_part(bundle: BundleWriter, key: str, text: str, part: Array, whole: Array) -> int:
    """Write a part; how many elements it has."""
    if not text:
        bundle.add(key, part)
    else:
        try:
            shape, box = parse_slice(text)
        except ValueError:
            shape, box = (), ()
        if shape != np.shape(whole):
            raise ValueError(
                f"sharding callback: {text!r} is no part of {key!r} of shape "
                f"{list(np.shape(whole))}; it must be like '4 3 0,2:-'"
            )
        bundle.add_part(key, shape, box, part)
    return part.size
