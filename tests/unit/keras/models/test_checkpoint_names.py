"""Checkpoints of Keras models have the names under which Keras 3.15 looks for its objects."""

import pinnace as tf

layers = tf.keras.layers


def edges(model, path) -> set[str]:
    """All paths to variables in a checkpoint of the model, with every name of each."""
    view = tf.train.CheckpointView(tf.train.Checkpoint(model=model).write(str(path)))
    found, waiting = set(), [("", 0)]
    while waiting:
        way, node = waiting.pop()
        children = view.children(node)
        if not children:
            found.add(way.removeprefix("/model/"))
        waiting += [(f"{way}/{name}", child) for name, child in children.items()]
    return found


def test_kernels_and_embeddings_stand_behind_an_underscore(tmp_path) -> None:
    model = tf.keras.Sequential([layers.Embedding(5, 4), layers.Dense(2)])
    model(tf.constant([[1, 2]]))
    # Read from a checkpoint that Keras wrote of this model; its input is operation 0.
    theirs = {
        "_functional/_operations/1/_embeddings",
        "_functional/_operations/2/_kernel",
        "_functional/_operations/2/bias",
    }
    assert theirs <= edges(model, tmp_path / "weights")


def test_a_functional_model_counts_its_inputs(tmp_path) -> None:
    x = tf.keras.Input([3])
    model = tf.keras.Model(x, layers.Dense(2)(x))
    theirs = {"_operations/1/_kernel", "_operations/1/bias"}
    assert theirs <= edges(model, tmp_path / "weights")


def test_a_model_that_is_built_later_takes_what_keras_named(tmp_path) -> None:
    def model():
        return tf.keras.Sequential([layers.Dense(2)])

    first, later = model(), model()
    first(tf.ones([1, 3]))
    path = tf.train.Checkpoint(by_their_names=first._children_elsewhere()["_functional"]).write(
        str(tmp_path / "weights")
    )
    holder = tf.train.Checkpoint(by_their_names=later._children_elsewhere()["_functional"])
    holder.read(path)
    later(tf.ones([1, 3]))
    assert (later.get_weights()[0] == first.get_weights()[0]).all()
