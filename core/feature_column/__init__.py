"""Feature columns: `tf.feature_column`.

A column reads features by their keys (`transform_feature`), through a cache that all columns of a
batch share. Its variables and tables are stored in a state manager: `DenseFeatures` and
`SequenceFeatures` in `keras/layers/feature_columns.py` are layers around one.
"""

from pinnace.feature_column.categorical import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
)
from pinnace.feature_column.categorical import (
    categorical_column_with_identity as categorical_column_with_identity,
)
from pinnace.feature_column.categorical import crossed_column as crossed_column
from pinnace.feature_column.categorical import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
)
from pinnace.feature_column.categorical import (
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
)
from pinnace.feature_column.categorical import (
    weighted_categorical_column as weighted_categorical_column,
)
from pinnace.feature_column.embeddings import embedding_column as embedding_column
from pinnace.feature_column.embeddings import indicator_column as indicator_column
from pinnace.feature_column.embeddings import shared_embeddings as shared_embeddings
from pinnace.feature_column.numeric import bucketized_column as bucketized_column
from pinnace.feature_column.numeric import numeric_column as numeric_column
from pinnace.feature_column.numeric import sequence_numeric_column as sequence_numeric_column
from pinnace.feature_column.parse_spec import make_parse_example_spec as make_parse_example_spec
from pinnace.feature_column.vocabulary import (
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
)
from pinnace.feature_column.vocabulary import (
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)
from pinnace.feature_column.vocabulary import (
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,  # noqa: E501 (one name)
)
from pinnace.feature_column.vocabulary import (
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,  # noqa: E501 (one name)
)
