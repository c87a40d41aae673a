"""Benchmarks: methods that measure, and their reports."""

from __future__ import annotations

import inspect
import numbers
import os
import re
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.logger import get_logger
from pinnace.proto.benchmark_pb2 import BenchmarkEntries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The prefix of report files; the benchmark's name follows.
REPORTS = "TEST_REPORT_FILE_PREFIX"
_FILTER = re.compile(r"--?benchmark_filter=(.*)", re.DOTALL)


class Benchmark:
    """A class whose methods `benchmark...` measure, and call `report_benchmark`.

    `tf.test.main()` runs those whose full names match `--benchmark_filter=PATTERN`, a regular
    expression or `all`, in place of the tests.
    """

    # All subclasses, in the order of definition.
    _known: ClassVar[list[type[Benchmark]]] = []

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Benchmark._known.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether it is this base class, which measures nothing."""
        return cls is Benchmark

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
        metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Report figures, to a file if TEST_REPORT_FILE_PREFIX is set, else to the terminal.

        Args:
            iters: how many times it ran.
            cpu_time: seconds of the processors.
            wall_time: seconds.
            throughput: megabytes a second.
            extras: more figures and texts, by name.
            name: its name; that of the reporting method if None.
            metrics: dictionaries with a `name` and a `value`, maybe `min_value` and `max_value`.

        Raises:
            OSError: the file exists.
            TypeError: `extras` or `metrics` of another form.
            ValueError: no method of a benchmark reports.
        """
        full = self._full_name(name)
        entries = BenchmarkEntries()
        entry = entries.entry.add(name=full)
        figures = {"cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput}
        for field, figure in {"iters": iters, **figures}.items():
            if figure is not None:
                setattr(entry, field, figure)
        _add_extras(entry, {} if extras is None else extras)
        _add_metrics(entry, [] if metrics is None else metrics)
        get_logger().info("Benchmark %s", entry)
        prefix = os.environ.get(REPORTS)
        if prefix is None:
            sys.stdout.write(f"{entries}\n")
            return
        path = Path(f"{prefix}{full.replace('/', '__')}")
        if path.exists():
            raise OSError(f"File already exists: {path}")
        path.write_bytes(entries.SerializeToString())

    def _full_name(self, name: str | None) -> str:
        calling, method = None, ""
        for frame in inspect.stack(0):
            found = frame.frame.f_locals.get("self")
            if isinstance(found, Benchmark):  # the outermost frame wins
                calling, method = found, frame.function
        if calling is None:
            raise ValueError("Unable to determine calling Benchmark class.")
        return f"{type(calling).__name__}.{name or method}"

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Measure an object with the `run` method of sessions, and report the result.

        Args:
            sess: `sess.run(op_or_tensor, feed_dict=feed_dict)` is measured.
            op_or_tensor: its argument.
            feed_dict: its other argument.
            burn_iters: runs before those that count.
            min_iters: runs that count, at least 1.
            store_trace: refused: runs are not traced for Chrome's viewer.
            store_memory_usage: accepted for TensorFlow's sake: what a run allocates is not counted.
            name: its name; that of the reporting method if None.
            extras: more figures and texts, by name.
            mbs: megabytes that a run moves.

        Returns:
            What was reported; its `extras` with mean and standard deviation of the seconds.

        Raises:
            UnimplementedError: a trace is asked for.
        """
        del store_memory_usage
        if store_trace:
            raise UnimplementedError(
                "run_op_benchmark: runs are not traced\n  Try: tf.profiler.experimental.start"
            )
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict=feed_dict)
        seconds = []
        for _ in range(min_iters):
            begun = time.perf_counter()
            sess.run(op_or_tensor, feed_dict=feed_dict)
            seconds.append(time.perf_counter() - begun)
        median = statistics.median(seconds)
        reported: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": {} if extras is None else extras,
            "name": name,
            "throughput": mbs / median,
        }
        self.report_benchmark(**reported)
        deviation = statistics.stdev(seconds) if len(seconds) > 1 else -1
        more = {"wall_time_mean": statistics.fmean(seconds), "wall_time_stdev": deviation}
        reported["extras"].update(more)
        return reported

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors as arrays, in their structure."""
        return structure.map_structure(lambda x: convert_to_tensor(x).numpy(), tensors)


def _add_extras(entry: Any, extras: Any) -> None:
    if not isinstance(extras, dict):
        raise TypeError(f"extras must be a dict, got {extras!r}")
    for key, value in extras.items():
        if isinstance(value, numbers.Real):
            entry.extras[key].double_value = float(value)
        else:
            entry.extras[key].string_value = str(value)


def _add_metrics(entry: Any, metrics: Any) -> None:
    if not isinstance(metrics, list):
        raise TypeError(f"metrics must be a list, got {metrics!r}")
    for metric in metrics:
        for field in ("name", "value"):
            if field not in metric:
                raise TypeError(f"metric must have a {field!r} field, got {metric!r}")
        added = entry.metrics.add(name=metric["name"], value=metric["value"])
        for field in ("min_value", "max_value"):
            if field in metric:
                getattr(added, field).value = metric[field]


def asked_for(arguments: Sequence[str]) -> str | None:
    """The pattern of `--benchmark_filter` on the command line, if there is one."""
    found = [match[1] for match in map(_FILTER.fullmatch, arguments) if match]
    return found[0] if found else None


def run(pattern: str) -> None:
    """Run the benchmarks whose full names match.

    Args:
        pattern: a regular expression; `all` for all.

    Raises:
        ValueError: no benchmark matches.
    """
    count = 0
    for known in list(Benchmark._known):
        made = None
        for method in dir(known):
            full = f"{known.__module__}.{known.__name__}.{method}"
            wanted = method.startswith("benchmark") and callable(getattr(known, method))
            if wanted and (pattern == "all" or re.search(pattern, full)):
                made = made or known()
                count += 1
                getattr(made, method)()
    if not count:
        raise ValueError(f"No benchmarks matched the pattern: '{pattern}'")
