"""What Keras' own unit tests ask of layers: calls and refusals that programs rely on."""

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import layers


@pytest.mark.parametrize("kind", [layers.Embedding, layers.ReversibleEmbedding])
def test_a_table_is_built_without_a_shape(kind):
    layer = kind(5, 3)
    layer.build()
    assert layer.built
    assert layer.embeddings.shape == (5, 3)


def test_no_custom_objects_is_an_empty_scope():
    before = dict(tf.keras.utils.get_custom_objects())
    with tf.keras.utils.custom_object_scope(None):
        assert tf.keras.utils.get_custom_objects() == before


def test_attention_hands_on_the_mask_of_the_query_by_keyword():
    mask = [tf.constant([[True, False]]), None]
    assert layers.Attention().compute_mask([None, None], mask=mask) is mask[0]


def test_a_refused_input_is_called_incompatible_with_the_layer():
    with pytest.raises(ValueError, match="incompatible with the layer"):
        layers.Dense(2)(np.ones(3, np.float32))
