"""Dataset: the public interface to a pipeline of stages."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import batch as batches
from pinnace.data import (
    counting,
    interleave,
    prefetch,
    reducing,
    sampling,
    sources,
    storing,
    traced_iterator,
    windows,
)
from pinnace.data import map as maps
from pinnace.data import shuffle as shuffles
from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import (
    AUTOTUNE,
    INFINITE,
    UNKNOWN,
    Element,
    Nest,
    normalised,
    parallel_calls,
    text_of,
    whole_number,
)
from pinnace.data.functions import StageMaker, Traced, check_predicate, element_function
from pinnace.data.iterator import DatasetIterator
from pinnace.data.numpy_iterator import NumpyIterator
from pinnace.data.options import Options
from pinnace.data.stage import SeedSource, Stage
from pinnace.data.variants import stage_of_variant, variant_of
from pinnace.framework import dtypes, structure, tracebacks
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.context import state
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.dataset import handles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Dataset(CompositeTensor):
    """A sequence of elements, each a structure of tensors, made when they are read.

    Every method returns a new dataset. Functions are traced once, when the method is called; a pass
    runs them as plans. Each `for` loop starts a new pass.

    Args:
        stage: the source of elements; the static methods make one.
        options: the options of the pipeline.
    """

    def __init__(self, stage: Stage, options: Options | None = None) -> None:
        if not isinstance(stage, Stage):
            raise TypeError(
                f"a Dataset is made by its static methods, got {stage!r}\n"
                "  Try: Dataset.from_tensor_slices(...)"
            )
        self._stage = stage
        self._options = options

    def __iter__(self) -> Any:
        if state.tracer is not None:
            return traced_iterator.begin(self.variant_tensor, self.element_spec)
        return DatasetIterator(self._stage, Dataset, self.element_spec)

    def as_numpy_iterator(self) -> NumpyIterator:
        """The elements as read-only arrays, NumPy scalars and bytes."""
        return NumpyIterator(self._stage, lambda: iter(self))

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        Raises:
            InvalidArgumentError: the dataset has no element, or more than one.
        """
        del name
        if state.tracer is not None:
            return traced_iterator.only(self.variant_tensor, self.element_spec)
        found = list(itertools.islice(iter(self), 2))
        if len(found) != 1:
            what = "Dataset had more than one element." if found else "Dataset was empty."
            raise InvalidArgumentError(f"get_single_element: exactly one is required: {what}")
        return found[0]

    def cardinality(self, name: str | None = None) -> Tensor:
        """The number of elements; INFINITE_CARDINALITY or UNKNOWN_CARDINALITY."""
        del name
        if self._stage.symbols():
            return handles.cardinality(self.variant_tensor)
        return wrap(np.array(self._stage.cardinality(), np.int64))

    def __len__(self) -> int:
        size = self._stage.cardinality()
        if size == INFINITE:
            raise TypeError("the dataset is infinite")
        if size == UNKNOWN:
            raise TypeError(
                "the length of the dataset is unknown\n  Try: experimental.assert_cardinality"
            )
        return size

    def __bool__(self) -> bool:
        return True

    def _repr_html_(self) -> str:
        """The element spec and the number of elements as HTML, for notebooks; reads no element."""
        from pinnace.framework import html

        count = self._stage.cardinality()
        told = {INFINITE: "without end", UNKNOWN: "not known beforehand"}.get(count, count)
        rows = []
        for path, spec in structure.flatten_with_paths(self.element_spec):
            plain = isinstance(spec, TensorSpec)
            kind, shape = (spec.dtype.name, spec.shape) if plain else (type(spec).__name__, "")
            rows.append(("/".join(map(str, path)) or "element", kind, shape))
        title = f"{type(self._stage).__name__} dataset, elements: {told}"
        return html.table(title, ("component", "dtype", "shape"), rows)

    def __repr__(self) -> str:
        return f"<{type(self._stage).__name__} dataset element_spec={self.element_spec}>"

    # Implementation.

    def _with(self, stage: Stage) -> Dataset:
        return Dataset(stage, self._options)

    @property
    def stage(self) -> Stage:
        """The stage that produces the elements."""
        return self._stage

    @property
    def element_spec(self) -> Nest:
        """The structure of the elements, with a spec at each leaf."""
        return self._stage.spec

    @property
    def spec(self) -> DatasetSpec:
        """The spec of the dataset as a function's argument."""
        return DatasetSpec(self.element_spec)

    @property
    def variant_tensor(self) -> Tensor:
        """A handle of this dataset for ops."""
        return variant_of(self._stage)

    @staticmethod
    def _of_variant(variant: Tensor, element_spec: Nest) -> Dataset:
        return Dataset(stage_of_variant(variant, element_spec))

    def _in_order(self, deterministic: bool | None) -> bool:
        if deterministic is None and self._options is not None:
            deterministic = self._options.deterministic
        return deterministic is not False

    def options(self) -> Options:
        """The options."""
        return self._options or Options()

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset with `options`, which datasets made from it inherit."""
        del name
        return Dataset(self._stage, self.options().merge(options))

    # Sources.

    @staticmethod
    def from_tensors(tensors: Nest, name: str | None = None) -> Dataset:
        """A single element: `tensors`, a structure of tensors, arrays and datasets."""
        del name
        return Dataset(sources.Single(tensors))

    @staticmethod
    def from_tensor_slices(tensors: Nest, name: str | None = None) -> Dataset:
        """The rows of `tensors`, whose first axes must have one size.

        Args:
            tensors: a structure of tensors or arrays, which are copied; lists are tensors.
            name: accepted.

        Raises:
            ValueError: first axes that differ, or a scalar.
        """
        del name
        parts = normalised(tensors, sources.as_part)
        if all(isinstance(leaf, Tensor) for leaf in structure.flatten(parts)):
            return Dataset(sources.Slices(parts))
        return Dataset(batches.SliceOf(sources.Single(parts)))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Nest = None,
        output_shapes: Nest = None,
        args: Sequence[Any] | None = None,
        output_signature: Nest = None,
        name: str | None = None,
    ) -> Dataset:
        """The items that `generator(*args)` yields; each pass calls it again.

        Args:
            generator: gives an iterable.
            output_types: an older way to say dtypes, with `output_shapes`.
            output_shapes: their shapes; unknown if None.
            args: tensors, given to the generator as arrays.
            output_signature: a structure of TensorSpecs.
            name: accepted.

        Raises:
            TypeError: neither signature nor types; in a pass, an element that does not fit.
        """
        del name
        spec = sources.generated_spec(output_types, output_shapes, output_signature)
        return Dataset(sources.Generated(generator, spec, args))

    @staticmethod
    def range(*args: Any, output_type: Any = None, name: str | None = None) -> Dataset:
        """Numbers as in Python's `range`, int64 unless `output_type` is given."""
        del name
        if not 1 <= len(args) <= 3:
            raise TypeError(f"range takes 1 to 3 numbers, got {len(args)}")
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) > 2 else 1
        kind = dtypes.int64 if output_type is None else dtypes.as_dtype(output_type)
        return Dataset(sources.Range(start, stop, step, kind))

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """start, start + step, and so on without end."""
        del name
        return Dataset(sources.Counter(int(start), int(step), dtypes.as_dtype(dtype)))

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Integers drawn from [0, 2^32) without end."""
        del name
        anew = bool(rerandomize_each_iteration)
        return Dataset(sources.RandomNumbers(SeedSource(seed, anew)))

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The names of the files that match, in random order unless `shuffle` is False.

        Raises:
            InvalidArgumentError: no file matches.
        """
        del name
        found = sources.matching_files(file_pattern)
        files = Dataset(sources.Slices(found))
        return files if shuffle is False else files.shuffle(len(found), seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Tuples of one element from each dataset, until the shortest ends.

        Args:
            *args: datasets, or one structure of datasets.
            datasets: the structure, by keyword.
            name: accepted.
        """
        del name
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        elif args:
            raise TypeError("zip: datasets by position or by keyword, not both")
        if not structure.flatten(datasets):
            raise TypeError("zip: needs at least one dataset")
        if isinstance(datasets, list):
            raise TypeError(
                "zip: a list of datasets is not a structure here\n  Try: zip(*datasets)"
            )
        stages = structure.map_structure(lambda one: stage_of(one, "zip"), datasets)
        return Dataset(counting.Zipped(stages))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Take the next element of the dataset whose index is next in `choice_dataset`."""
        stages = [stage_of(one, "choose_from_datasets") for one in datasets]
        choice = stage_of(choice_dataset, "choose_from_datasets")
        return Dataset(interleave.Chosen(stages, choice, stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Take the next element of a dataset drawn at random by `weights`.

        Args:
            datasets: datasets of one structure.
            weights: one per dataset, or a dataset of such vectors, one per step; alike if None.
            seed: seed of the draws.
            stop_on_empty_dataset: whether the first dataset that ends is the end.
            rerandomize_each_iteration: whether each pass draws anew.
        """
        stages = [stage_of(one, "sample_from_datasets") for one in datasets]
        draw = SeedSource(seed, bool(rerandomize_each_iteration))
        if isinstance(weights, Dataset):
            by_step = stage_of(weights, "sample_from_datasets")
            return Dataset(sampling.SampledBy(stages, by_step, draw, stop_on_empty_dataset))
        values = [1.0] * len(stages) if weights is None else np.asarray(weights).tolist()
        return Dataset(sampling.Sampled(stages, values, draw, stop_on_empty_dataset))

    @staticmethod
    def load(
        path: Any,
        element_spec: Nest = None,
        compression: str | None = None,
        reader_func: Any = None,
        wait: bool = False,
    ) -> Dataset:
        """The dataset that `save` wrote at `path`.

        Args:
            path: the folder.
            element_spec: required spec of the elements; that of the folder if None.
            compression: accepted: the folder says it.
            reader_func: takes a dataset of datasets, one per file, and gives the elements.
            wait: accepted.

        Raises:
            NotFoundError: no dataset is saved there.
            InvalidArgumentError: its elements are not of `element_spec`.
        """
        ignored("Dataset.load", "the folder says how it was written", compression=compression)
        ignored("Dataset.load", "a missing dataset is an error", False, wait=wait)
        folder = Path(text_of(path, "load", "path"))
        if reader_func is None:
            return Dataset(storing.Stored(folder, element_spec))
        files = Dataset(storing.StoredFiles(folder, element_spec))
        return Dataset(stage_of(reader_func(files), "load"))

    # Functions of elements.

    @tracebacks.entry
    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """map_func(element) for every element.

        Args:
            map_func: takes an element (a tuple as several arguments), gives a structure of tensors.
                It is traced now; where it can be, it runs on many elements at once.
            num_parallel_calls: how many threads may run it, or AUTOTUNE. They are used once calls
                turn out to be slow enough to pay for them.
            deterministic: False gives results as they are ready.
            synchronous: accepted.
            use_unbounded_threadpool: accepted.
            name: accepted.
        """
        del name
        why = "threads are those of num_parallel_calls"
        ignored("Dataset.map", why, synchronous=synchronous)
        ignored("Dataset.map", why, False, use_unbounded_threadpool=use_unbounded_threadpool)
        function = element_function(map_func, self.element_spec, "map", Dataset)
        parallel = parallel_calls(num_parallel_calls, "map")
        return self._with(
            maps.Mapped(self._stage, function, parallel, self._in_order(deterministic))
        )

    @tracebacks.entry
    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` returns True."""
        del name
        function = element_function(predicate, self.element_spec, "filter", Dataset)
        check_predicate(function, "filter")
        return self._with(maps.Filtered(self._stage, function))

    @tracebacks.entry
    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` returns False."""
        del name
        function = element_function(predicate, self.element_spec, "take_while", Dataset)
        check_predicate(function, "take_while")
        return self._with(maps.TakenWhile(self._stage, function))

    @tracebacks.entry
    def scan(
        self, initial_state: Nest, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """The outputs of `scan_func(state, element) -> (state, output)`."""
        del name
        step = maps.StateFunction(initial_state, scan_func, self.element_spec, "scan", gives=True)
        return self._with(maps.Scanned(self._stage, step))

    @tracebacks.entry
    def reduce(
        self, initial_state: Nest, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state of `reduce_func(state, element) -> state`.

        Inside a traced function this is one op of its graph; there the state's shapes must not
        change.
        """
        del name
        if state.tracer is not None:
            handle = self.variant_tensor
            return reducing.traced_reduce(handle, self.element_spec, initial_state, reduce_func)
        return reducing.reduced(self._stage, initial_state, reduce_func)

    @tracebacks.entry
    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of map_func(element), a dataset, one dataset after the other."""
        del name
        maker = StageMaker(map_func, self.element_spec, "flat_map", Dataset)
        return self._with(interleave.FlatMapped(self._stage, maker))

    @tracebacks.entry
    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of map_func(element), a dataset, `cycle_length` datasets round robin.

        Args:
            map_func: takes an element and gives a dataset.
            cycle_length: how many datasets are open at once; the number of processors if None.
            block_length: how many elements to take from one before the next; 1 if None.
            num_parallel_calls: whether threads read ahead.
            deterministic: accepted: the order is the same either way.
            name: accepted.
        """
        del name
        maker = StageMaker(map_func, self.element_spec, "interleave", Dataset)
        return self._with(
            interleave.Interleaved(
                self._stage,
                maker,
                cycle_length,
                1 if block_length is None else block_length,
                parallel_calls(num_parallel_calls, "interleave"),
                self._in_order(deterministic),
            )
        )

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """transformation_func(self), a dataset."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"apply: the function must return a Dataset, got {result!r}")
        return result

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """(class, element), with some dropped so that classes are distributed as `target_dist`.

        Args:
            class_func: takes an element and gives its class, an int32 or int64 scalar.
            target_dist: a number per class.
            initial_dist: how the classes are distributed now; counted on the way if None.
            seed: seed of the draws.
            name: accepted.
        """
        del name
        who = "rejection_resample"
        function = element_function(class_func, self.element_spec, who, Dataset)
        seeds = SeedSource(seed, True)
        return self._with(
            sampling.Resampled(self._stage, function, target_dist, initial_dist, seeds)
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements without those that raise an error."""
        del name
        return self._with(maps.WithoutErrors(self._stage, log_warning))

    # Selection and order.

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without end for None or -1."""
        del name
        return self._with(counting.Repeat(self._stage, count))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1."""
        del name
        return self._with(counting.SkipAndTake(self._stage, 0, count))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """The elements after the first `count`; none for -1."""
        del name
        return self._with(counting.SkipAndTake(self._stage, count, -1))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from `index`."""
        del name
        return self._with(counting.Shard(self._stage, num_shards, index))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, followed by those of `dataset`."""
        del name
        return self._with(counting.Concatenated(self._stage, stage_of(dataset, "concatenate")))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """(index, element), with int64 indices from `start`."""
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
        """The distinct elements, in the order of their first occurrence."""
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
        read = (
            None if reader is None else (lambda files: stage_of(reader(Dataset(files)), "reader"))
        )
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
        which = element_function(shard_func, self.element_spec, who, Dataset)
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

    # Batches, windows and groups.

    @tracebacks.entry
    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements stacked: [...] becomes [batch, ...].

        Args:
            batch_size: size of a batch; an integer or a scalar tensor.
            drop_remainder: whether a last, smaller batch is left out; then the size is known.
            num_parallel_calls: accepted without effect: joining is one copy.
            deterministic: accepted without effect: the order always stays.
            name: accepted without effect.

        Raises:
            InvalidArgumentError: a size below 1; in a pass, elements of different shapes.
        """
        del name
        why = "batches are made one after the other, in order"
        parallel = None if num_parallel_calls == AUTOTUNE else num_parallel_calls
        ignored("Dataset.batch", why, num_parallel_calls=parallel, deterministic=deterministic)
        return self._with(batches.Batched(self._stage, batch_size, bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Nest = None,
        padding_values: Nest = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements, padded to one shape and stacked.

        Args:
            batch_size: size of a batch.
            padded_shapes: per component; None or -1 along an axis is the largest of the batch.
            padding_values: per component, a scalar; 0 or "" if None.
            drop_remainder: whether to leave out a last, smaller batch.
            name: accepted.
        """
        del name
        return self._with(
            batches.PaddedBatched(
                self._stage, batch_size, padded_shapes, padding_values, bool(drop_remainder)
            )
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of every element."""
        del name
        return self._with(batches.Unbatched(self._stage))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of other sizes; several sizes are used in turn."""
        del name
        return self._with(batches.Rebatched(self._stage, batch_size, drop_remainder))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements as ragged tensors, for axes of unknown sizes.

        Args:
            batch_size: size of a batch.
            drop_remainder: whether to leave out a last, smaller batch.
            row_splits_dtype: int64 or int32.
            name: accepted.
        """
        del name
        splits = dtypes.as_dtype(row_splits_dtype)
        return self._with(
            batches.RaggedBatched(self._stage, batch_size, bool(drop_remainder), splits)
        )

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Consecutive tensors of different shapes as sparse tensors.

        Args:
            batch_size: size of a batch.
            row_shape: a shape that every element fits into; None or -1: the largest of the batch.
            name: accepted.
        """
        del name
        return self._with(batches.SparseBatched(self._stage, batch_size, row_shape))

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of `size` consecutive elements, each starting `shift` after the previous one."""
        del name
        return self._with(windows.Windows(self._stage, size, shift, stride, drop_remainder))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements grouped by key; each full group becomes the dataset `reduce_func(key, group)`.

        Args:
            key_func: takes an element and gives an int64 scalar.
            reduce_func: takes a key and a dataset of its elements, gives a dataset.
            window_size: how many elements fill a group.
            window_size_func: takes a key and gives that number.
            name: accepted.
        """
        del name
        if (window_size is None) == (window_size_func is None):
            raise ValueError("group_by_window: one of window_size and window_size_func is required")
        key = element_function(key_func, self.element_spec, "group_by_window", Dataset)
        number = TensorSpec.of(Shape(()), dtypes.int64)
        maker = StageMaker(
            reduce_func, (number, DatasetSpec(self.element_spec)), "group_by_window", Dataset
        )
        size: Any
        if window_size_func is None:
            size = whole_number(window_size, "group_by_window", "window_size", 1)
        else:
            size = Traced(window_size_func, (number,), "group_by_window")
        return self._with(
            windows.Grouped(self._stage, key, size, lambda k, group: maker((k, group)), maker.spec)
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Nest = None,
        padding_values: Nest = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        Args:
            element_length_func: takes an element and gives its length.
            bucket_boundaries: lengths at which the next bucket begins.
            bucket_batch_sizes: batch size of each bucket, one more than there are boundaries.
            padded_shapes: as in `padded_batch`.
            padding_values: as in `padded_batch`.
            pad_to_bucket_boundary: whether unknown sizes become the bucket's boundary - 1.
            no_padding: whether elements of a bucket have one shape already.
            drop_remainder: whether to leave out last, smaller batches.
            name: accepted.
        """
        del name
        who = "bucket_by_sequence_length"
        bounds = [int(n) for n in bucket_boundaries]
        sizes = [int(n) for n in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1:
            raise ValueError(
                f"{who}: one batch size more than boundaries is required, "
                f"got {len(sizes)} sizes and {len(bounds)} boundaries"
            )
        length = element_function(element_length_func, self.element_spec, who, Dataset)
        if no_padding:
            padding = None
        else:
            padding = windows.BucketPadding(padded_shapes, padding_values, pad_to_bucket_boundary)
        return self._with(
            windows.bucketed(self._stage, length, bounds, sizes, padding, drop_remainder)
        )


DatasetSpec._value_type = Dataset


def stage_of(dataset: Any, who: str) -> Stage:
    """The stage of a dataset; TypeError for anything else."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{who}: a Dataset is required, got {dataset!r} ({type(dataset).__name__})")
    return dataset.stage
