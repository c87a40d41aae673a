"""Layers for features: adapted bins, crossed categories, reversible embeddings; inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras import layers

RNG = np.random.default_rng(4)


@given(bins=st.integers(2, 8), count=st.integers(60, 400), batch=st.integers(20, 400))
def test_bins_hold_as_many_values_each(bins: int, count: int, batch: int) -> None:
    values = RNG.normal(size=count).astype(np.float32)
    layer = layers.Discretization(num_bins=bins)
    layer.adapt(tf.data.Dataset.from_tensor_slices(values).batch(batch))
    assert len(layer.bin_boundaries) == bins - 1
    found = np.bincount(layer(values).numpy(), minlength=bins) / count
    # A summary keeps a hundred values, and each batch makes one summary.
    np.testing.assert_allclose(found, 1 / bins, atol=0.06)
    again = layers.Discretization.from_config(layer.get_config())
    np.testing.assert_array_equal(again(values), layer(values))


def test_bins_must_be_found_or_given() -> None:
    with pytest.raises(ValueError, match="either `num_bins` or `bin_boundaries`"):
        layers.Discretization()
    with pytest.raises(ValueError, match="should not be set"):
        layers.Discretization([0.0], 3)
    with pytest.raises(ValueError, match=r"call `adapt\(dataset\)`"):
        layers.Discretization(num_bins=3)(np.zeros(2))
    with pytest.raises(ValueError, match="use `num_bins` instead"):
        layers.Discretization([0.0]).adapt(np.zeros(2))


def test_equal_pairs_are_crossed_alike() -> None:
    words = tf.constant([["a"], ["b"], ["a"], ["a"]])
    numbers = tf.constant([[1], [1], [1], [2]])
    layer = layers.HashedCrossing(1000)
    found = layer((words, numbers)).numpy()[:, 0]
    assert found[0] == found[2]
    assert len(set(found)) == 3
    rows = layers.HashedCrossing(1000, output_mode="one_hot")((words, numbers)).numpy()
    np.testing.assert_array_equal(rows.argmax(1), found)
    traced = tf.function(layer)((words, numbers))
    np.testing.assert_array_equal(traced[:, 0], found)


@pytest.mark.parametrize("tied", [True, False])
def test_an_embedding_scores_vectors(tied: bool) -> None:
    layer = layers.ReversibleEmbedding(6, 4, tie_weights=tied, logit_soft_cap=2.0)
    vectors = layer(np.array([[1, 5]]))
    table = np.asarray(layer.embeddings).T if tied else np.asarray(layer.reverse_embeddings)
    wanted = 2 * np.tanh(np.asarray(vectors) @ table / 2)
    np.testing.assert_allclose(layer(vectors, reverse=True), wanted, rtol=1e-5, atol=1e-6)


def test_a_spectrogram_has_a_tone_in_its_band() -> None:
    time = np.arange(8000) / 8000
    tone = np.sin(2 * np.pi * 1000 * time).astype(np.float32)
    for frames in (
        layers.STFTSpectrogram("magnitude", 256)(tone[None, :, None]).numpy()[0],
        layers.MelSpectrogram(256, 128, sampling_rate=8000, num_mel_bins=40)(tone).numpy().T,
    ):
        assert len(set(frames[3:-3].argmax(1))) == 1
    bins = layers.STFTSpectrogram("psd", 256)(tone[None, :, None]).numpy()[0].argmax(1)
    np.testing.assert_array_equal(bins, 1000 * 256 // 8000)


def test_a_tensor_tells_its_inputs_once_each() -> None:
    one, other = tf.keras.Input((3,)), tf.keras.Input((3,))
    total = layers.Add()([layers.Dense(3)(one), other, one])
    assert tf.keras.utils.get_source_inputs(total) == [one, other]
    assert tf.keras.utils.get_source_inputs(one) == [one]


@pytest.mark.parametrize(("mode", "last"), [("int", 1), ("one_hot", 5)])
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_a_crossing_tells_the_shape_of_its_result_whatever_its_dtype(
    mode: str, last: int, dtype: str | None
) -> None:
    layer = layers.HashedCrossing(5, output_mode=mode, dtype=dtype)
    assert tuple(layer.compute_output_shape([(None, 1), (None, 1)])) == (None, last)
