"""Calibration: samples go through the blocks of a model, and their layers are quantized by them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras import ops
from pinnace.keras.quantizers import scaled_rows, second_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.keras.quantizers.calibrated import CalibratedConfig

_KINDS: dict[str, Any] = {"gptq": second_order.InputProducts, "awq": scaled_rows.InputSizes}


def check(config: CalibratedConfig, structure: Any) -> None:
    """Refuse what nothing can be calibrated with.

    Raises:
        ValueError: no structure, no blocks in it, no samples or no tokenizer.
    """
    mode = config.mode
    if structure is None:
        raise ValueError(
            f"Model.quantize: For mode={mode!r}, a valid quantization structure must be given, as "
            "`config.quantization_layer_structure` or by a `get_quantization_layer_structure` of "
            "the model: a dict with the lists 'pre_block_layers' and 'sequential_blocks'"
        )
    if config.dataset is None or config.tokenizer is None:
        raise ValueError(
            f"Model.quantize: {mode.upper()} quantization requires a dataset and a tokenizer, "
            f"got dataset={config.dataset!r:.100}, tokenizer={config.tokenizer!r:.100}"
        )
    if not structure.get("sequential_blocks"):
        raise ValueError(
            "Model.quantize: No sequential blocks found in the structure, got the keys "
            f"{sorted(structure)}"
        )


def calibrate(config: CalibratedConfig, structure: Any, is_meant: Callable[[Any], bool]) -> None:
    """Quantize the layers of blocks, one block after the other, by what goes through them.

    Args:
        config: how.
        structure: a dict of lists of layers: "pre_block_layers" and "sequential_blocks".
        is_meant: whether a layer is quantized.
    """
    given: list[Any] = []
    for ids in windows(config):
        x: Any = ops.convert_to_tensor(ids[None])
        for layer in structure.get("pre_block_layers", []):
            x = layer(x)
        given.append(x)
    for block in structure["sequential_blocks"]:
        waiting = [layer for layer in block._flatten_layers() if _waits(layer) and is_meant(layer)]
        seen = [_KINDS[config.mode](layer._calibrated.form.matrix[0]) for layer in waiting]
        for layer, one in zip(waiting, seen, strict=True):
            layer._calibrated.watch = one.see
        try:
            for x in given if waiting else ():
                block(x)
        finally:
            for layer in waiting:
                layer._calibrated.watch = None
        for layer, one in zip(waiting, seen, strict=True):
            if one.samples:
                layer._take_calibrated(one.parts(layer._float_matrix(), config))
        given = [_first(block(x)) for x in given]


def windows(config: CalibratedConfig) -> Array:
    """Samples of one length, cut out of all token ids at even distances.

    Returns:
        int32[num_samples, sequence_length]; what there is is repeated where it is too short.

    Raises:
        TypeError: the dataset is no iterable.
        ValueError: it is empty.
    """
    dataset, length = config.dataset, config.sequence_length
    if not hasattr(dataset, "__iter__") or isinstance(dataset, (str, bytes)):
        raise TypeError(
            f"{type(config).__name__}: The `dataset` argument must be an iterable of strings or "
            f"token ids, got {type(dataset).__name__}"
        )
    pieces = [_ids(one, config.tokenizer) for one in dataset]
    ids = np.concatenate(pieces) if pieces else np.empty(0, np.int32)
    if not ids.size:
        raise ValueError(f"{type(config).__name__}: Provided dataset is empty.")
    wanted = config.num_samples * length
    if ids.size < wanted:
        ids = np.tile(ids, math.ceil(wanted / ids.size))
    starts = ids.size - length + 1
    step = max(1, starts // config.num_samples)
    first = np.arange(config.num_samples) * step % starts
    return np.lib.stride_tricks.sliding_window_view(ids, length)[first]


def _ids(sample: Any, tokenizer: Any) -> Array:
    if isinstance(sample, str):
        sample = getattr(tokenizer, "tokenize", tokenizer)(sample)
    return np.asarray(ops.convert_to_numpy(sample)).reshape(-1).astype(np.int32)


def _waits(layer: Any) -> bool:
    calibrated = getattr(layer, "_calibrated", None)
    return calibrated is not None and not calibrated.is_done


def _first(outputs: Any | Sequence[Any]) -> Any:
    return outputs[0] if isinstance(outputs, (list, tuple)) else outputs
