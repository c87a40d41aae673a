"""A grid search of scikit-learn over Keras models: copied, pickled, trained in other processes."""

from __future__ import annotations

import json

import pytest

from support.fresh_process import run_fresh

# A typical program: its class is in `__main__`, and joblib pickles it by value.
PROGRAM = """
import json, os, sys, warnings
import joblib, numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, KFold
import pinnace as tf

keras = tf.keras
X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
Y = (X @ np.array([1.0, -2.0, 0.5, 3.0], np.float32) + 0.25)[:, None]


class Regressor(RegressorMixin, BaseEstimator):
    def __init__(self, model=None, learning_rate=0.1, momentum=0.0):
        self.model = model
        self.learning_rate = learning_rate
        self.momentum = momentum

    def fit(self, x, y):
        # Every fit begins with the weights of the model that was given.
        self.model_ = keras.models.clone_model(self.model)
        self.model_.set_weights(self.model.get_weights())
        self.model_.compile(keras.optimizers.SGD(self.learning_rate, self.momentum), "mse")
        self.history_ = self.model_.fit(x, y, epochs=4, batch_size=8, shuffle=False, verbose=0)
        self.worker_ = os.getpid()
        return self

    def predict(self, x):
        return self.model_.predict(x, verbose=0)


def built(kind):
    keras.utils.set_random_seed(7)
    if kind == "functional":
        x = keras.Input((4,))
        return keras.Model(x, keras.layers.Dense(1)(keras.layers.Dense(3, "tanh")(x)))
    dense = keras.layers.Dense
    return keras.Sequential([keras.Input((4,)), dense(3, "tanh"), dense(1)])


def search(model, jobs):
    grid = {"learning_rate": [0.001, 0.2], "momentum": [0.0, 0.5]}
    return GridSearchCV(Regressor(model), grid, cv=KFold(2), n_jobs=jobs).fit(X, Y)


def scores_by_hand(model):
    found = []
    for chosen in ParameterGrid({"learning_rate": [0.001, 0.2], "momentum": [0.0, 0.5]}):
        scores = []
        for train, test in KFold(2).split(X):
            one = Regressor(model, **chosen).fit(X[train], Y[train])
            scores.append(one.score(X[test], Y[test]))
        found.append(np.mean(scores))
    return found


if __name__ == "__main__":
    model = built(sys.argv[1])
    before = [w.copy() for w in model.get_weights()]
    wanted = scores_by_hand(model)
    here, beside = search(model, 1), search(model, 2)
    np.testing.assert_allclose(here.cv_results_["mean_test_score"], wanted, rtol=1e-5)
    np.testing.assert_allclose(beside.cv_results_["mean_test_score"], wanted, rtol=1e-5)
    assert here.best_params_ == beside.best_params_
    for one, other in zip(before, model.get_weights()):
        np.testing.assert_array_equal(one, other)
    best = beside.best_estimator_
    assert len(best.history_.history["loss"]) == 4
    # The winner goes to a file and to other processes, and says the same there.
    said = best.predict(X)
    joblib.dump(best, "best.joblib")
    np.testing.assert_array_equal(joblib.load("best.joblib").predict(X), said)
    for backend in ("loky", "multiprocessing", "threading"):
        more = [clone(best).set_params(model=best.model_) for _ in range(2)]
        jobs = [joblib.delayed(one.fit)(X, Y) for one in more]
        fitted = joblib.Parallel(2, backend=backend)(jobs)
        np.testing.assert_allclose(fitted[0].predict(X), fitted[1].predict(X), rtol=1e-6)
        assert (fitted[0].worker_ == os.getpid()) is (backend == "threading")
    print(json.dumps({"best": beside.best_params_, "score": beside.best_score_}))
"""


@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_a_grid_search_finds_the_same_in_one_process_and_in_several(kind: str) -> None:
    found = json.loads(run_fresh(PROGRAM, kind))
    assert found["best"]["learning_rate"] > 0.001
    assert found["score"] > 0.5
