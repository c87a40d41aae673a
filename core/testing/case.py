"""Test cases with assertions about tensors."""

# ruff: noqa: N802, PT009 (the names and assertions of unittest)

from __future__ import annotations

import math
import re
import shutil
import sys
import tempfile
import unittest
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes, errors, structure
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.ops import random
from pinnace.ops.composites.sparse.tensor import SparseTensor, SparseTensorValue
from pinnace.testing import benchmarks
from pinnace.testing.assertions import Assertions
from pinnace.testing.temporary import TempDir, TempFile, TempFileCleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array

_SEED = 87654321


class TestCase(Assertions):
    """`unittest.TestCase` with assertions for tensors, variables, arrays and nests of them.

    Before each test the global random seed is set.
    """

    # When files of `create_tempfile` and `create_tempdir` are removed.
    tempfile_cleanup = TempFileCleanup.ALWAYS
    _passed = False

    def setUp(self) -> None:
        """Set the seeds of random ops."""
        super().setUp()
        random.set_seed(_SEED)
        np.random.seed(_SEED)  # noqa: NPY002 (the generator that tests of users draw from)
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def get_temp_dir(self) -> str:
        """A folder for this test, removed afterwards."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix=f"{self._testMethodName}-")
            self.addCleanup(self._folder.cleanup)
        return self._folder.name

    def _callTestMethod(self, method: Callable[[], Any]) -> None:
        super()._callTestMethod(method)  # type: ignore[misc]  # unittest's, in every version
        self._passed = True

    def create_tempdir(
        self, name: str | None = None, cleanup: TempFileCleanup | None = None
    ) -> TempDir:
        """A new folder for this test.

        Args:
            name: name of the folder; any if None.
            cleanup: when it is removed; as the class has it if None.
        """
        made = tempfile.mkdtemp(prefix=f"{self._testMethodName}-")
        self.addCleanup(self._removed, made, cleanup or self.tempfile_cleanup)
        return TempDir(made) if name is None else TempDir(made).mkdir(name)

    def create_tempfile(
        self,
        file_path: str | None = None,
        content: str | bytes | None = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
        cleanup: TempFileCleanup | None = None,
    ) -> TempFile:
        """A new file in this test's own folder.

        Args:
            file_path: path of the file in that folder; any if None.
            content: its content; empty if None.
            mode: as `open` has it.
            encoding: encoding of the text.
            errors: the treatment of characters that the encoding lacks.
            cleanup: when it is removed; as the class has it if None.
        """
        folder = self.create_tempdir(cleanup=cleanup)
        return folder.create_file(file_path, content, mode, encoding, errors)

    def _removed(self, folder: str, when: TempFileCleanup) -> None:
        if when is TempFileCleanup.ALWAYS or (when is TempFileCleanup.SUCCESS and self._passed):
            shutil.rmtree(folder, ignore_errors=True)

    def evaluate(self, tensors: Any) -> Any:
        """The structure with NumPy values in place of tensors."""
        return structure.map_structure(_value, tensors)

    @contextmanager
    def cached_session(self, *_: Any, **__: Any) -> Iterator[None]:
        """Yields nothing: ops run eagerly, and `evaluate` returns values."""
        yield None

    session = cached_session

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Assert that the shapes are equal."""
        self.assertEqual(tuple(_value(input_a).shape), tuple(_value(input_b).shape), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The values have that dtype."""
        given = target.dtype if hasattr(target, "dtype") else np.asarray(target).dtype
        self.assertEqual(dtypes.as_dtype(given), dtypes.as_dtype(expected_dtype))

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Assert that shapes and values are equal; NaN equals NaN."""
        x, y = _array(a), _array(b)
        self.assertEqual(x.shape, y.shape, _said(msg, "shapes differ"))
        np.testing.assert_array_equal(*_texts(x, y), err_msg=msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Assert that shapes or values differ."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(_said(msg, "the two values are equal at all elements"))

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Assert equal structures, and |a - b| <= atol + rtol * |b| for each element."""
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertEqual(sorted(a), sorted(b), _said(msg, "keys differ"))
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, _said(msg, f"at key {key!r}"))
            return
        if _is_nest(a) or _is_nest(b):
            self.assertEqual(len(a), len(b), _said(msg, "lengths differ"))
            for index, (one, other) in enumerate(zip(a, b, strict=True)):
                self.assertAllClose(one, other, rtol, atol, _said(msg, f"at index {index}"))
            return
        x, y = _array(a), _array(b)
        self.assertEqual(x.shape, y.shape, _said(msg, "shapes differ"))
        wide = np.complex128 if "c" in {x.dtype.kind, y.dtype.kind} else np.float64
        np.testing.assert_allclose(
            x.astype(wide), y.astype(wide), rtol=rtol, atol=atol, err_msg=msg or ""
        )

    def assertNotAllClose(self, a: Any, b: Any, **tolerances: Any) -> None:
        """Assert that some element is not close; tolerances as for `assertAllClose`."""
        message = tolerances.pop("msg", None)
        try:
            self.assertAllClose(a, b, **tolerances)
        except AssertionError:
            return
        self.fail(_said(message, "the two values are close at all elements"))

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Assert closeness, with the tolerance of the less exact dtype."""
        names = {_array(a).dtype.name, _array(b).dtype.name}
        for kinds, relative, absolute in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Assert that |f1 - f2| <= err, or f1 equals f2."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, _said(msg, f"{f1} != {f2} +/- {err}"))

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Assert `assertNear` for each pair."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Assert that every element is above the target."""
        self._all(a, _array(a) > comparison_target, f"> {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that no element is below the target."""
        self._all(a, _array(a) >= comparison_target, f">= {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Assert that every element is below the target."""
        self._all(a, _array(a) < comparison_target, f"< {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that no element is above the target."""
        self._all(a, _array(a) <= comparison_target, f"<= {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Assert that every element lies between the bounds, which are included unless open."""
        x = _array(target)
        low = x > lower_bound if open_lower_bound else x >= lower_bound
        high = x < upper_bound if open_upper_bound else x <= upper_bound
        self._all(target, low & high, f"between {lower_bound} and {upper_bound}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Assert that every element is in the set."""
        self._all(target, np.isin(_array(target), list(expected_set)), f"in {expected_set}")

    def _all(self, given: Any, holds: Array, wanted: str) -> None:
        if not np.all(holds):
            x = np.asarray(_array(given))
            at = tuple(int(i) for i in np.argwhere(~np.asarray(holds))[0])
            self.fail(f"not all elements are {wanted}: {x[at]!r} at {list(at)}")

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: type[BaseException], expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Assert an error of that class whose text matches, or which satisfies the predicate."""
        try:
            yield
        except exception_type as error:
            wanted = expected_err_re_or_predicate
            met = wanted(error) if callable(wanted) else re.search(wanted, str(error))
            self.assertTrue(met, f"{type(error).__name__} does not match {wanted!r}: {error}")
            return
        self.fail(f"{exception_type.__name__} was not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Assert that an op's error is raised; see `assertRaisesWithPredicateMatch`."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Assert that the norm of the difference of two arrays is below `err`."""
        difference = np.linalg.norm(_array(ndarray1) - _array(ndarray2))
        if not difference < err:
            self.fail(_said(msg, f"the arrays are {difference} apart, and must be less than {err}"))

    def assertProtoEquals(
        self,
        expected_message_maybe_ascii: Any,
        validate_message: Any,
        msg: str | None = None,
        relative_tolerance: float | None = None,
    ) -> None:
        """Assert that two messages are equal; the first may be given as text.

        Args:
            expected_message_maybe_ascii: a message, or the text of one of the other's type.
            validate_message: a message.
            msg: beginning of an error message.
            relative_tolerance: how far apart numbers may be; they must be equal if None.
        """
        from google.protobuf import json_format, text_format  # late: most tests have no messages

        wanted = expected_message_maybe_ascii
        if isinstance(wanted, (str, bytes)):
            wanted = text_format.Parse(wanted, type(validate_message)())
        elif type(wanted) is not type(validate_message):
            kinds = f"{type(wanted).__name__} and {type(validate_message).__name__}"
            self.fail(_said(msg, f"the messages are of different types: {kinds}"))
        if wanted == validate_message:
            return
        if relative_tolerance is not None:
            as_dict = json_format.MessageToDict
            if _near(as_dict(wanted), as_dict(validate_message), relative_tolerance):
                return
        self.assertMultiLineEqual(str(wanted), str(validate_message), msg)
        self.fail(_said(msg, f"the messages differ: {wanted!r} and {validate_message!r}"))


def _near(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two nests are equal, with floats compared within a tolerance."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_near(a[key], b[key], tolerance) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_near, a, b, [tolerance] * len(a)))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance)
    return bool(a == b)


def _value(x: Any) -> Any:
    if isinstance(x, SparseTensor):
        return SparseTensorValue(*(_value(part) for part in (x.indices, x.values, x.dense_shape)))
    if is_composite(x):
        return x
    return x.numpy() if hasattr(x, "numpy") else np.asarray(x) if np.isscalar(x) else x


def _array(x: Any) -> Array:
    if is_composite(x) and hasattr(x, "to_list"):
        return np.array(x.to_list(), object)
    if isinstance(x, Shape):
        return np.array(x.as_list())
    try:
        return np.asarray(convert_to_tensor(x).numpy())
    except (TypeError, ValueError):  # Python objects, compared with ==
        return np.array(x, object)


def _texts(x: Array, y: Array) -> tuple[Array, Array]:
    """Both with bytes instead of text: NumPy distinguishes them, tensors have only bytes."""
    return tuple(  # type: ignore[return-value]
        np.array([v.encode() if isinstance(v, str) else v for v in a.reshape(-1)], object).reshape(
            a.shape
        )
        if a.dtype.kind in "SUO"
        else a
        for a in (x, y)
    )


def _is_nest(x: Any) -> bool:
    if not isinstance(x, (list, tuple)):
        return False
    return any(isinstance(one, (list, tuple, dict)) or hasattr(one, "shape") for one in x)


def _said(message: str | None, problem: str) -> str:
    return problem if message is None else f"{message}: {problem}"


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the calling module, or benchmarks if requested, and exit.

    Args:
        argv: the command line; the process's if None.
    """
    pattern = benchmarks.asked_for(sys.argv if argv is None else argv)
    if pattern is not None:
        benchmarks.run(pattern)
        sys.exit()
    unittest.main("__main__", argv=argv)
