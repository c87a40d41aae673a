"""Dataset: the public face of a pipeline of stages."""

from __future__ import annotations

import glob
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pinnace.data import batch as batches
from pinnace.data import counting, interleave, prefetch, records, sources, storing
from pinnace.data import map as maps
from pinnace.data import shuffle as shuffles
from pinnace.data.elements import (
    AUTOTUNE,
    INFINITE,
    UNKNOWN,
    DatasetSpec,
    Element,
    Nest,
    array_of_tensor,
    is_unpacked,
    leaf_array,
    normalised,
    spec_text,
    text_of,
    whole_number,
)
from pinnace.data.functions import (
    StageMaker,
    Traced,
    check_predicate,
    element_function,
    wrapped,
)
from pinnace.data.iterator import DatasetIterator, Optional
from pinnace.data.stage import Run, SeedSource, Stage
from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.functions.function import trace
from pinnace.graph.graph import FunctionRef
from pinnace.ops.dataset import iterators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")


class Options:
    """What a pipeline is told about how to run; nothing here changes its elements.

    Attributes:
        deterministic: False lets parallel stages give elements as they are ready.
        experimental_deterministic: an older name.
        autotune, threading, experimental_distribute, experimental_optimization: accepted.
    """

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.autotune = SimpleNamespace(enabled=None, cpu_budget=None, ram_budget=None)
        self.threading = SimpleNamespace(
            private_threadpool_size=None, max_intra_op_parallelism=None
        )
        self.experimental_distribute = SimpleNamespace(auto_shard_policy=None, num_devices=None)
        self.experimental_optimization = SimpleNamespace()
        self.experimental_slack: bool | None = None
        self.experimental_warm_start: bool | None = None
        self.dataset_name: str | None = None

    @property
    def experimental_deterministic(self) -> bool | None:
        """An older name of `deterministic`."""
        return self.deterministic

    @experimental_deterministic.setter
    def experimental_deterministic(self, value: bool | None) -> None:
        self.deterministic = value

    def merge(self, options: Options) -> Options:
        """Options with those of `options` where they are set."""
        merged = Options()
        for source in (self, options):
            for name, value in vars(source).items():
                if value is not None:
                    setattr(merged, name, value)
        return merged


def public(stage: Stage) -> Dataset:
    """The dataset whose elements a stage gives."""
    return Dataset(stage)


class Dataset:
    """A sequence of elements, each a structure of tensors, made when they are read.

    Every method gives a new dataset. Functions are traced once, when the method is called; a pass
    runs them as plans. `for` begins a new pass each time.

    Args:
        stage: where elements come from; the static methods make one.
        options: how to run.
    """

    def __init__(self, stage: Stage, options: Options | None = None) -> None:
        if not isinstance(stage, Stage):
            raise TypeError(
                f"a Dataset is made by its static methods, got {stage!r}\n"
                "  Try: Dataset.from_tensor_slices(...)"
            )
        self._stage = stage
        self._options = options

    def _with(self, stage: Stage) -> Dataset:
        return Dataset(stage, self._options)

    @property
    def stage(self) -> Stage:
        """What gives the elements."""
        return self._stage

    @property
    def element_spec(self) -> Nest:
        """The structure of the elements, with a spec at each leaf."""
        return self._stage.spec

    # Where elements come from.

    @staticmethod
    def from_tensors(tensors: Nest, name: str | None = None) -> Dataset:
        """One element: `tensors`."""
        del name
        return Dataset(sources.Single(_stages_refused(tensors)))

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
        return Dataset(sources.Slices(_stages_refused(tensors)))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Nest = None,
        output_shapes: Nest = None,
        args: Sequence[Any] | None = None,
        output_signature: Nest = None,
        name: str | None = None,
    ) -> Dataset:
        """What `generator(*args)` yields; each pass calls it again.

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
        if output_signature is None:
            if output_types is None:
                raise TypeError("from_generator: output_signature (or output_types) is required")
            output_signature = _signature_of(output_types, output_shapes)
        elif output_types is not None or output_shapes is not None:
            raise TypeError(
                "from_generator: output_types and output_shapes go without output_signature"
            )
        signature = _tuples(output_signature)
        for spec in structure.flatten(signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    f"from_generator: output_signature must hold TensorSpecs, got {spec!r}"
                )
        nameless = structure.map_structure(lambda s: TensorSpec.of(s.shape, s.dtype), signature)
        return Dataset(sources.Generated(generator, nameless, args))

    @staticmethod
    def range(*args: Any, output_type: Any = None, name: str | None = None) -> Dataset:
        """Numbers as `range` of Python gives them, int64 unless `output_type`."""
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
        given = [file_pattern] if isinstance(file_pattern, (str, bytes, Path)) else file_pattern
        if isinstance(given, Tensor):
            given = np.asarray(array_of_tensor(given)).ravel().tolist()
        patterns = [text_of(pattern, "list_files", "file_pattern") for pattern in given]
        found = sorted({path for pattern in patterns for path in glob.glob(pattern)})  # noqa: PTH207 (patterns may be absolute)
        if not found:
            raise InvalidArgumentError(f"list_files: no file matches {', '.join(patterns)}")
        files = Dataset.from_tensor_slices(found)
        return files if shuffle is False else files.shuffle(len(found), seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """One element of each dataset, side by side, until the shortest ends.

        Args:
            *args: datasets, or one structure of datasets.
            datasets: that structure, by keyword.
            name: accepted.
        """
        del name
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        elif args:
            raise TypeError("zip: datasets by position or by keyword, not both")
        if isinstance(datasets, list):
            raise TypeError(
                "zip: a list of datasets is not a structure here\n  Try: zip(*datasets)"
            )
        stages = structure.map_structure(lambda one: _stage_of(one, "zip"), datasets)
        return Dataset(counting.Zipped(stages))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """At each step the next element of the dataset whose number `choice_dataset` gives."""
        stages = [_stage_of(one, "choose_from_datasets") for one in datasets]
        choice = _stage_of(choice_dataset, "choose_from_datasets")
        if choice.spec != TensorSpec.of(Shape(()), dtypes.int64):
            raise TypeError(
                "choose_from_datasets: choice_dataset must give int64 scalars, "
                f"gives {spec_text(choice.spec)}"
            )
        return Dataset(interleave.Chosen(stages, choice, stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """At each step the next element of a dataset drawn by `weights` (all alike if None)."""
        stages = [_stage_of(one, "sample_from_datasets") for one in datasets]
        if isinstance(weights, Dataset):
            raise UnimplementedError(
                "sample_from_datasets: weights from a dataset are not supported"
            )
        values = [1.0] * len(stages) if weights is None else np.asarray(weights).tolist()
        draw = SeedSource(seed, rerandomize_each_iteration is not False)
        return Dataset(interleave.Sampled(stages, values, draw, stop_on_empty_dataset))

    @staticmethod
    def load(
        path: Any,
        element_spec: Nest = None,
        compression: str | None = None,
        reader_func: Any = None,
        wait: bool = False,
    ) -> Dataset:
        """The dataset that `save` wrote at `path`.

        Raises:
            NotFoundError: there is none.
            InvalidArgumentError: its elements are not of `element_spec`.
        """
        del compression, wait  # it is written in the folder
        if reader_func is not None:
            raise UnimplementedError("load: reader_func is not supported")
        return Dataset(storing.Stored(Path(text_of(path, "load", "path")), element_spec))

    # Functions of elements.

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
        del synchronous, use_unbounded_threadpool, name
        function = element_function(map_func, self.element_spec, "map", public)
        parallel = _parallel(num_parallel_calls, "map")
        return self._with(
            maps.Mapped(self._stage, function, parallel, self._in_order(deterministic))
        )

    def _in_order(self, deterministic: bool | None) -> bool:
        if deterministic is None and self._options is not None:
            deterministic = self._options.deterministic
        return deterministic is not False

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` gives True."""
        del name
        function = element_function(predicate, self.element_spec, "filter", public)
        check_predicate(function, "filter")
        return self._with(maps.Filtered(self._stage, function))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` gives False."""
        del name
        function = element_function(predicate, self.element_spec, "take_while", public)
        check_predicate(function, "take_while")
        return self._with(maps.TakenWhile(self._stage, function))

    def scan(
        self, initial_state: Nest, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """What `scan_func(state, element) -> (state, output)` puts out."""
        del name
        step = maps.StateFunction(initial_state, scan_func, self.element_spec, "scan", gives=True)
        return self._with(maps.Scanned(self._stage, step))

    def reduce(
        self, initial_state: Nest, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state of `reduce_func(state, element) -> state`.

        Inside a traced function this is one op of its graph; there the state keeps its shapes.
        """
        del name
        if state.tracer is not None:
            return self._traced_reduce(initial_state, reduce_func)
        step = maps.StateFunction(
            initial_state, reduce_func, self.element_spec, "reduce", gives=False
        )
        leaves: Sequence[Any] = step.initial
        for element in self._stage.open(Run()):
            leaves, _ = step(leaves, element)
        return wrapped(tuple(leaves), structure.flatten(step.state_spec), step.state_spec)

    def _traced_reduce(self, initial_state: Nest, reduce_func: Callable[..., Any]) -> Any:
        initial = normalised(initial_state)
        specs = structure.map_structure(lambda t: TensorSpec.of(t.shape, t.dtype), initial)

        def step(current: Nest, element: Nest) -> Nest:
            result = normalised(reduce_func(current, element))
            structure.assert_same_structure(initial, result)
            return result

        while True:
            concrete, _ = trace(step, (specs, self.element_spec), {}, "reduce")
            found = structure.map_structure(
                lambda leaf: TensorSpec.of(leaf.shape, leaf.dtype), concrete.structured_outputs
            )
            from pinnace.data.functions import relaxed

            wider = relaxed(specs, found, "reduce")
            if structure.flatten(wider) == structure.flatten(specs):
                break
            specs = wider
        leaves = structure.flatten(specs)
        results = iterators.reduce_dataset(
            self.variant_tensor,
            structure.flatten(initial),
            list(concrete.captured),
            FunctionRef(concrete.graph.name, concrete.graph),
            [leaf.dtype for leaf in leaves],
            [leaf.shape for leaf in leaves],
        )
        return structure.pack_sequence_as(initial, results)

    @property
    def variant_tensor(self) -> Tensor:
        """A handle of this dataset for ops."""
        if self._stage.symbols():
            raise UnimplementedError(
                "a dataset made from tensors of a traced function cannot be read inside it\n"
                "  Try: make the dataset outside, from values"
            )
        array = np.empty((), object)
        array[()] = Readable(self._stage)
        return wrap(array, dtypes.variant)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of map_func(element), a dataset, one dataset after the other."""
        del name
        maker = StageMaker(map_func, self.element_spec, "flat_map", public)
        return self._with(interleave.FlatMapped(self._stage, maker))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of map_func(element), a dataset, `cycle_length` datasets in turn.

        Args:
            map_func: takes an element and gives a dataset.
            cycle_length: how many datasets are open at once; the number of processors if None.
            block_length: how many elements to take from one before the next; 1 if None.
            num_parallel_calls: whether threads read ahead.
            deterministic: accepted: the order is the same either way.
            name: accepted.
        """
        del name
        maker = StageMaker(map_func, self.element_spec, "interleave", public)
        return self._with(
            interleave.Interleaved(
                self._stage,
                maker,
                cycle_length,
                1 if block_length is None else block_length,
                _parallel(num_parallel_calls, "interleave"),
                self._in_order(deterministic),
            )
        )

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """transformation_func(self), a dataset."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"apply: the function must return a Dataset, got {result!r}")
        return result

    # Which elements, in which order.

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
        return self._with(counting.Concatenated(self._stage, _stage_of(dataset, "concatenate")))

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

    # Batches.

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements put on top of each other.

        Raises:
            InvalidArgumentError: a size below 1; in a pass, elements of different shapes.
        """
        del num_parallel_calls, deterministic, name
        return self._with(batches.Batched(self._stage, batch_size, bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Nest = None,
        padding_values: Nest = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements, filled up to one shape and put on top of each other.

        Args:
            batch_size: how many.
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
        """Batches of other sizes, which go round if several are given."""
        del name
        return self._with(batches.Rebatched(self._stage, batch_size, drop_remainder))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """Refused so far: ragged elements have no stage yet."""
        del batch_size, drop_remainder, row_splits_dtype, name
        raise UnimplementedError("ragged_batch is not supported yet\n  Try: padded_batch")

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of `size` consecutive elements, each beginning `shift` after the one before."""
        del name
        return self._with(batches.Windows(self._stage, size, shift, stride, drop_remainder))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements collected by key; of each full group the dataset `reduce_func(key, group)`.

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
        key = element_function(key_func, self.element_spec, "group_by_window", public)
        number = TensorSpec.of(Shape(()), dtypes.int64)
        maker = StageMaker(
            reduce_func, (number, DatasetSpec(self.element_spec)), "group_by_window", public
        )
        size: Any
        if window_size_func is None:
            size = whole_number(window_size, "group_by_window", "window_size", 1)
        else:
            size = Traced(window_size_func, (number,), "group_by_window")
        return self._with(
            interleave.Grouped(
                self._stage, key, size, lambda k, group: maker((k, group)), maker.spec
            )
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
            bucket_batch_sizes: of each bucket, one more than there are boundaries.
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
        length = element_function(element_length_func, self.element_spec, who, public)

        def bucket(element: Element) -> tuple[int]:
            return (int(np.searchsorted(bounds, int(length(element)[0]), "right")),)

        def batch(key: Any, group: Stage) -> Stage:
            number = int(key)
            size = sizes[number]
            if no_padding:
                return batches.Batched(group, size, drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                if number == len(bounds):
                    raise InvalidArgumentError(
                        f"{who}: with pad_to_bucket_boundary lengths must be below {bounds[-1]}"
                    )
                shapes = _filled(group, padded_shapes, bounds[number] - 1)
            return batches.PaddedBatched(group, size, shapes, padding_values, drop_remainder)

        probe = batches.Held(self.element_spec, ())
        spec = (
            batches.Batched(probe, 1, False)
            if no_padding
            else batches.PaddedBatched(probe, 1, padded_shapes, padding_values, False)
        ).spec
        window = Windowed(sizes)
        return self._with(interleave.Grouped(self._stage, bucket, window, batch, spec))

    # How to run.

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The same elements, up to `buffer_size` of them made ahead of time by a thread.

        AUTOTUNE starts the thread only if elements take long enough to make.
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

    def _in_folder(self, folder: Path, compression: str | None) -> Stage:
        files = storing.FolderCache(folder, self.element_spec, compression)
        return prefetch.CachedInFile(self._stage, files.exists, files.read, files.write)

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Any = None,
        shard_func: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The same elements; the first complete pass writes them to `path`, later ones read it."""
        del name
        if reader_func is not None or shard_func is not None:
            raise UnimplementedError("snapshot: reader_func and shard_func are not supported")
        kind = None if compression in {"AUTO", "NONE", "", None} else compression
        return self._with(self._in_folder(Path(text_of(path, "snapshot", "path")), kind))

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
        which = element_function(shard_func, self.element_spec, "save", public)
        counted = 1 + max((int(which(e)[0]) for e in self._stage.open(Run())), default=0)
        storing.write_folder(self._stage, folder, kind, lambda e: int(which(e)[0]), counted)

    def options(self) -> Options:
        """How it runs."""
        return self._options or Options()

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset, and `options` for what is made of it."""
        del name
        return Dataset(self._stage, self.options().merge(options))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that can be made; those that raise are left out."""
        del name
        return self._with(maps.WithoutErrors(self._stage, log_warning))

    # Reading it.

    def __iter__(self) -> DatasetIterator:
        if state.tracer is not None:
            raise TypeError(
                "a Dataset cannot be iterated over by plain Python while a function is traced\n"
                "  Try: AutoGraph (function(autograph=True)), reduce, or an iterator made outside"
            )
        return DatasetIterator(self._stage, public, self.element_spec)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as arrays nobody may write to, NumPy scalars and bytes."""
        stage = self._stage
        for leaf in stage.leaves:
            if not isinstance(leaf, TensorSpec):
                raise TypeError(f"as_numpy_iterator: elements must be tensors, one holds {leaf}")
        spec = stage.spec
        opened = stage.open(Run())
        if isinstance(spec, TensorSpec):
            return (_for_numpy(element[0]) for element in opened)
        return (
            structure.pack_sequence_as(spec, [_for_numpy(leaf) for leaf in element])
            for element in opened
        )

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        Raises:
            InvalidArgumentError: there is none, or more than one.
        """
        del name
        found = list(itertools.islice(iter(self), 2))
        if len(found) != 1:
            what = "more than one" if found else "none"
            raise InvalidArgumentError(
                f"get_single_element: exactly one element is required, got {what}"
            )
        return found[0]

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are; INFINITE_CARDINALITY or UNKNOWN_CARDINALITY."""
        del name
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

    def __repr__(self) -> str:
        return f"<{type(self._stage).__name__} dataset element_spec={self.element_spec}>"


class Readable:
    """A dataset, as the op ReduceDataset reads it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def element_arrays(self) -> Iterator[tuple[Any, ...]]:
        """The leaves of every element, in a new pass."""
        for element in self.stage.open(Run()):
            yield tuple([np.asarray(leaf_array(leaf)) for leaf in element])


class Windowed:
    """The batch size of a bucket."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)

    def __call__(self, key: tuple[Any, ...]) -> tuple[int]:
        return (self._sizes[int(key[0])],)


def _filled(group: Stage, shapes: Nest, size: int) -> Nest:
    given = (
        [leaf.shape for leaf in group.leaves]
        if shapes is None
        else structure.flatten_up_to(group.spec, shapes, check_types=False)
    )
    filled = [Shape([size if n in {None, -1} else n for n in as_shape(s)]) for s in given]
    return structure.pack_sequence_as(group.spec, filled)


def _for_numpy(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        if not leaf.ndim:
            return leaf[()]
        view = leaf.view()
        view.flags.writeable = False
        return view
    return leaf


def _stage_of(dataset: Any, who: str) -> Stage:
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{who}: a Dataset is required, got {dataset!r} ({type(dataset).__name__})")
    return dataset.stage


def _stages_refused(tensors: Nest) -> Nest:
    for leaf in structure.flatten(tensors):
        if isinstance(leaf, Dataset):
            raise TypeError(
                "a Dataset cannot be part of from_tensors or from_tensor_slices\n  Try: zip"
            )
    return tensors


def _parallel(value: Any, who: str) -> int | None:
    if value is None:
        return None
    number: int = whole_number(value, who, "num_parallel_calls", -1)
    if number == 0:
        raise InvalidArgumentError(
            f"{who}: num_parallel_calls must be at least 1 or AUTOTUNE, got 0"
        )
    return number


def _tuples(signature: Nest) -> Nest:
    """Lists as tuples: in an element spec a list would be a leaf."""
    if isinstance(signature, list):
        return tuple(_tuples(part) for part in signature)
    if is_unpacked(signature):
        return tuple(_tuples(part) for part in signature)
    if isinstance(signature, dict):
        return {key: _tuples(part) for key, part in signature.items()}
    return signature


def _signature_of(output_types: Nest, output_shapes: Nest) -> Nest:
    kinds = _tuples(output_types)
    if output_shapes is None:
        return structure.map_structure(lambda kind: TensorSpec(None, kind), kinds)
    shapes = structure.flatten_up_to(kinds, output_shapes, check_types=False)
    leaves = [
        TensorSpec(as_shape(shape), kind)
        for shape, kind in zip(shapes, structure.flatten(kinds), strict=True)
    ]
    return structure.pack_sequence_as(kinds, leaves)


class TFRecordDataset(Dataset):
    """The records of TFRecord files, each a scalar string; every checksum is verified.

    Args:
        filenames: one name, several, or a dataset of names.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        num_parallel_reads: how many files to read at once; their records then come in turn.
        name: accepted.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del buffer_size, name
        super().__init__(records.Records(_names(filenames), compression_type, num_parallel_reads))


class TextLineDataset(Dataset):
    """The lines of text files without their ends, each a scalar string.

    Args:
        filenames: one name, several, or a dataset of names.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        num_parallel_reads: accepted.
        name: accepted.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del buffer_size, num_parallel_reads, name
        super().__init__(records.TextLines(_names(filenames), compression_type))


class FixedLengthRecordDataset(Dataset):
    """Parts of `record_bytes` bytes of files, each a scalar string.

    Args:
        filenames: one name, several, or a dataset of names.
        record_bytes: length of a record.
        header_bytes: how many bytes to leave out at the beginning of a file.
        footer_bytes: how many to leave out at its end.
        buffer_size: accepted.
        compression_type: "", "GZIP" or "ZLIB".
        num_parallel_reads: accepted.
        name: accepted.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del buffer_size, num_parallel_reads, name
        super().__init__(
            records.FixedRecords(
                _names(filenames), record_bytes, header_bytes, footer_bytes, compression_type
            )
        )


def _names(filenames: Any) -> Any:
    return filenames.stage if isinstance(filenames, Dataset) else filenames


__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Optional",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "public",
]
