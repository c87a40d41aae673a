"""Dataset's methods that say which elements come, in which order, and when they are made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.data import counting, prefetch, sources, storing
from pinnace.data import shuffle as shuffles
from pinnace.data.elements import Element, text_of, whole_number
from pinnace.data.functions import element_function
from pinnace.data.pipeline import Pipeline, public, stage_of
from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.data.dataset import Dataset
    from pinnace.data.stage import Stage


class Arranging(Pipeline):
    """Which elements, in which order."""

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without end if it is None or -1."""
        del name
        return self._with(counting.Repeat(self._stage, count))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all if it is -1."""
        del name
        return self._with(counting.Part(self._stage, 0, count))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """What comes after the first `count` elements; nothing if it is -1."""
        del name
        return self._with(counting.Part(self._stage, count, -1))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from `index`."""
        del name
        return self._with(counting.Shard(self._stage, num_shards, index))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of `dataset`."""
        del name
        return self._with(counting.Concatenated(self._stage, stage_of(dataset, "concatenate")))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """(number, element), numbers int64 from `start`."""
        del name
        numbers = sources.Range(start, 2**62, 1, dtypes.int64)
        return self._with(counting.Zipped((numbers, self._stage)))

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """The elements in random order, as far as a buffer of `buffer_size` elements can move them.

        Args:
            buffer_size: at least the number of elements for a uniform order.
            seed: with it, or with `random.set_seed`, every run of the program has the same orders.
            reshuffle_each_iteration: whether each pass has another order.
            name: accepted.
        """
        del name
        anew = reshuffle_each_iteration is not False
        if seed is not None:
            seed = int(whole_number(seed, "shuffle", "seed"))
        return self._with(shuffles.Shuffled(self._stage, buffer_size, seed, anew))

    def unique(self, name: str | None = None) -> Dataset:
        """The elements, each once."""
        del name
        return self._with(shuffles.Unique(self._stage))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The same elements, up to `buffer_size` of them made ahead of time by a thread.

        Args:
            buffer_size: how many; AUTOTUNE starts the thread only if elements take long enough to
                make.
            name: accepted without effect.
        """
        del name
        return self._with(prefetch.Prefetched(self._stage, buffer_size))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """The same elements, remembered by the first pass that reaches the end.

        Args:
            filename: a folder to keep them in; memory if it is empty.
            name: accepted.
        """
        del name
        place = text_of(filename, "cache", "filename")
        if not place:
            return self._with(prefetch.Cached(self._stage))
        return self._with(self._in_folder(Path(place), None))

    def _in_folder(
        self,
        folder: Path,
        compression: str | None,
        shard: Callable[[Element], int] | None = None,
        reader: Callable[[Any], Any] | None = None,
    ) -> Stage:
        read = None if reader is None else (lambda files: stage_of(reader(public(files)), "reader"))
        files = storing.FolderCache(folder, self.element_spec, compression, shard, read)
        return prefetch.CachedInFile(self._stage, files.exists, files.read, files.write)

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Any = None,
        shard_func: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The same elements; the first complete pass writes them to `path`, later ones read it.

        Args:
            path: a folder.
            compression: None or "GZIP"; "AUTO" is none.
            reader_func: takes a dataset of datasets, one per file, and gives the elements.
            shard_func: takes an element and gives the number of the file it goes to.
            name: accepted.
        """
        del name
        kind = None if compression in {"AUTO", "NONE", "", None} else compression
        folder = Path(text_of(path, "snapshot", "path"))
        shard = None if shard_func is None else self._file_number(shard_func, "snapshot")
        return self._with(self._in_folder(folder, kind, shard, reader_func))

    def _file_number(self, shard_func: Callable[..., Any], who: str) -> Callable[[Element], int]:
        which = element_function(shard_func, self.element_spec, who, public)
        return lambda element: int(which(element)[0])

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write every element into the folder `path`, for `Dataset.load`.

        Args:
            path: the folder; if it is there it is replaced, in one step.
            compression: None or "GZIP".
            shard_func: takes an element and gives the number of the file it goes to.
            checkpoint_args: not supported.
        """
        if checkpoint_args is not None:
            raise UnimplementedError("save: checkpoint_args is not supported")
        folder = Path(text_of(path, "save", "path"))
        kind = None if compression in {"NONE", ""} else compression
        if shard_func is None:
            storing.write_folder(self._stage, folder, kind)
            return
        storing.write_folder(self._stage, folder, kind, self._file_number(shard_func, "save"))
