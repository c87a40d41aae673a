"""A model on Spark columns, on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from support.scoring import rows_of

pytestmark = pytest.mark.engines
sql = pytest.importorskip("pyspark.sql")
X = rows_of(500)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    builder = sql.SparkSession.builder.master("local[2]").appName("pinnace")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    found = builder.getOrCreate()
    yield found
    found.stop()


def test_every_row_gets_its_outputs(session: Any, rowwise: Path) -> None:
    from pinnace.integrations.spark import model_udf

    rows = [(n, x.tolist()) for n, x in enumerate(X)]
    table = session.createDataFrame(rows, "id long, x array<float>").repartition(4)
    run = model_udf(str(rowwise), batch_size=64)
    found = table.select("id", run("x").alias("y")).select("id", "y.doubled", "y.total").collect()
    found.sort(key=lambda row: row.id)
    assert [row.id for row in found] == list(range(500))
    np.testing.assert_array_equal([row.doubled for row in found], X * 2)
    np.testing.assert_array_equal([row.total for row in found], X.sum(1))


def test_scalar_columns_are_inputs_of_rank_1(session: Any, tmp_path: Path) -> None:
    from pinnace.integrations.spark import model_udf

    column = tf.TensorSpec([None], tf.float32)

    class Sum(tf.Module):
        @tf.function(input_signature=[column, column])
        def serve(self, a: tf.Tensor, b: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"difference": a - b}

    module = Sum()
    tf.saved_model.save(module, tmp_path / "model", signatures=module.serve)
    table = session.createDataFrame([(3.0, 1.0), (5.0, 7.0)], "a float, b float")
    found = table.select(model_udf(str(tmp_path / "model"))("a", "b").alias("y")).collect()
    assert sorted(row.y.difference for row in found) == [-2.0, 2.0]


def test_inputs_of_unknown_size_are_refused(tmp_path: Path) -> None:
    from pinnace.integrations.spark import model_udf
    from support.scoring import save_rank

    model = save_rank(tmp_path / "model")
    with pytest.raises(ValueError, match="rows of one shape, and input 'ids' is"):
        model_udf(str(model))
