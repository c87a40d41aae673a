"""Error classes: their codes, the built-ins that they refine, TensorFlow's two constructors."""

import copy
import pickle

import pytest

from pinnace.framework import errors
from pinnace.framework.errors import InvalidArgumentError, OpError

EVERY_CLASS = pytest.mark.parametrize(
    "cls", errors.CODE_TO_EXCEPTION.values(), ids=lambda cls: cls.__name__
)


@EVERY_CLASS
def test_a_message_alone_and_tensorflows_form_say_the_same(cls: type[OpError]) -> None:
    for error in (
        cls("why"),
        cls(None, None, "why"),
        cls(message="why"),
        cls(None, None, message="why"),
    ):
        assert (str(error), error.message, error.node_def, error.op) == ("why", "why", None, None)


@EVERY_CLASS
def test_the_code_leads_back_to_the_class(cls: type[OpError]) -> None:
    assert errors.exception_type_from_error_code(cls.error_code) is cls
    assert errors.error_code_from_exception_type(cls) == cls.error_code


@EVERY_CLASS
def test_an_error_survives_pickling_and_copying(cls: type[OpError]) -> None:
    error = cls("node", "op", "why")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 (our own bytes)
        assert type(other) is cls
        assert (str(other), other.node_def, other.op) == ("why", "node", "op")
        assert other.error_code == error.error_code


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (errors.InvalidArgumentError, ValueError),
        (errors.DeadlineExceededError, TimeoutError),
        (errors.NotFoundError, LookupError),
        (errors.PermissionDeniedError, PermissionError),
        (errors.ResourceExhaustedError, MemoryError),
        (errors.FailedPreconditionError, RuntimeError),
        (errors.OutOfRangeError, IndexError),
        (errors.UnimplementedError, NotImplementedError),
        (errors.InaccessibleTensorError, ValueError),
        (errors.OperatorNotAllowedInGraphError, TypeError),
    ],
)
def test_a_class_refines_its_built_in(cls: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(cls, builtin)


def test_the_codes_are_those_of_grpc() -> None:
    grpc = pytest.importorskip("grpc")
    assert {status.value[0]: status.name for status in grpc.StatusCode} == errors.CODE_NAMES


def test_every_class_stands_in_the_tree() -> None:
    tree = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert name in tree


def test_a_foreign_exception_has_the_code_unknown() -> None:
    assert errors.error_code_from_exception_type(KeyError) == errors.UNKNOWN


def test_the_base_class_takes_the_code_last() -> None:
    assert OpError(None, None, "why", errors.ABORTED).error_code == errors.ABORTED
    assert OpError("why", error_code=errors.INTERNAL).error_code == errors.INTERNAL


def test_a_message_that_is_no_text_becomes_one() -> None:
    assert InvalidArgumentError(ValueError("inner")).message == "inner"
