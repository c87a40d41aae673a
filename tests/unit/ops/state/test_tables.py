"""Table ops: against a dictionary, refusals, and files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.asset_path import Asset, AssetPath
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
)
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.ops.execute import execute
from pinnace.ops.state import tables

KEYS: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.integers(-3, 3),
    "int64": st.integers(-3, 3),
    "string": st.sampled_from([b"", b"a", b"b", b"\xff"]),
    "float32": st.sampled_from([-1.5, 0.0, 0.25]),
}


def mutable(keys: str = "int64", values: str = "int64") -> Tensor:
    made: Tensor = execute(
        tables.MUTABLE_HASH_TABLE,
        key_dtype=dtypes.as_dtype(keys),
        value_dtype=dtypes.as_dtype(values),
    )
    return made


def static(keys: str = "string", values: str = "int64") -> Tensor:
    made: Tensor = execute(
        tables.HASH_TABLE, key_dtype=dtypes.as_dtype(keys), value_dtype=dtypes.as_dtype(values)
    )
    return made


def tensor(items: list[Any], dtype: str) -> Tensor:
    if dtype == "string":
        array = np.empty(len(items), object)
        array[:] = items
        return convert_to_tensor(array)
    return convert_to_tensor(np.array(items, dtypes.as_dtype(dtype).numpy))


def find(table: Tensor, keys: Tensor, default: Any) -> list[Any]:
    found: list[Any] = execute(tables.LOOKUP_TABLE_FIND, table, keys, default).numpy().tolist()
    return found


def from_file(table: Tensor, path: Any, key: int = -2, value: int = -1, **attrs: Any) -> None:
    execute(
        tables.INITIALIZE_TABLE_FROM_TEXT_FILE,
        table,
        Asset(path).asset_path,
        key_index=key,
        value_index=value,
        **attrs,
    )


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_a_mutable_table_is_a_dictionary(kind: str, data: st.DataObject) -> None:
    keys = st.lists(KEYS[kind], max_size=4)
    table, model = mutable(kind), dict[Any, int]()
    for what in data.draw(st.lists(st.sampled_from(["insert", "remove", "import"]), max_size=5)):
        names = data.draw(keys)
        values = data.draw(st.lists(st.integers(0, 9), min_size=len(names), max_size=len(names)))
        if what == "remove":
            execute(tables.LOOKUP_TABLE_REMOVE, table, tensor(names, kind))
            for name in names:
                model.pop(name, None)
            continue
        op = tables.LOOKUP_TABLE_INSERT
        if what == "import":
            op = tables.LOOKUP_TABLE_IMPORT
            model.clear()
        execute(op, table, tensor(names, kind), tensor(values, "int64"))
        model.update(zip(names, values, strict=True))
    wanted = data.draw(keys)
    assert find(table, tensor(wanted, kind), np.int64(-1)) == [model.get(k, -1) for k in wanted]
    assert execute(tables.LOOKUP_TABLE_SIZE, table).numpy() == len(model)
    held, values = execute(
        tables.LOOKUP_TABLE_EXPORT, table, Tkeys=dtypes.as_dtype(kind), Tvalues=dtypes.int64
    )
    exported = zip(held.numpy().tolist(), values.numpy().tolist(), strict=True)
    assert dict(exported) == model


def test_keys_of_any_shape_give_values_of_that_shape() -> None:
    table = mutable()
    execute(tables.LOOKUP_TABLE_INSERT, table, tensor([1, 2], "int64"), tensor([3, 4], "int64"))
    keys = convert_to_tensor(np.array([[1, 2, 3]], np.int64))
    assert find(table, keys, np.int64(-1)) == [[3, 4, -1]]
    assert execute(tables.LOOKUP_TABLE_FIND, table, np.int64(2), np.int64(-1)).numpy() == 4
    each = convert_to_tensor(np.array([[7, 8, 9]], np.int64))
    assert find(table, keys, each) == [[3, 4, 9]]


def test_a_static_table_is_filled_once() -> None:
    table, keys = static(), tensor([b"a", b"b"], "string")
    with pytest.raises(FailedPreconditionError, match="not initialised"):
        find(table, keys, np.int64(-1))
    fill = tables.INITIALIZE_TABLE
    execute(fill, table, keys, tensor([1, 2], "int64"))
    execute(fill, table, keys, tensor([1, 2], "int64"))
    with pytest.raises(FailedPreconditionError, match="initialised already, with other entries"):
        execute(fill, table, keys, tensor([1, 3], "int64"))
    assert find(table, keys, np.int64(-1)) == [1, 2]
    for op in (tables.LOOKUP_TABLE_INSERT,):
        with pytest.raises(UnimplementedError, match="is static"):
            execute(op, table, keys, tensor([1, 2], "int64"))
    with pytest.raises(UnimplementedError, match="is static"):
        execute(tables.LOOKUP_TABLE_REMOVE, table, keys)


def test_a_key_may_come_twice_with_one_value() -> None:
    table = static()
    twice = tensor([b"a", b"a"], "string")
    with pytest.raises(FailedPreconditionError, match="key b'a' has two values, 1 and 2"):
        execute(tables.INITIALIZE_TABLE, table, twice, tensor([1, 2], "int64"))
    execute(tables.INITIALIZE_TABLE, table, twice, tensor([1, 1], "int64"))
    assert execute(tables.LOOKUP_TABLE_SIZE, table).numpy() == 1


def test_types_and_shapes_that_are_not_the_tables_are_refused() -> None:
    table = mutable("string")
    with pytest.raises(InvalidArgumentError, match="keys must be string, got int64"):
        find(table, tensor([1], "int64"), np.int64(-1))
    with pytest.raises(InvalidArgumentError, match="values must be int64, got float32"):
        find(table, tensor([b"a"], "string"), np.float32(-1))
    with pytest.raises(InvalidArgumentError, match=r"values must have shape \[1\]"):
        execute(
            tables.LOOKUP_TABLE_INSERT, table, tensor([b"a"], "string"), tensor([1, 2], "int64")
        )
    with pytest.raises(InvalidArgumentError, match=r"default_value must have the shape of a value"):
        find(table, tensor([b"a"], "string"), tensor([1, 2], "int64"))
    with pytest.raises(InvalidArgumentError, match="the handle of a table"):
        execute(tables.LOOKUP_TABLE_SIZE, Variable(1.0).handle)


def test_a_dense_table_refuses_its_two_keys() -> None:
    def dense(empty: int, deleted: int) -> Tensor:
        made: Tensor = execute(
            tables.MUTABLE_DENSE_HASH_TABLE,
            np.int64(empty),
            np.int64(deleted),
            value_dtype=dtypes.int64,
        )
        return made

    table = dense(0, -1)
    for key, name in ((0, "empty_key"), (-1, "deleted_key")):
        with pytest.raises(InvalidArgumentError, match=f"{key} is the {name}"):
            execute(tables.LOOKUP_TABLE_INSERT, table, tensor([key], "int64"), tensor([1], "int64"))
    # TensorFlow's checkpoints contain the keys of empty slots.
    execute(tables.LOOKUP_TABLE_IMPORT, table, tensor([0, 5], "int64"), tensor([1, 2], "int64"))
    assert find(table, tensor([5, 6], "int64"), np.int64(-1)) == [2, -1]
    assert execute(tables.LOOKUP_TABLE_SIZE, table).numpy() == 1
    with pytest.raises(InvalidArgumentError, match="must differ"):
        dense(1, 1)


def test_effects_in_a_function_happen_in_order() -> None:
    table = mutable()

    @function
    def step(key: Tensor) -> tuple[Tensor, ...]:
        size = [execute(tables.LOOKUP_TABLE_SIZE, table)]
        execute(tables.LOOKUP_TABLE_INSERT, table, key, key * np.int64(2))
        size.append(execute(tables.LOOKUP_TABLE_SIZE, table))
        found = execute(tables.LOOKUP_TABLE_FIND, table, key, np.int64(-1))
        execute(tables.LOOKUP_TABLE_REMOVE, table, key)
        return (*size, found, execute(tables.LOOKUP_TABLE_FIND, table, key, np.int64(-1)))

    key = tensor([4], "int64")
    found = [x.numpy().tolist() for x in step(key)]
    assert found == [0, 1, [8], [-1]]


def test_shapes_are_known_while_tracing() -> None:
    table = mutable()
    shapes: list[Any] = []

    @function
    def traced(keys: Tensor) -> Tensor:
        found: Tensor = execute(tables.LOOKUP_TABLE_FIND, table, keys, np.int64(-1))
        shapes.append(found.shape.as_list())
        return found

    traced(convert_to_tensor(np.zeros((2, 3), np.int64)))
    assert shapes == [[2, 3]]


def test_a_shared_name_is_one_table_in_a_run() -> None:
    def made(name: str) -> Tensor:
        found: Tensor = execute(
            tables.MUTABLE_HASH_TABLE,
            key_dtype=dtypes.int64,
            value_dtype=dtypes.int64,
            shared_name=name,
        )
        return found

    @function
    def run() -> tuple[Tensor, Tensor]:
        key = np.array([1], np.int64)
        execute(tables.LOOKUP_TABLE_INSERT, made("x"), key, key)
        return tuple(execute(tables.LOOKUP_TABLE_SIZE, made(n)) for n in ("x", "y"))  # type: ignore[return-value]

    assert run()[1].numpy() == 0
    # Resources created eagerly are not shared by name, since they would never be released.
    assert made("x")._array[()] is not made("x")._array[()]


# Files.


def test_lines_are_keys_and_their_numbers_values(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"the\r\ncat\ncaf\xc3\xa9")
    table = static()
    from_file(table, path, offset=5)
    assert find(table, tensor([b"caf\xc3\xa9", b"the", b"x"], "string"), np.int64(-1)) == [7, 5, -1]
    shorter = static()
    from_file(shorter, path, vocab_size=2)
    assert execute(tables.LOOKUP_TABLE_SIZE, shorter).numpy() == 2


def test_columns_are_keys_and_values(tmp_path: Path) -> None:
    path = tmp_path / "columns.csv"
    path.write_text("a,1,0.5\nb,-2,1e3\n")
    table = static("int64", "float64")
    from_file(table, path, 1, 2, delimiter=",")
    assert find(table, tensor([1, -2], "int64"), np.float64(0)) == [0.5, 1000.0]
    words = static("string", "string")
    from_file(words, path, 0, -2, delimiter=",")
    assert find(words, tensor([b"b"], "string"), b"") == [b"b,-2,1e3"]


@pytest.mark.parametrize(
    ("text", "attrs", "words"),
    [
        ("a\tb\na\n", {"key": 0, "value": 1}, "line 1 of .* must have 2 columns, got 1: b'a'"),
        ("a\nb\n", {"key": -1, "value": 0}, "b'a' in line 0 of .* is not a valid int64"),
        ("a\n", {"vocab_size": 2}, "from 1 to the number of lines in .*, 1, got 2"),
        ("a\n", {"delimiter": ""}, "delimiter must be one byte"),
        ("a\n", {"key": -3}, "key_index must be at least -2"),
        ("a\na\n", {}, "key b'a' has two values, 0 and 1"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, text: str, attrs: dict[str, Any], words: str
) -> None:
    path = tmp_path / "words.txt"
    path.write_text(text)
    table = static("int64" if attrs.get("key") == -1 else "string")
    with pytest.raises((InvalidArgumentError, FailedPreconditionError), match=words):
        from_file(table, path, **attrs)


def test_a_path_that_nobody_vouches_for_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("secret\n")
    for name in (str(path), tensor([bytes(AssetPath(str(path).encode()))], "string")[0]):
        with pytest.raises(PermissionDeniedError, match="only files that the program names"):
            execute(
                tables.INITIALIZE_TABLE_FROM_TEXT_FILE, static(), name, key_index=-2, value_index=-1
            )
    with pytest.raises(NotFoundError):
        from_file(static(), tmp_path / "missing.txt")
