"""Dataset's static methods: where elements come from."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import batch, counting, interleave, sampling, sources, storing
from pinnace.data.elements import Nest, array_of_tensor, is_unpacked, spec_of, spec_text, text_of
from pinnace.data.pipeline import Pipeline, public, stage_of
from pinnace.data.stage import SeedSource
from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.data.dataset import Dataset


class Making(Pipeline):
    """Datasets made from values, files and other datasets."""

    @staticmethod
    def from_tensors(tensors: Nest, name: str | None = None) -> Dataset:
        """One element: `tensors`."""
        del name
        return public(sources.Single(_stages_refused(tensors)))

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
        if any(is_composite(leaf) for leaf in structure.flatten(tensors)):
            whole = sources.Single(_stages_refused(tensors))
            return public(batch.SliceOf(whole))
        return public(sources.Slices(_stages_refused(tensors)))

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
            if not isinstance(spec, (TensorSpec, CompositeSpec)):
                raise TypeError(
                    f"from_generator: output_signature must hold TensorSpecs, got {spec!r}"
                )
        nameless = structure.map_structure(spec_of, signature)
        return public(sources.Generated(generator, nameless, args))

    @staticmethod
    def range(*args: Any, output_type: Any = None, name: str | None = None) -> Dataset:
        """Numbers as `range` of Python gives them, int64 unless `output_type`."""
        del name
        if not 1 <= len(args) <= 3:
            raise TypeError(f"range takes 1 to 3 numbers, got {len(args)}")
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) > 2 else 1
        kind = dtypes.int64 if output_type is None else dtypes.as_dtype(output_type)
        return public(sources.Range(start, stop, step, kind))

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """start, start + step, and so on without end."""
        del name
        return public(sources.Counter(int(start), int(step), dtypes.as_dtype(dtype)))

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Integers drawn from [0, 2^32) without end."""
        del name
        anew = bool(rerandomize_each_iteration)
        return public(sources.RandomNumbers(SeedSource(seed, anew)))

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
        files = public(sources.Slices(found))
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
        stages = structure.map_structure(lambda one: stage_of(one, "zip"), datasets)
        return public(counting.Zipped(stages))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """At each step the next element of the dataset whose number `choice_dataset` gives."""
        stages = [stage_of(one, "choose_from_datasets") for one in datasets]
        choice = stage_of(choice_dataset, "choose_from_datasets")
        if choice.spec != TensorSpec.of(Shape(()), dtypes.int64):
            raise TypeError(
                "choose_from_datasets: choice_dataset must give int64 scalars, "
                f"gives {spec_text(choice.spec)}"
            )
        return public(interleave.Chosen(stages, choice, stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """At each step the next element of a dataset drawn by `weights`.

        Args:
            datasets: of one structure.
            weights: one per dataset, or a dataset of such vectors, one per step; alike if None.
            seed: of the draws.
            stop_on_empty_dataset: whether the first dataset that ends is the end.
            rerandomize_each_iteration: whether each pass draws anew.
        """
        stages = [stage_of(one, "sample_from_datasets") for one in datasets]
        draw = SeedSource(seed, rerandomize_each_iteration is not False)
        if isinstance(weights, Pipeline):
            by_step = stage_of(weights, "sample_from_datasets")
            return public(sampling.SampledBy(stages, by_step, draw, stop_on_empty_dataset))
        values = [1.0] * len(stages) if weights is None else np.asarray(weights).tolist()
        return public(sampling.Sampled(stages, values, draw, stop_on_empty_dataset))

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
            element_spec: what the elements must be; what the folder says if None.
            compression: accepted: the folder says it.
            reader_func: takes a dataset of datasets, one per file, and gives the elements.
            wait: accepted.

        Raises:
            NotFoundError: there is none.
            InvalidArgumentError: its elements are not of `element_spec`.
        """
        del compression, wait  # it is written in the folder
        folder = Path(text_of(path, "load", "path"))
        if reader_func is None:
            return public(storing.Stored(folder, element_spec))
        files = public(storing.StoredFiles(folder, element_spec))
        return public(stage_of(reader_func(files), "load"))


def _stages_refused(tensors: Nest) -> Nest:
    for leaf in structure.flatten(tensors):
        if isinstance(leaf, Pipeline):
            raise TypeError(
                "a Dataset cannot be part of from_tensors or from_tensor_slices\n  Try: zip"
            )
    return tensors


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
