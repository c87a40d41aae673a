"""`keras.wrappers`: models as scikit-learn estimators; imports scikit-learn."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace.keras.models.clone import clone_model
from pinnace.keras.models.model import Model

try:
    import sklearn
    from sklearn.base import BaseEstimator as _BaseEstimator
    from sklearn.base import ClassifierMixin as _ClassifierMixin
    from sklearn.base import RegressorMixin as _RegressorMixin
    from sklearn.base import TransformerMixin as _TransformerMixin
    from sklearn.utils.metadata_routing import MetadataRequest as _MetadataRequest
    from sklearn.utils.multiclass import type_of_target as _type_of_target
    from sklearn.utils.validation import check_is_fitted as _check_is_fitted
except ImportError as _error:
    raise ImportError(
        "keras.wrappers requires scikit-learn to be installed\n  Try: pip install scikit-learn"
    ) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Array
    from pinnace.keras.callbacks.history import History

__all__ = ["SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"]


class _Wrapped(_BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model as an estimator.

    Args:
        model: a compiled Model, of which each `fit` trains a clone with new weights; or a function
            that gives one: called with X and y by name, and `model_kwargs`.
        warm_start: whether a further `fit` goes on with the model of the last one.
        model_kwargs: further arguments of the function.
        fit_kwargs: arguments of `Model.fit`; those of `fit` itself come before them.
    """

    model_: Model
    history_: History

    def __init__(
        self,
        model: Model | Callable[..., Model],
        warm_start: bool = False,
        model_kwargs: Mapping[str, Any] | None = None,
        fit_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.warm_start = warm_start
        self.model_kwargs = model_kwargs
        self.fit_kwargs = fit_kwargs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def __sklearn_clone__(self) -> Self:
        is_model = isinstance(self.model, Model)
        model = copy.deepcopy(self.model) if is_model else self.model
        return type(self)(model, self.warm_start, self.model_kwargs, self.fit_kwargs)

    def fit(self, X: Any, y: Any, **kwargs: Any) -> Self:  # noqa: N803 (scikit-learn's name)
        """Train the model.

        Args:
            X: [samples, features].
            y: [samples], or [samples, outputs].
            **kwargs: keyword arguments of `Model.fit`.

        Raises:
            RuntimeError: the model is not compiled, or has no loss or optimizer.
            ValueError: scikit-learn refuses X or y.
        """
        x, y = _validated(self, X, y, **self._checks())
        y = self._encoded(y)
        if self.warm_start and hasattr(self, "model_"):
            model = self.model_
        elif isinstance(self.model, Model):
            model = clone_model(self.model)
        else:
            model = self.model(X=x, y=y, **(self.model_kwargs or {}))
        if not model.compiled or not model.loss or not model.optimizer:
            raise RuntimeError(
                f"{type(self).__name__}: Given model needs to be compiled, and have a loss and an "
                "optimizer"
            )
        self.history_ = model.fit(x, y, **{**(self.fit_kwargs or {}), **kwargs})
        self.model_ = model
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803 (scikit-learn's name)
        """The model's predictions, in the form of the y that it was trained on.

        Args:
            X: [samples, features].

        Raises:
            sklearn.exceptions.NotFittedError: it is not trained.
        """
        return self._decoded(self._outputs(X))

    def _outputs(self, X: Any) -> Array:  # noqa: N803 (scikit-learn's name)
        _check_is_fitted(self)
        found: Array = self.model_.predict(_validated(self, X, reset=False), verbose=0)
        return found

    # The encoding of targets.

    def _checks(self) -> dict[str, Any]:
        return {"multi_output": True, "y_numeric": True}

    def _encoded(self, y: Array) -> Array:
        """Targets in the model's form, with a second axis."""
        _known_target(y)
        self._axes = y.ndim
        return y.reshape(-1, 1) if y.ndim == 1 else y

    def _decoded(self, y: Array) -> Array:
        return np.squeeze(y, axis=1) if self._axes == 1 and y.ndim == 2 else y

    # Metadata routing.

    def set_fit_request(self, **kwargs: Any) -> Self:
        """Set which metadata `fit` requests; see scikit-learn's metadata routing.

        Args:
            **kwargs: name of a parameter -> True, False, None or another name.

        Raises:
            RuntimeError: metadata routing is not enabled.
        """
        return self._request("fit", kwargs)

    def set_score_request(self, **kwargs: Any) -> Self:
        """Set which metadata `score` requests; see `set_fit_request`.

        Args:
            **kwargs: name of a parameter -> True, False, None or another name.

        Raises:
            RuntimeError: metadata routing is not enabled.
        """
        return self._request("score", kwargs)

    def _request(self, method: str, asked: dict[str, Any]) -> Self:
        if not sklearn.get_config().get("enable_metadata_routing", False):
            raise RuntimeError(
                "This method is only available when metadata routing is enabled\n"
                "  Try: sklearn.set_config(enable_metadata_routing=True)"
            )
        if getattr(self, "_metadata_request", None) is None:
            self._metadata_request = _MetadataRequest(owner=type(self).__name__)
        for parameter, alias in asked.items():
            getattr(self._metadata_request, method).add_request(param=parameter, alias=alias)
        return self


class SKLearnClassifier(_ClassifierMixin, _Wrapped):  # type: ignore[misc]  # scikit-learn has no types
    """A model as a classifier, trained on one-hot rows, with a column for each class.

    Args:
        model: a compiled Model, of which each `fit` trains a clone with new weights; or a function
            that gives one: called with X and y by name, and `model_kwargs`.
        warm_start: whether a further `fit` goes on with the model of the last one.
        model_kwargs: further arguments of the function.
        fit_kwargs: arguments of `Model.fit`; those of `fit` itself come before them.
    """

    classes_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def decision_function(self, X: Any) -> Array:  # noqa: N803 (scikit-learn's name)
        """The model's output for each class.

        Args:
            X: [samples, features].

        Returns:
            [samples, classes].
        """
        return self._outputs(X)

    def _checks(self) -> dict[str, Any]:
        return {}

    def _encoded(self, y: Array) -> Array:
        kind = _known_target(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                "SKLearnClassifier: Only binary and multiclass target types are supported. "
                f"Target type: {kind}"
            )
        self._axes = y.ndim
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("Classifier can't train when only one class is present.")
        rows: Array = np.eye(len(self.classes_))[places.reshape(-1)]
        return rows

    def _decoded(self, y: Array) -> Array:
        found: Array = self.classes_[y.argmax(-1)]
        return found if self._axes == 1 else found.reshape(-1, 1)


class SKLearnRegressor(_RegressorMixin, _Wrapped):  # type: ignore[misc]  # scikit-learn has no types
    """A model as a regressor.

    Args:
        model: a compiled Model, of which each `fit` trains a clone with new weights; or a function
            that gives one: called with X and y by name, and `model_kwargs`.
        warm_start: whether a further `fit` goes on with the model of the last one.
        model_kwargs: further arguments of the function.
        fit_kwargs: arguments of `Model.fit`; those of `fit` itself come before them.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class SKLearnTransformer(_TransformerMixin, _Wrapped):  # type: ignore[misc]  # scikit-learn has no types
    """A model as a transformer, in scikit-learn's sense: a step before another estimator.

    Args:
        model: a compiled Model, of which each `fit` trains a clone with new weights; or a function
            that gives one: called with X and y by name, and `model_kwargs`.
        warm_start: whether a further `fit` goes on with the model of the last one.
        model_kwargs: further arguments of the function.
        fit_kwargs: arguments of `Model.fit`; those of `fit` itself come before them.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def transform(self, X: Any) -> Array:  # noqa: N803 (scikit-learn's name)
        """The outputs of the model.

        Args:
            X: [samples, features].
        """
        return self._outputs(X)


def _validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """X, or X and y, validated by scikit-learn, which stores the number of features."""
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # scikit-learn before 1.6
        return estimator._validate_data(*data, **options)
    return validate_data(estimator, *data, **options)


def _known_target(y: Array) -> str:
    kind: str = _type_of_target(y)
    if kind == "unknown":
        raise ValueError(f"Unknown label type for y: {y!r:.100}")
    return kind
