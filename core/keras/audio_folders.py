"""Datasets of sound files, with a class per folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.folders import Asked, datasets_of
from pinnace.ops.audio import waves
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.io.files import read_file

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

SOUNDS = (".wav",)


def audio_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Batches of the `.wav` files of a folder and their labels.

    Args:
        directory: as for `image_dataset_from_directory`, like the others but these:
        labels: see there.
        label_mode: see there.
        class_names: see there.
        batch_size: see there.
        sampling_rate: must be None: sounds keep the samples per second that they have.
        output_sequence_length: samples of each sound, cut off or filled up with zeros; as many as
            the longest one of a batch has if None.
        ragged: whether sounds keep their lengths, in ragged batches.
        shuffle: see there.
        seed: see there.
        validation_split: see there.
        subset: see there.
        follow_links: see there.
        verbose: see there.

    Returns:
        A Dataset of [batch, samples, channels], float32 from -1 to 1, with labels if there are any.

    Raises:
        NotImplementedError: sounds should be resampled.
        ValueError: options that do not go together, or no sounds.
        FileNotFoundError: there is no such folder.
    """
    name = "audio_dataset_from_directory"
    if ragged and output_sequence_length is not None:
        raise ValueError(f"{name}: Cannot set both `ragged` and `output_sequence_length`")
    if sampling_rate is not None:
        if not isinstance(sampling_rate, int):
            raise ValueError(
                f"{name}: `sampling_rate` should have an integer value. Received: {sampling_rate!r}"
            )
        if sampling_rate <= 0:
            raise ValueError(
                f"{name}: `sampling_rate` should be higher than 0. Received: {sampling_rate}"
            )
        raise NotImplementedError(
            f"{name}: sounds are not resampled, got sampling_rate={sampling_rate}\n"
            "  Try: resample the files once, for instance with scipy.signal.resample_poly"
        )
    samples = -1 if output_sequence_length is None else output_sequence_length

    def load(path: Any) -> Any:
        sound, _ = waves.decode_wav(read_file(path), desired_samples=samples)
        return RaggedTensor.from_tensor(sound) if ragged else sound

    asked = Asked(name, directory, labels, label_mode, class_names, batch_size, shuffle, seed)
    asked.share, asked.subset = validation_split, subset
    asked.follow_links, asked.verbose = follow_links, verbose
    if output_sequence_length is None and not ragged:
        asked.batched = lambda found, size: found.padded_batch(size)
    return datasets_of(asked, SOUNDS, load)
