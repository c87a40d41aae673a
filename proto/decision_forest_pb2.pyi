from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ForestModel(_message.Message):
    __slots__ = ("name", "task", "label_col_idx", "input_features", "precomputed_variable_importances", "classification_outputs_probabilities", "uplift_treatment_col_idx")
    class Task(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNDEFINED: _ClassVar[ForestModel.Task]
        CLASSIFICATION: _ClassVar[ForestModel.Task]
        REGRESSION: _ClassVar[ForestModel.Task]
        RANKING: _ClassVar[ForestModel.Task]
        CATEGORICAL_UPLIFT: _ClassVar[ForestModel.Task]
        NUMERICAL_UPLIFT: _ClassVar[ForestModel.Task]
        ANOMALY_DETECTION: _ClassVar[ForestModel.Task]
        SURVIVAL_ANALYSIS: _ClassVar[ForestModel.Task]
    UNDEFINED: ForestModel.Task
    CLASSIFICATION: ForestModel.Task
    REGRESSION: ForestModel.Task
    RANKING: ForestModel.Task
    CATEGORICAL_UPLIFT: ForestModel.Task
    NUMERICAL_UPLIFT: ForestModel.Task
    ANOMALY_DETECTION: ForestModel.Task
    SURVIVAL_ANALYSIS: ForestModel.Task
    class PrecomputedVariableImportancesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Importances
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Importances, _Mapping[str, object]]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    LABEL_COL_IDX_FIELD_NUMBER: _ClassVar[int]
    INPUT_FEATURES_FIELD_NUMBER: _ClassVar[int]
    PRECOMPUTED_VARIABLE_IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    CLASSIFICATION_OUTPUTS_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    UPLIFT_TREATMENT_COL_IDX_FIELD_NUMBER: _ClassVar[int]
    name: str
    task: ForestModel.Task
    label_col_idx: int
    input_features: _containers.RepeatedScalarFieldContainer[int]
    precomputed_variable_importances: _containers.MessageMap[str, Importances]
    classification_outputs_probabilities: bool
    uplift_treatment_col_idx: int
    def __init__(self, name: _Optional[str] = ..., task: _Optional[_Union[ForestModel.Task, str]] = ..., label_col_idx: _Optional[int] = ..., input_features: _Optional[_Iterable[int]] = ..., precomputed_variable_importances: _Optional[_Mapping[str, Importances]] = ..., classification_outputs_probabilities: bool = ..., uplift_treatment_col_idx: _Optional[int] = ...) -> None: ...

class Importances(_message.Message):
    __slots__ = ("variable_importances",)
    class Importance(_message.Message):
        __slots__ = ("attribute_idx", "importance")
        ATTRIBUTE_IDX_FIELD_NUMBER: _ClassVar[int]
        IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
        attribute_idx: int
        importance: float
        def __init__(self, attribute_idx: _Optional[int] = ..., importance: _Optional[float] = ...) -> None: ...
    VARIABLE_IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    variable_importances: _containers.RepeatedCompositeFieldContainer[Importances.Importance]
    def __init__(self, variable_importances: _Optional[_Iterable[_Union[Importances.Importance, _Mapping[str, object]]]] = ...) -> None: ...

class RandomForestHeader(_message.Message):
    __slots__ = ("num_node_shards", "num_trees", "winner_take_all_inference", "node_format")
    NUM_NODE_SHARDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_FIELD_NUMBER: _ClassVar[int]
    WINNER_TAKE_ALL_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    NODE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    num_node_shards: int
    num_trees: int
    winner_take_all_inference: bool
    node_format: str
    def __init__(self, num_node_shards: _Optional[int] = ..., num_trees: _Optional[int] = ..., winner_take_all_inference: bool = ..., node_format: _Optional[str] = ...) -> None: ...

class GradientBoostedTreesHeader(_message.Message):
    __slots__ = ("num_node_shards", "num_trees", "loss", "initial_predictions", "num_trees_per_iter", "node_format", "output_logits")
    class Loss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DEFAULT: _ClassVar[GradientBoostedTreesHeader.Loss]
        BINOMIAL_LOG_LIKELIHOOD: _ClassVar[GradientBoostedTreesHeader.Loss]
        SQUARED_ERROR: _ClassVar[GradientBoostedTreesHeader.Loss]
        MULTINOMIAL_LOG_LIKELIHOOD: _ClassVar[GradientBoostedTreesHeader.Loss]
        LAMBDA_MART_NDCG5: _ClassVar[GradientBoostedTreesHeader.Loss]
        XE_NDCG_MART: _ClassVar[GradientBoostedTreesHeader.Loss]
        BINARY_FOCAL_LOSS: _ClassVar[GradientBoostedTreesHeader.Loss]
        POISSON: _ClassVar[GradientBoostedTreesHeader.Loss]
        MEAN_AVERAGE_ERROR: _ClassVar[GradientBoostedTreesHeader.Loss]
        LAMBDA_MART_NDCG: _ClassVar[GradientBoostedTreesHeader.Loss]
        COX_PROPORTIONAL_HAZARD: _ClassVar[GradientBoostedTreesHeader.Loss]
    DEFAULT: GradientBoostedTreesHeader.Loss
    BINOMIAL_LOG_LIKELIHOOD: GradientBoostedTreesHeader.Loss
    SQUARED_ERROR: GradientBoostedTreesHeader.Loss
    MULTINOMIAL_LOG_LIKELIHOOD: GradientBoostedTreesHeader.Loss
    LAMBDA_MART_NDCG5: GradientBoostedTreesHeader.Loss
    XE_NDCG_MART: GradientBoostedTreesHeader.Loss
    BINARY_FOCAL_LOSS: GradientBoostedTreesHeader.Loss
    POISSON: GradientBoostedTreesHeader.Loss
    MEAN_AVERAGE_ERROR: GradientBoostedTreesHeader.Loss
    LAMBDA_MART_NDCG: GradientBoostedTreesHeader.Loss
    COX_PROPORTIONAL_HAZARD: GradientBoostedTreesHeader.Loss
    NUM_NODE_SHARDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    INITIAL_PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_PER_ITER_FIELD_NUMBER: _ClassVar[int]
    NODE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_LOGITS_FIELD_NUMBER: _ClassVar[int]
    num_node_shards: int
    num_trees: int
    loss: GradientBoostedTreesHeader.Loss
    initial_predictions: _containers.RepeatedScalarFieldContainer[float]
    num_trees_per_iter: int
    node_format: str
    output_logits: bool
    def __init__(self, num_node_shards: _Optional[int] = ..., num_trees: _Optional[int] = ..., loss: _Optional[_Union[GradientBoostedTreesHeader.Loss, str]] = ..., initial_predictions: _Optional[_Iterable[float]] = ..., num_trees_per_iter: _Optional[int] = ..., node_format: _Optional[str] = ..., output_logits: bool = ...) -> None: ...

class IsolationForestHeader(_message.Message):
    __slots__ = ("num_node_shards", "num_trees", "node_format", "num_examples_per_trees")
    NUM_NODE_SHARDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_FIELD_NUMBER: _ClassVar[int]
    NODE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    NUM_EXAMPLES_PER_TREES_FIELD_NUMBER: _ClassVar[int]
    num_node_shards: int
    num_trees: int
    node_format: str
    num_examples_per_trees: int
    def __init__(self, num_node_shards: _Optional[int] = ..., num_trees: _Optional[int] = ..., node_format: _Optional[str] = ..., num_examples_per_trees: _Optional[int] = ...) -> None: ...

class DataSpecification(_message.Message):
    __slots__ = ("columns", "unstackeds")
    class Unstacked(_message.Message):
        __slots__ = ("original_name", "begin_column_idx", "size")
        ORIGINAL_NAME_FIELD_NUMBER: _ClassVar[int]
        BEGIN_COLUMN_IDX_FIELD_NUMBER: _ClassVar[int]
        SIZE_FIELD_NUMBER: _ClassVar[int]
        original_name: bytes
        begin_column_idx: int
        size: int
        def __init__(self, original_name: _Optional[bytes] = ..., begin_column_idx: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    UNSTACKEDS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[DataColumn]
    unstackeds: _containers.RepeatedCompositeFieldContainer[DataSpecification.Unstacked]
    def __init__(self, columns: _Optional[_Iterable[_Union[DataColumn, _Mapping[str, object]]]] = ..., unstackeds: _Optional[_Iterable[_Union[DataSpecification.Unstacked, _Mapping[str, object]]]] = ...) -> None: ...

class DataColumn(_message.Message):
    __slots__ = ("type", "name", "categorical", "discretized_numerical", "dtype")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[DataColumn.Type]
        NUMERICAL: _ClassVar[DataColumn.Type]
        NUMERICAL_SET: _ClassVar[DataColumn.Type]
        NUMERICAL_LIST: _ClassVar[DataColumn.Type]
        CATEGORICAL: _ClassVar[DataColumn.Type]
        CATEGORICAL_SET: _ClassVar[DataColumn.Type]
        CATEGORICAL_LIST: _ClassVar[DataColumn.Type]
        BOOLEAN: _ClassVar[DataColumn.Type]
        STRING: _ClassVar[DataColumn.Type]
        DISCRETIZED_NUMERICAL: _ClassVar[DataColumn.Type]
        HASH: _ClassVar[DataColumn.Type]
        NUMERICAL_VECTOR_SEQUENCE: _ClassVar[DataColumn.Type]
    UNKNOWN: DataColumn.Type
    NUMERICAL: DataColumn.Type
    NUMERICAL_SET: DataColumn.Type
    NUMERICAL_LIST: DataColumn.Type
    CATEGORICAL: DataColumn.Type
    CATEGORICAL_SET: DataColumn.Type
    CATEGORICAL_LIST: DataColumn.Type
    BOOLEAN: DataColumn.Type
    STRING: DataColumn.Type
    DISCRETIZED_NUMERICAL: DataColumn.Type
    HASH: DataColumn.Type
    NUMERICAL_VECTOR_SEQUENCE: DataColumn.Type
    class Categorical(_message.Message):
        __slots__ = ("number_of_unique_values", "is_already_integerized", "items")
        class Value(_message.Message):
            __slots__ = ("index",)
            INDEX_FIELD_NUMBER: _ClassVar[int]
            index: int
            def __init__(self, index: _Optional[int] = ...) -> None: ...
        class Item(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: bytes
            value: DataColumn.Categorical.Value
            def __init__(self, key: _Optional[bytes] = ..., value: _Optional[_Union[DataColumn.Categorical.Value, _Mapping[str, object]]] = ...) -> None: ...
        NUMBER_OF_UNIQUE_VALUES_FIELD_NUMBER: _ClassVar[int]
        IS_ALREADY_INTEGERIZED_FIELD_NUMBER: _ClassVar[int]
        ITEMS_FIELD_NUMBER: _ClassVar[int]
        number_of_unique_values: int
        is_already_integerized: bool
        items: _containers.RepeatedCompositeFieldContainer[DataColumn.Categorical.Item]
        def __init__(self, number_of_unique_values: _Optional[int] = ..., is_already_integerized: bool = ..., items: _Optional[_Iterable[_Union[DataColumn.Categorical.Item, _Mapping[str, object]]]] = ...) -> None: ...
    class DiscretizedNumerical(_message.Message):
        __slots__ = ("boundaries",)
        BOUNDARIES_FIELD_NUMBER: _ClassVar[int]
        boundaries: _containers.RepeatedScalarFieldContainer[float]
        def __init__(self, boundaries: _Optional[_Iterable[float]] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CATEGORICAL_FIELD_NUMBER: _ClassVar[int]
    DISCRETIZED_NUMERICAL_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    type: DataColumn.Type
    name: bytes
    categorical: DataColumn.Categorical
    discretized_numerical: DataColumn.DiscretizedNumerical
    dtype: int
    def __init__(self, type: _Optional[_Union[DataColumn.Type, str]] = ..., name: _Optional[bytes] = ..., categorical: _Optional[_Union[DataColumn.Categorical, _Mapping[str, object]]] = ..., discretized_numerical: _Optional[_Union[DataColumn.DiscretizedNumerical, _Mapping[str, object]]] = ..., dtype: _Optional[int] = ...) -> None: ...

class ForestNode(_message.Message):
    __slots__ = ("classifier", "regressor", "uplift", "anomaly_detection", "condition")
    class Distribution(_message.Message):
        __slots__ = ("counts", "sum")
        COUNTS_FIELD_NUMBER: _ClassVar[int]
        SUM_FIELD_NUMBER: _ClassVar[int]
        counts: _containers.RepeatedScalarFieldContainer[float]
        sum: float
        def __init__(self, counts: _Optional[_Iterable[float]] = ..., sum: _Optional[float] = ...) -> None: ...
    class Classifier(_message.Message):
        __slots__ = ("top_value", "distribution")
        TOP_VALUE_FIELD_NUMBER: _ClassVar[int]
        DISTRIBUTION_FIELD_NUMBER: _ClassVar[int]
        top_value: int
        distribution: ForestNode.Distribution
        def __init__(self, top_value: _Optional[int] = ..., distribution: _Optional[_Union[ForestNode.Distribution, _Mapping[str, object]]] = ...) -> None: ...
    class Regressor(_message.Message):
        __slots__ = ("top_value",)
        TOP_VALUE_FIELD_NUMBER: _ClassVar[int]
        top_value: float
        def __init__(self, top_value: _Optional[float] = ...) -> None: ...
    class Uplift(_message.Message):
        __slots__ = ("treatment_effect",)
        TREATMENT_EFFECT_FIELD_NUMBER: _ClassVar[int]
        treatment_effect: _containers.RepeatedScalarFieldContainer[float]
        def __init__(self, treatment_effect: _Optional[_Iterable[float]] = ...) -> None: ...
    class AnomalyDetection(_message.Message):
        __slots__ = ("num_examples_without_weight",)
        NUM_EXAMPLES_WITHOUT_WEIGHT_FIELD_NUMBER: _ClassVar[int]
        num_examples_without_weight: int
        def __init__(self, num_examples_without_weight: _Optional[int] = ...) -> None: ...
    CLASSIFIER_FIELD_NUMBER: _ClassVar[int]
    REGRESSOR_FIELD_NUMBER: _ClassVar[int]
    UPLIFT_FIELD_NUMBER: _ClassVar[int]
    ANOMALY_DETECTION_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    classifier: ForestNode.Classifier
    regressor: ForestNode.Regressor
    uplift: ForestNode.Uplift
    anomaly_detection: ForestNode.AnomalyDetection
    condition: ForestNodeCondition
    def __init__(self, classifier: _Optional[_Union[ForestNode.Classifier, _Mapping[str, object]]] = ..., regressor: _Optional[_Union[ForestNode.Regressor, _Mapping[str, object]]] = ..., uplift: _Optional[_Union[ForestNode.Uplift, _Mapping[str, object]]] = ..., anomaly_detection: _Optional[_Union[ForestNode.AnomalyDetection, _Mapping[str, object]]] = ..., condition: _Optional[_Union[ForestNodeCondition, _Mapping[str, object]]] = ...) -> None: ...

class ForestNodeCondition(_message.Message):
    __slots__ = ("na_value", "attribute", "condition", "num_training_examples_without_weight")
    class Missing(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class TrueValue(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Higher(_message.Message):
        __slots__ = ("threshold",)
        THRESHOLD_FIELD_NUMBER: _ClassVar[int]
        threshold: float
        def __init__(self, threshold: _Optional[float] = ...) -> None: ...
    class Contains(_message.Message):
        __slots__ = ("elements",)
        ELEMENTS_FIELD_NUMBER: _ClassVar[int]
        elements: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, elements: _Optional[_Iterable[int]] = ...) -> None: ...
    class ContainsBitmap(_message.Message):
        __slots__ = ("elements_bitmap",)
        ELEMENTS_BITMAP_FIELD_NUMBER: _ClassVar[int]
        elements_bitmap: bytes
        def __init__(self, elements_bitmap: _Optional[bytes] = ...) -> None: ...
    class DiscretizedHigher(_message.Message):
        __slots__ = ("threshold",)
        THRESHOLD_FIELD_NUMBER: _ClassVar[int]
        threshold: int
        def __init__(self, threshold: _Optional[int] = ...) -> None: ...
    class Oblique(_message.Message):
        __slots__ = ("attributes", "weights", "threshold", "na_replacements")
        ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
        WEIGHTS_FIELD_NUMBER: _ClassVar[int]
        THRESHOLD_FIELD_NUMBER: _ClassVar[int]
        NA_REPLACEMENTS_FIELD_NUMBER: _ClassVar[int]
        attributes: _containers.RepeatedScalarFieldContainer[int]
        weights: _containers.RepeatedScalarFieldContainer[float]
        threshold: float
        na_replacements: _containers.RepeatedScalarFieldContainer[float]
        def __init__(self, attributes: _Optional[_Iterable[int]] = ..., weights: _Optional[_Iterable[float]] = ..., threshold: _Optional[float] = ..., na_replacements: _Optional[_Iterable[float]] = ...) -> None: ...
    class NumericalVectorSequence(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Kind(_message.Message):
        __slots__ = ("na_condition", "higher_condition", "true_value_condition", "contains_condition", "contains_bitmap_condition", "discretized_higher_condition", "oblique_condition", "numerical_vector_sequence")
        NA_CONDITION_FIELD_NUMBER: _ClassVar[int]
        HIGHER_CONDITION_FIELD_NUMBER: _ClassVar[int]
        TRUE_VALUE_CONDITION_FIELD_NUMBER: _ClassVar[int]
        CONTAINS_CONDITION_FIELD_NUMBER: _ClassVar[int]
        CONTAINS_BITMAP_CONDITION_FIELD_NUMBER: _ClassVar[int]
        DISCRETIZED_HIGHER_CONDITION_FIELD_NUMBER: _ClassVar[int]
        OBLIQUE_CONDITION_FIELD_NUMBER: _ClassVar[int]
        NUMERICAL_VECTOR_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        na_condition: ForestNodeCondition.Missing
        higher_condition: ForestNodeCondition.Higher
        true_value_condition: ForestNodeCondition.TrueValue
        contains_condition: ForestNodeCondition.Contains
        contains_bitmap_condition: ForestNodeCondition.ContainsBitmap
        discretized_higher_condition: ForestNodeCondition.DiscretizedHigher
        oblique_condition: ForestNodeCondition.Oblique
        numerical_vector_sequence: ForestNodeCondition.NumericalVectorSequence
        def __init__(self, na_condition: _Optional[_Union[ForestNodeCondition.Missing, _Mapping[str, object]]] = ..., higher_condition: _Optional[_Union[ForestNodeCondition.Higher, _Mapping[str, object]]] = ..., true_value_condition: _Optional[_Union[ForestNodeCondition.TrueValue, _Mapping[str, object]]] = ..., contains_condition: _Optional[_Union[ForestNodeCondition.Contains, _Mapping[str, object]]] = ..., contains_bitmap_condition: _Optional[_Union[ForestNodeCondition.ContainsBitmap, _Mapping[str, object]]] = ..., discretized_higher_condition: _Optional[_Union[ForestNodeCondition.DiscretizedHigher, _Mapping[str, object]]] = ..., oblique_condition: _Optional[_Union[ForestNodeCondition.Oblique, _Mapping[str, object]]] = ..., numerical_vector_sequence: _Optional[_Union[ForestNodeCondition.NumericalVectorSequence, _Mapping[str, object]]] = ...) -> None: ...
    NA_VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    NUM_TRAINING_EXAMPLES_WITHOUT_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    na_value: bool
    attribute: int
    condition: ForestNodeCondition.Kind
    num_training_examples_without_weight: int
    def __init__(self, na_value: bool = ..., attribute: _Optional[int] = ..., condition: _Optional[_Union[ForestNodeCondition.Kind, _Mapping[str, object]]] = ..., num_training_examples_without_weight: _Optional[int] = ...) -> None: ...
