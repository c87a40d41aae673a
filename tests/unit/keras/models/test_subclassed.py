"""Subclassed models, and their metadata in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


class Classifier(keras.Model):
    def __init__(self, classes: int = 3, rate: float = 0.5) -> None:
        super().__init__()
        self.hidden = layers.Dense(5, activation="relu")
        self.dropout = layers.Dropout(rate, seed=1)
        self.last = layers.Dense(classes)

    def call(self, x: Any, training: bool = False) -> Any:
        return self.last(self.dropout(self.hidden(x), training=training))


def test_it_is_called_and_trained() -> None:
    model = Classifier(rate=0.0)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss, metrics=["accuracy"])
    y = np.array([0, 1, 2, 1])
    history = model.fit(X, y, epochs=40, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert model.weights[0].path == f"{model.name}/{model.hidden.name}/kernel"
    assert [layer.name for layer in model.layers] == [
        model.hidden.name,
        model.dropout.name,
        model.last.name,
    ]


def test_build_makes_the_weights() -> None:
    model = Classifier()
    model.build((None, 6))
    assert model.count_params() == 6 * 5 + 5 + 5 * 3 + 3
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    assert "(None, 5)" in lines[0]


def test_a_train_step_of_ones_own() -> None:
    class Own(Classifier):
        def train_step(self, data: Any) -> dict[str, Any]:
            logs = super().train_step(data)
            return {**logs, "answer": np.float32(42)}

    model = Own()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(X, np.array([0, 1, 2, 1]), epochs=2, verbose=0)
    assert history.history["answer"] == [42, 42]


def test_a_train_step_without_compile_loss() -> None:
    from pinnace.autodiff.tape import GradientTape
    from pinnace.ops.math.reduction import reduce_mean

    class Own(Classifier):
        def __init__(self) -> None:
            super().__init__(rate=0.0)
            self.mean = keras.metrics.Mean(name="mine")

        def train_step(self, data: Any) -> dict[str, Any]:
            x, _ = data
            with GradientTape() as tape:
                loss = reduce_mean(self(x, training=True) ** 2.0)
            gradients = tape.gradient(loss, self.trainable_variables)
            assert self.optimizer is not None
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.mean.update_state(loss)
            return {"mine": self.mean.result()}

        @property
        def metrics(self) -> list[keras.Metric]:
            return [self.mean]

    model = Own()
    model.compile(optimizer="adam")
    history = model.fit(X, np.zeros(4), epochs=20, verbose=0)
    assert history.history["mine"][-1] < history.history["mine"][0]
    assert list(history.history) == ["mine"]


def named() -> Any:
    return keras.Sequential([keras.Input((6,), name="features"), layers.Dense(2)])


def unnamed() -> Any:
    return keras.Sequential([keras.Input((6,)), layers.Dense(2)])


def called() -> Any:
    model = Classifier()
    model(X)
    return model


@pytest.mark.parametrize(
    ("make", "name"), [(named, "features"), (unnamed, "inputs"), (called, "inputs")]
)
def test_the_default_signature_has_inputs_and_outputs_by_name(make: Any, name: str) -> None:
    model = make()
    ((key, signature),) = model._default_signatures().items()
    assert key == "serving_default"
    assert signature.by_name
    (spec,) = signature.structured_input_signature[1].values()
    assert (spec.name, spec.shape) == (name, (None, 6))
    assert list(signature.structured_outputs) == ["output_0"]
    found = signature(**{name: X})["output_0"]
    np.testing.assert_allclose(found.numpy(), model(X).numpy(), rtol=1e-5)
    arrays = signature.run_arrays({name: X})["output_0"]
    np.testing.assert_array_equal(arrays, found.numpy())


def test_signatures_of_dicts() -> None:
    inputs = {"a": keras.Input((6,)), "b": keras.Input((6,))}
    model = keras.Model(inputs, {"sum": inputs["a"] + inputs["b"]})
    signature = model._default_signatures()["serving_default"]
    np.testing.assert_array_equal(signature(a=X, b=X)["sum"].numpy(), 2 * X)


def test_the_functions_to_save_know_training() -> None:
    model = called()
    function = model._functions_for_saving()["__call__"]
    assert len(function.concrete_functions()) == 2
    np.testing.assert_allclose(function(X).numpy(), model(X).numpy(), rtol=1e-5)
    assert not np.array_equal(function(X, training=True).numpy(), model(X).numpy())


def test_a_model_that_was_never_called_cannot_be_saved() -> None:
    with pytest.raises(ValueError, match="does not know its inputs yet\n  Try: call it on data"):
        Classifier()._default_signatures()


def test_an_export_leaves_the_optimizer_out(tmp_path: Path) -> None:
    model = unnamed()
    model.compile("adam", "mse")
    model.fit(X, np.zeros((4, 2)), verbose=0)
    assert "optimizer" in model._trackable_children()
    sizes = {}
    for name, write in (("saved", model.save), ("exported", model.export)):
        write(tmp_path / name)
        data = tmp_path / name / "variables" / "variables.data-00000-of-00001"
        sizes[name] = data.stat().st_size
    assert sizes["exported"] < sizes["saved"]
    assert "optimizer" in model._trackable_children()


def test_a_model_that_is_not_built_is_saved_without_weights(tmp_path: Path) -> None:
    model = keras.Sequential([layers.Dense(2, name="d")], name="s")
    with pytest.warns(UserWarning, match="a model that has not yet been built"):
        model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert (loaded.built, model.built) == (False, False)
    assert loaded.get_config() == model.get_config()
    assert loaded(np.ones((1, 3), np.float32)).shape == (1, 2)


def test_other_formats_and_overwriting_are_refused(tmp_path: Path) -> None:
    model = unnamed()
    unbuilt = keras.Sequential([layers.Dense(2)])
    with pytest.raises(ValueError, match="has no weights before it is built"):
        unbuilt.save(tmp_path / "m.h5")
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError, match="exists already"):
        model.save(tmp_path / "there", overwrite=False)
    with pytest.raises(ValueError, match="Unrecognized format='tflite': it must be tf_saved_model"):
        model.export(tmp_path / "m", format="tflite")


def test_the_attribute_layers_is_taken() -> None:
    class Wrong(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.layers = []

    with pytest.raises(AttributeError, match=r"`Model\.layers` attribute is reserved"):
        Wrong()


def test_a_model_without_call_is_told() -> None:
    class Empty(keras.Model):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty does not have a `call.*must define call"):
        Empty()(X)
