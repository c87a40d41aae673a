"""Models as estimators of scikit-learn."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from pinnace import keras
from pinnace.keras import wrappers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).astype(np.float32)
LABELS = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]
NUMBERS = X @ np.array([1.0, -2.0, 0.5], np.float32)


def built(X: Any, y: Any, loss: str = "mse", rate: float = 0.1) -> Any:  # noqa: N803 (the wrappers' name)
    model = keras.Sequential([keras.Input((X.shape[1],)), keras.layers.Dense(y.shape[1])])
    if loss != "mse":
        model.add(keras.layers.Softmax())
    model.compile(keras.optimizers.SGD(rate), loss)
    return model


def classifier(**options: Any) -> Any:
    settings = {"loss": "categorical_crossentropy", "rate": 0.5}
    return wrappers.SKLearnClassifier(
        built, model_kwargs=settings, fit_kwargs={"epochs": 20, "verbose": 0}, **options
    )


def regressor(**options: Any) -> Any:
    return wrappers.SKLearnRegressor(built, fit_kwargs={"epochs": 20, "verbose": 0}, **options)


def test_a_classifier_learns_labels() -> None:
    made = classifier().fit(X, LABELS)
    assert is_classifier(made)
    assert made.score(X, LABELS) > 0.9
    assert list(made.classes_) == ["no", "yes"]
    scores = made.decision_function(X)
    np.testing.assert_array_equal(made.predict(X), made.classes_[scores.argmax(1)])
    np.testing.assert_allclose(scores.sum(1), 1, rtol=1e-5)
    assert len(made.history_.history["loss"]) == 20


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_regressor_gives_targets_in_their_form(outputs: int) -> None:
    y = NUMBERS if outputs == 1 else np.stack([NUMBERS, -NUMBERS], 1)
    made = regressor().fit(X, y)
    assert is_regressor(made)
    assert made.predict(X).shape == y.shape
    assert made.score(X, y) > 0.99


def test_a_transformer_is_a_step_before_others() -> None:
    model = built(X, NUMBERS[:, None])
    made = wrappers.SKLearnTransformer(model, fit_kwargs={"verbose": 0})
    pipe = make_pipeline(made, LogisticRegression()).fit(X, LABELS == "yes")
    step = pipe.steps[0][1]
    np.testing.assert_array_equal(step.transform(X), step.model_.predict(X, verbose=0))
    assert step.model_ is not model  # a clone is trained


def test_a_search_sets_parameters() -> None:
    grid = {"model_kwargs": [{"rate": 0.0}, {"rate": 0.1}]}
    found = GridSearchCV(regressor(), grid, cv=2).fit(X, NUMBERS)
    assert found.best_params_ == {"model_kwargs": {"rate": 0.1}}
    again = clone(regressor())
    assert again.fit_kwargs == {"epochs": 20, "verbose": 0}


def test_a_warm_start_goes_on() -> None:
    made = regressor(warm_start=True)
    first = made.fit(X, NUMBERS).history_.history["loss"]
    second = made.fit(X, NUMBERS, epochs=1).history_.history["loss"]
    assert second[0] < first[0]
    cold = regressor().fit(X, NUMBERS)
    assert cold.fit(X, NUMBERS, epochs=1).history_.history["loss"][0] > second[0]


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        classifier().predict(X)
    with pytest.raises(ValueError, match="only one class is present"):
        classifier().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="Only binary and multiclass target types"):
        classifier().fit(X, NUMBERS)
    with pytest.raises(RuntimeError, match="Given model needs to be compiled"):
        wrappers.SKLearnRegressor(keras.Sequential([keras.layers.Dense(1)])).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="features"):
        regressor().fit(X, NUMBERS).predict(X[:, :2])


def test_metadata_is_asked_for_where_it_is_routed() -> None:
    with pytest.raises(RuntimeError, match="metadata routing is enabled"):
        regressor().set_fit_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        made = (
            regressor().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        )
        asked = made.get_metadata_routing()
    assert asked.fit.requests == {"sample_weight": True}
    assert asked.score.requests == {"sample_weight": False}
