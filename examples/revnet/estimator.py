"""The same RevNet given to an Estimator, and, with one flag, to a TPUEstimator.

python examples/revnet/estimator.py            # Estimator
python examples/revnet/estimator.py --tpu      # TPUEstimator(use_tpu=False)
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from absl import app, flags, logging
from records import read, write_records

import pinnace as tf
from revnet import Hyperparameters, RevNet, cross_entropy

v1 = tf.compat.v1

FLAGS = flags.FLAGS
flags.DEFINE_string("folder", None, "Where records and checkpoints are; None: a temporary one.")
flags.DEFINE_integer("steps", 120, "Train until this many steps have been done in all.")
flags.DEFINE_bool("tpu", False, "Whether the names for TPUs are used; it runs here all the same.")


def model_fn(features, labels, mode, params):
    model = RevNet(params["hyperparameters"])
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = v1.train.MomentumOptimizer(params["learning_rate"], 0.9)
        if params["tpu"]:
            optimizer = v1.tpu.CrossShardOptimizer(optimizer)
        logits, saved_hidden = model(features, training=True)
        grads, loss = model.compute_gradients(saved_hidden, labels, training=True)
        with tf.control_dependencies(model.get_updates_for(features)):
            train_op = optimizer.apply_gradients(
                zip(grads, model.trainable_variables, strict=True),
                global_step=v1.train.get_global_step(),
            )
        if params["tpu"]:
            return v1.estimator.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op)
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)

    logits, _ = model(features, training=False)
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"digit": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
        return tf.estimator.EstimatorSpec(mode=mode, predictions=predictions)

    def metric_fn(labels, logits):
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        accuracy.update_state(labels, logits)
        return {"accuracy": accuracy}

    loss = cross_entropy(logits, labels)
    if params["tpu"]:
        return v1.estimator.tpu.TPUEstimatorSpec(
            mode=mode, loss=loss, eval_metrics=(metric_fn, [labels, logits])
        )
    return tf.estimator.EstimatorSpec(
        mode=mode, loss=loss, eval_metric_ops=metric_fn(labels, logits)
    )


def main(_):
    folder = Path(FLAGS.folder or tempfile.mkdtemp(prefix="revnet-"))
    train_file, test_file = write_records(folder)
    params = {"hyperparameters": Hyperparameters(), "learning_rate": 0.05, "tpu": FLAGS.tpu}
    model_dir = str(folder / "estimator")
    if FLAGS.tpu:
        estimator = v1.estimator.tpu.TPUEstimator(
            model_fn,
            model_dir,
            config=v1.estimator.tpu.RunConfig(
                tf_random_seed=0, tpu_config=v1.estimator.tpu.TPUConfig()
            ),
            params=params,
            use_tpu=False,
            train_batch_size=32,
            eval_batch_size=120,
            predict_batch_size=4,
        )
    else:
        estimator = tf.estimator.Estimator(
            model_fn, model_dir, tf.estimator.RunConfig(tf_random_seed=0), params
        )

    def train_input_fn(params):
        return read(train_file, params.get("batch_size", 32), -1, shuffle=True)

    def test_input_fn(params):
        return read(test_file, params.get("batch_size", 120))

    estimator.train(train_input_fn, max_steps=FLAGS.steps)
    found = estimator.evaluate(test_input_fn)
    logging.info("%s", found)
    print(
        f"step {found['global_step']}: accuracy {found['accuracy']:.3f}, loss {found['loss']:.3f}"
    )
    first = next(iter(estimator.predict(test_input_fn)))
    print(f"the first digit of the test is a {first['digit']}")
    receiver_fn = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"image": tf.TensorSpec([None, 8, 8, 1], tf.float32)}
    )
    if not FLAGS.tpu:
        exported = estimator.export_saved_model(folder / "exported", single(receiver_fn))
        print(f"to be served: {exported.decode()}")


def single(receiver_fn):
    """The request's one tensor is the features."""

    def receive():
        receiver = receiver_fn()
        features = receiver.features["image"]
        return tf.estimator.export.ServingInputReceiver(features, receiver.receiver_tensors)

    return receive


if __name__ == "__main__":
    app.run(main)
