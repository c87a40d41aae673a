"""FeatureSpace: columns of a table, each with its own encoding, as one vector or a dict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.data.dataset import Dataset
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import registry
from pinnace.keras.feature_kinds import KINDS, Cross, Feature, FeatureKinds, TFDConcat, checked_mode
from pinnace.keras.layer import Layer
from pinnace.keras.layers.categories import CategoryEncoding, Hashing
from pinnace.keras.layers.crossing import HashedCrossing
from pinnace.keras.layers.discretization import Discretization
from pinnace.keras.layers.input import Input
from pinnace.keras.layers.lookups import IndexLookup
from pinnace.keras.layers.preprocessing import Normalization
from pinnace.keras.layers.text import TextVectorization
from pinnace.keras.symbolic import is_symbolic
from pinnace.ops.array import reshaping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.keras.symbolic import KerasTensor


class FeatureSpace(FeatureKinds, Layer):
    """Encodes the columns of a table: numbers, categories, texts, and crosses of them.

    Args:
        features: name -> a kind by name (`float`, `float_normalized`, `float_rescaled`,
            `float_discretized`, `integer_categorical`, `string_categorical`, `integer_hashed`,
            `string_hashed`), or what the methods of these names, or `feature`, give.
        output_mode: "concat": one vector of all features, in the order of their names, crosses
            last; "dict": name -> the encoded feature.
        crosses: tuples of names of features, or what `cross` gives.
        crossing_dim: number of categories of a cross that is a tuple.
        hashing_dim: number of categories of `integer_hashed` and `string_hashed` by name.
        num_discretization_bins: number of bins of `float_discretized`, if given by name.
        name: unique if None.

    Shapes:
        each feature [b], [b, 1] or a scalar → [b, n] or [n]; a dict of these.

    Raises:
        ValueError: no features; a kind, a mode or a feature of a cross that is not known.
    """

    _untracked = frozenset({"features", "crosses", "crosses_by_name", "inputs", "encoded_features"})

    def __init__(
        self,
        features: Mapping[str, Any],
        output_mode: str = "concat",
        crosses: Sequence[Any] | None = None,
        crossing_dim: int = 32,
        hashing_dim: int = 32,
        num_discretization_bins: int = 32,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if not features:
            raise ValueError(
                f"FeatureSpace: the `features` argument cannot be None or empty, got {features!r}"
            )
        self.crossing_dim = crossing_dim
        self.hashing_dim = hashing_dim
        self.num_discretization_bins = num_discretization_bins
        self.features = {key: self._feature(key, kind) for key, kind in features.items()}
        self.crosses = [self._cross(told) for told in crosses or ()]
        self.crosses_by_name = {cross.name: cross for cross in self.crosses}
        self.output_mode = checked_mode("FeatureSpace", output_mode, ("concat", "dict"))
        self.inputs = {
            key: Input(shape=(1,), dtype=feature.dtype, name=key)
            for key, feature in self.features.items()
        }
        self.preprocessors = {key: x.preprocessor for key, x in self.features.items()}
        self.encoded_features: Any = None
        self.crossers = {
            key: HashedCrossing(cross.crossing_dim, name=key)
            for key, cross in self.crosses_by_name.items()
        }
        self.one_hot_encoders: dict[str, CategoryEncoding] = {}
        self.concat = TFDConcat(axis=-1) if output_mode == "concat" else None
        self._is_adapted = False

    def _feature(self, name: str, kind: Any) -> Feature:
        if isinstance(kind, dict):
            kind = registry.deserialize_keras_object(kind)
        if isinstance(kind, Feature):
            return kind
        sizes = {
            "float_discretized": (self.num_discretization_bins,),
            "integer_hashed": (self.hashing_dim,),
            "string_hashed": (self.hashing_dim,),
        }
        if kind not in KINDS:
            raise ValueError(
                f"FeatureSpace: Invalid feature type of {name!r}: must be one of "
                f"{', '.join(KINDS)}, or a Feature, got {kind!r}"
            )
        made: Feature = getattr(self, kind)(*sizes.get(kind, ()), name=name)
        return made

    def _cross(self, told: Any) -> Cross:
        if isinstance(told, dict):
            told = registry.deserialize_keras_object(told)
        if isinstance(told, Cross):
            return told
        if not self.crossing_dim:
            raise ValueError(
                "FeatureSpace: When specifying `crosses`, the argument `crossing_dim` should be "
                f"specified as well, got {self.crossing_dim!r}"
            )
        if any(name not in self.features for name in told):
            raise ValueError(
                "FeatureSpace: All features referenced in the `crosses` argument should be present "
                f"in the `features` dict, {', '.join(self.features)}, got {told!r}"
            )
        return Cross(told, self.crossing_dim)

    # Adapting.

    def adapt(self, dataset: Any) -> None:
        """Fit the features' layers to data: vocabularies, means, boundaries.

        Args:
            dataset: a Dataset of dicts, of batches or of single rows; or a dict of columns.

        Raises:
            ValueError: neither.
        """
        if isinstance(dataset, dict):
            dataset = Dataset.from_tensor_slices(dataset)
        if not isinstance(dataset, Dataset):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                "FeatureSpace.adapt: `adapt()` can only be called on a tf.data.Dataset or a dict "
                f"of arrays/lists, got {type(dataset).__name__}"
            )
        for name in self._to_adapt():
            self.preprocessors[name].adapt(_column(dataset, name))
        self._is_adapted = True
        self.get_encoded_features()
        self.built = True

    def _to_adapt(self) -> list[str]:
        """The features whose layers must be adapted."""
        return [name for name in self.features if _is_open(self.preprocessors[name])]

    def get_inputs(self) -> dict[str, KerasTensor]:
        """Name -> the input of a functional model, [?, 1]."""
        self.get_encoded_features()
        return self.inputs

    def get_encoded_features(self) -> Any:
        """The encoded inputs: a KerasTensor, [?, n], or a dict of them.

        Raises:
            ValueError: the space is not adapted.
        """
        if not self._is_adapted and self._to_adapt():
            raise ValueError(
                f"{self._described()}: You need to call `.adapt(dataset)` on the FeatureSpace "
                "before you can start using it."
            )
        self._is_adapted = True
        if self.encoded_features is None:
            self.encoded_features = self._encoded(self.inputs)
        return self.encoded_features

    # Calling.

    def __call__(self, data: Any) -> Any:
        """The encoded features: a tensor, [b, n], or a dict of them, by `output_mode`.

        Args:
            data: name -> values: tensors, arrays or lists, [b] or [b, 1]; or scalars, one row.

        Raises:
            ValueError: the space is not adapted; the argument is no dict, or has other names.
        """
        self.get_encoded_features()
        if not isinstance(data, dict):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{self._described()}: A FeatureSpace can only be called with a dict, got "
                f"{type(data).__name__}"
            )
        if data.keys() != self.features.keys():
            raise ValueError(
                f"{self._described()}: data must have the features {', '.join(self.features)}, got "
                f"{', '.join(map(str, data))}"
            )
        if is_symbolic(*data.values()):
            return self._encoded(data)
        given = {name: _as_tensor(x) for name, x in data.items()}
        is_row = any(not len(x.shape) for x in given.values())
        found = self._encoded({name: _as_batch(x) for name, x in given.items()})
        if not is_row:
            return found
        if self.output_mode == "concat":
            return reshaping.squeeze(found, [0])
        return {name: _as_row(x) for name, x in found.items()}

    def _encoded(self, data: Mapping[str, Any]) -> Any:
        single = {name: self.preprocessors[name](x) for name, x in data.items()}
        crossed = {
            name: self.crossers[name]([single[key] for key in cross.feature_names])
            for name, cross in self.crosses_by_name.items()
        }
        found: dict[str, Any] = {}
        for specs, values in ((self.features, single), (self.crosses_by_name, crossed)):
            for name in sorted(values):
                found[name] = self._finished(name, specs[name].output_mode, values[name])
        return found if self.concat is None else self.concat(list(found.values()))

    def _finished(self, name: str, mode: str, x: Any) -> Any:
        """The encoded feature; categories become one-hot rows if `mode` is one_hot."""
        if mode == "one_hot":
            if name not in self.one_hot_encoders:
                self.one_hot_encoders[name] = self._encoder(name, x)
            x = self.one_hot_encoders[name](x)
        if self.concat is not None and not (x.dtype.is_floating or x.dtype.is_bool):
            raise ValueError(
                f"{self._described()}: Cannot concatenate features because feature {name!r} has "
                f"not been encoded (it has dtype {x.dtype.name}). Consider using "
                "`output_mode='dict'`."
            )
        return x

    def _encoder(self, name: str, x: Any) -> CategoryEncoding:
        if not x.dtype.is_integer:
            raise ValueError(
                f"{self._described()}: Feature {name!r} has `output_mode='one_hot'`. Thus its "
                "preprocessor should return an integer dtype. Instead it returns a "
                f"{x.dtype.name} dtype."
            )
        count = _categories(self.preprocessors.get(name) or self.crossers[name])
        if count is None:
            raise ValueError(
                f"{self._described()}: Feature {name!r} has `output_mode='one_hot'`. However it "
                "isn't a standard feature and the dimensionality of its output space is not "
                "known, thus it cannot be one-hot encoded. Try using `output_mode='int'`."
            )
        return CategoryEncoding(num_tokens=count, output_mode="multi_hot")

    # Saving.

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("output_mode", "crossing_dim", "hashing_dim", "num_discretization_bins")
        return {
            "features": registry.serialize_keras_object(self.features),
            "crosses": registry.serialize_keras_object(self.crosses),
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The one with that configuration."""
        return cls(**config)

    def get_build_config(self) -> dict[str, Any]:
        """Name -> the shapes that the feature's layer was built for."""
        return {name: layer.get_build_config() for name, layer in self.preprocessors.items()}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build the features' layers, whose fitted state is in the file.

        Args:
            config: the result of `get_build_config`.
        """
        for name, told in config.items():
            layer = self.preprocessors[name]
            if told and not layer.built:
                layer.build_from_config(told)
        self._is_adapted = self.built = True

    def save(self, filepath: Any) -> None:
        """Write it to a `.keras` file, which `keras.models.load_model` reads.

        Args:
            filepath: path of the file.
        """
        from pinnace.keras.saving import keras_files  # late: it imports the files of models

        keras_files.write(self, str(filepath), False)


def _is_open(layer: Any) -> bool:
    """Whether a layer must be adapted: its state was not given."""
    if isinstance(layer, Normalization):
        return layer.input_mean is None
    if isinstance(layer, TextVectorization):
        return not layer._lookup_layer._given
    if isinstance(layer, IndexLookup):
        return not layer._given
    if isinstance(layer, Discretization):
        return layer.num_bins is not None
    return hasattr(layer, "adapt")


def _column(dataset: Any, name: str) -> Any:
    """The batches of one feature of a Dataset, [b, 1] or with more axes."""
    column = dataset.map(lambda row: row[name])
    rank = len(column.element_spec.shape)
    if rank == 0:
        column = column.batch(32)
    return column.map(lambda x: reshaping.expand_dims(x, -1)) if rank < 2 else column


def _categories(layer: Any) -> int | None:
    """The number of categories of a layer; None if it is unknown."""
    if isinstance(layer, IndexLookup):
        return layer.vocabulary_size()
    if isinstance(layer, CategoryEncoding):
        return layer.num_tokens
    if isinstance(layer, Discretization):
        boundaries = layer.bin_boundaries
        return layer.num_bins or (None if boundaries is None else len(boundaries) + 1)
    if isinstance(layer, (HashedCrossing, Hashing)):
        return layer.num_bins
    return None


def _as_tensor(x: Any) -> Any:
    return x if is_composite(x) else convert_to_tensor(x)


def _as_batch(x: Any) -> Any:
    if len(x.shape) == 0:
        return reshaping.reshape(x, [1, 1])
    return reshaping.expand_dims(x, -1) if len(x.shape) == 1 else x


def _as_row(x: Any) -> Any:
    return reshaping.squeeze(x, [0]) if len(x.shape) == 2 and x.shape[0] == 1 else x
