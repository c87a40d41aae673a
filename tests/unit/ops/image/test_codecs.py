"""Image files: round trips, and errors."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pinnace as tf
from golden.functions.image import PICTURES, bmp, png
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.ops.image import files

SIZES = st.integers(1, 9)


@given(data=st.data(), channels=st.sampled_from([1, 3, 4]), level=st.integers(-1, 9))
def test_a_png_file_keeps_every_pixel(data: st.DataObject, channels: int, level: int) -> None:
    shape = (data.draw(SIZES), data.draw(SIZES), channels)
    pixels = data.draw(hnp.arrays(np.uint8, shape))
    written = tf.image.encode_png(pixels, level)
    np.testing.assert_array_equal(tf.image.decode_png(written), pixels)
    np.testing.assert_array_equal(tf.image.decode_image(written), pixels)


@given(data=st.data())
def test_a_png_file_keeps_16_bits_of_grey(data: st.DataObject) -> None:
    pixels = data.draw(hnp.arrays(np.uint16, (data.draw(SIZES), data.draw(SIZES), 1)))
    written = tf.image.encode_png(pixels)
    np.testing.assert_array_equal(tf.image.decode_png(written, dtype=tf.uint16), pixels)
    np.testing.assert_array_equal(tf.image.decode_png(written), pixels >> 8)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("progressive", [True, False])
def test_a_jpeg_file_of_best_quality_is_near(channels: int, progressive: bool) -> None:
    y, x = np.mgrid[:40, :50]
    pixels = np.stack([y * 3, x * 4, 200 - x - y][:channels], -1).astype(np.uint8)
    written = tf.image.encode_jpeg(
        pixels, quality=100, progressive=progressive, chroma_downsampling=False
    )
    read = np.asarray(tf.image.decode_jpeg(written)).astype(int)
    assert np.abs(read - pixels).max() <= 3
    assert np.asarray(tf.image.extract_jpeg_shape(written)).tolist() == [40, 50, channels]


def test_quality_costs_sharpness() -> None:
    noise = np.random.default_rng(3).integers(0, 256, (32, 32, 3)).astype(np.uint8)

    def loss(quality: int) -> float:
        return float(
            np.abs(
                np.asarray(tf.image.adjust_jpeg_quality(noise, quality)) - noise.astype(int)
            ).mean()
        )

    assert loss(95) < loss(50) < loss(5)


def test_a_truncated_file_is_an_error_or_grey_at_its_end() -> None:
    data = (PICTURES / "colours.jpg").read_bytes()
    half = data[: len(data) * 11 // 12]  # the tables come first
    with pytest.raises(InvalidArgumentError, match="DecodeJpeg: contents are no JPEG file"):
        tf.image.decode_jpeg(half)
    whole = np.asarray(tf.image.decode_jpeg(data))
    saved = np.asarray(tf.image.decode_jpeg(half, try_recover_truncated=True))
    assert saved.shape == whole.shape
    np.testing.assert_array_equal(saved[:8, :8], whole[:8, :8])


@given(cut=st.integers(0, 200), place=st.integers(0, 200), bit=st.integers(0, 7))
def test_a_broken_file_is_one_clear_error_or_a_picture(cut: int, place: int, bit: int) -> None:
    data = bytearray(png(np.arange(75, dtype=np.uint8).reshape(5, 5, 3)))
    data[place % len(data)] ^= 1 << bit
    told = ""
    try:
        found = tf.image.decode_image(bytes(data[: len(data) - cut % len(data)]))
    except (InvalidArgumentError, UnimplementedError) as error:
        told = str(error)
    assert "DecodeImage" in told or found.dtype is tf.uint8


@pytest.mark.parametrize("data", [b"", b"hello", b"RIFF1234WAVE"])
def test_other_bytes_are_told(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="they begin with"):
        tf.image.decode_image(data)


def test_without_pillow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UnimplementedError, match=r"pip install (-e )?'.*\[image\]'"):
        files.write_png(np.zeros((1, 1, 1), np.uint8), -1)


@pytest.mark.parametrize("window", [[0, 0, 21, 5], [-1, 0, 2, 2], [0, 0, 0, 4], [1, 2, 3]])
def test_a_window_must_be_inside(window: list[int]) -> None:
    data = (PICTURES / "colours.jpg").read_bytes()
    with pytest.raises(InvalidArgumentError, match="crop_window"):
        tf.image.decode_and_crop_jpeg(data, window)


def test_frames_of_an_animation_are_all_read() -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    frames = [image.fromarray(np.full((3, 4, 3), 50 * n, np.uint8)) for n in range(3)]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    read = np.asarray(tf.image.decode_gif(buffer.getvalue()))
    assert read.shape == (3, 3, 4, 3)
    assert read[:, 0, 0, 0].tolist() == [0, 50, 100]
    first = tf.image.decode_image(buffer.getvalue(), expand_animations=False)
    np.testing.assert_array_equal(first, read[0])


@given(data=st.data(), channels=st.sampled_from([0, 3, 4]), turned=st.booleans())
def test_a_bmp_file_is_read_from_below_or_above(
    data: st.DataObject, channels: int, turned: bool
) -> None:
    pixels = data.draw(hnp.arrays(np.uint8, (data.draw(SIZES), data.draw(SIZES), 3)))
    written = bytearray(bmp(pixels))
    if turned:  # a negative height
        written[22:26] = (-len(pixels)).to_bytes(4, "little", signed=True)
    found = np.asarray(tf.image.decode_bmp(bytes(written), channels=channels))
    np.testing.assert_array_equal(found[..., :3], pixels[::-1] if turned else pixels)
    assert found.shape[2] == (channels or 3)
    assert (found[..., 3:] == 255).all()


@pytest.mark.parametrize(("bits", "depth"), [(8, 1), (32, 4)])
def test_a_bmp_file_of_other_depths_has_its_own_channels(bits: int, depth: int) -> None:
    rows = np.arange(2 * 4 * depth, dtype=np.uint8).reshape(2, 4, depth)
    head = bytearray(bmp(np.zeros((2, 4, 3), np.uint8))[:54])
    head[28:30] = bits.to_bytes(2, "little")
    order = [2, 1, 0, 3] if depth == 4 else [0]
    found = tf.image.decode_bmp(bytes(head) + rows[::-1][..., order].tobytes())
    np.testing.assert_array_equal(found, rows)


@pytest.mark.parametrize("change", [b"x", -1, -30])
def test_a_bmp_file_of_another_length_is_refused(change: bytes | int) -> None:
    data = bmp(np.zeros((2, 3, 3), np.uint8))
    data = data + change if isinstance(change, bytes) else data[:change]
    with pytest.raises(InvalidArgumentError, match="DecodeBmp: contents are no BMP file"):
        tf.image.decode_bmp(data)


@given(data=st.binary(max_size=80))
def test_what_only_begins_like_a_bmp_file_is_one_clear_error(data: bytes) -> None:
    told = ""
    try:
        found = tf.image.decode_bmp(b"BM" + data)
    except InvalidArgumentError as error:
        told = str(error)
    assert "no BMP file" in told or found.dtype is tf.uint8


def test_an_op_refuses_files_of_other_kinds() -> None:
    picture = np.zeros((2, 3, 3), np.uint8)
    with pytest.raises(InvalidArgumentError, match="must be a BMP file: they are a PNG file"):
        tf.image.decode_bmp(png(picture))
    with pytest.raises(InvalidArgumentError, match="must be a PNG or JPEG or GIF file"):
        tf.image.decode_png(bmp(picture))
    with pytest.raises(
        InvalidArgumentError, match=r"channels of a JPEG file must be in \(0, 1, 3\)"
    ):
        tf.image.decode_png((PICTURES / "grey.jpg").read_bytes(), channels=4)


def test_16_bits_of_8_are_those_of_the_kind() -> None:
    picture = np.full((1, 2, 3), 255, np.uint8)
    assert np.unique(tf.image.decode_image(png(picture), dtype=tf.uint16)).tolist() == [65535]
    # As in TensorFlow, which widens formats without 16 bits.
    assert np.unique(tf.image.decode_image(bmp(picture), dtype=tf.uint16)).tolist() == [65280]
