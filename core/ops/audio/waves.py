"""16-bit WAV files: DecodeWav, EncodeWav."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["decode_wav", "encode_wav"]


def decode_wav(
    contents: TensorLike,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The samples of a WAV file, and the sample rate.

    Args:
        contents: [], string: the bytes of a file of 16 bits per sample.
        desired_channels: -1 as in the file; else the last one is repeated, or some are left out.
        desired_samples: -1 as in the file; else cut off, or filled up with zeros.
        name: name of the node while tracing.

    Returns:
        [samples, channels], float32 from -1 to 1, and [], int32, in Hz.

    Raises:
        InvalidArgumentError: the bytes are no such file.
    """
    return execute_all(
        DECODE_WAV,
        contents,
        desired_channels=desired_channels,
        desired_samples=desired_samples,
        name=name,
    )


def _decode_kernel(
    contents: Array, *, desired_channels: int, desired_samples: int
) -> tuple[Array, Array]:
    import wave

    data = contents.item()
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate, count = file.getparams()[:4]
            # The header may claim more frames than the data has.
            found = file.readframes(min(count, len(data)))
    except (wave.Error, EOFError, RuntimeError) as error:
        raise InvalidArgumentError(
            f"DecodeWav: contents are no WAV file that can be read: {error}"
        ) from None
    if width != 2 or not channels:
        raise InvalidArgumentError(f"DecodeWav: samples must have 16 bits, got {8 * width}")
    whole = len(found) // (2 * channels) * channels
    samples = np.frombuffer(found, "<i2", whole).reshape(-1, channels) / np.float32(32768)
    if desired_channels > 0:
        places = np.minimum(np.arange(desired_channels), channels - 1)
        samples = samples[:, places]
    if desired_samples >= 0:
        samples = samples[:desired_samples]
        samples = np.pad(samples, [[0, desired_samples - len(samples)], [0, 0]])
    return samples.astype(np.float32, copy=False), np.array(rate, np.int32)


def _infer_decode(call: InferCall) -> tuple[Shape, Shape]:
    if call.spec(0).shape.rank not in (None, 0):
        call.fail("contents must be a scalar: the bytes of one file")
    samples, channels = call.attrs["desired_samples"], call.attrs["desired_channels"]
    sizes = [None if samples < 0 else samples, None if channels <= 0 else channels]
    return Shape(sizes), Shape(())


DECODE_WAV = define(
    name="DecodeWav",
    signature="contents: string -> audio: float32, sample_rate: int32",
    attrs={"desired_channels": attr("int", default=-1), "desired_samples": attr("int", default=-1)},
    infer=_infer_decode,
    kernel=_decode_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """A WAV file of 16 bits per sample.

    Args:
        audio: [samples, channels], float32; what is beyond -1 or 1 is cut off.
        sample_rate: [], int32, in Hz.
        name: name of the node while tracing.

    Returns:
        [], string.
    """
    return execute_one(ENCODE_WAV, audio, sample_rate, name=name)


def _encode_kernel(audio: Array, sample_rate: Array) -> Array:
    import wave

    rate = int(sample_rate)
    if rate <= 0 or audio.ndim != 2 or not 0 < audio.shape[1] < 65536:
        raise InvalidArgumentError(
            "EncodeWav: audio must be [samples, channels] and sample_rate above 0, got "
            f"{list(audio.shape)} and {rate}"
        )
    scaled = audio.astype(np.float64) * 32768
    # Halves are rounded away from 0.
    whole = np.clip(np.trunc(scaled + np.copysign(0.5, scaled)), -32768, 32767)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(audio.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(whole.astype("<i2").tobytes())
    out = np.empty((), object)
    out[()] = buffer.getvalue()
    return out


def _infer_encode(call: InferCall) -> Shape:
    if not call.spec(0).shape.is_compatible_with([None, None]):
        call.fail("audio must have 2 axes: samples, channels")
    if call.spec(1).shape.rank not in (None, 0):
        call.fail("sample_rate must be a scalar")
    return Shape(())


ENCODE_WAV = define(
    name="EncodeWav",
    signature="audio: float32, sample_rate: int32 -> contents: string",
    infer=_infer_encode,
    kernel=_encode_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
