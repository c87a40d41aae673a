"""The harness finds the faults that it is meant to find."""

import random
from pathlib import Path

import numpy as np

from fuzz import run
from fuzz.target import Target
from fuzz.targets import TARGETS
from pinnace.framework.errors import DataLossError


class _Told(Target):
    def damage(self, draw: random.Random) -> int:
        del draw
        return 100

    def use(self) -> None:
        raise DataLossError("it is damaged")


class _Untold(_Told):
    def use(self) -> None:
        raise KeyError("x")


class _Slow(_Told):
    def use(self) -> None:
        sum(k * k for k in range(60_000_000))


class _Large(_Told):
    def use(self) -> None:
        np.ones(60 << 20, np.uint8).sum()


def test_an_error_of_the_library_is_no_finding(tmp_path: Path) -> None:
    assert run.one(_Told(tmp_path), random.Random(0), show=False) == ("DataLossError", "")


def test_another_error_is_one(tmp_path: Path) -> None:
    outcome, problem = run.one(_Untold(tmp_path), random.Random(0), show=False)
    assert outcome == "other"
    assert problem.startswith("KeyError: 'x' (use, line")


def test_so_are_time_and_memory(tmp_path: Path) -> None:
    assert "s" in run.one(_Slow(tmp_path), random.Random(0), show=False)[1]
    assert (
        " MB for a file of 100 bytes" in run.one(_Large(tmp_path), random.Random(0), show=False)[1]
    )


def test_every_target_damages_and_reads(tmp_path: Path) -> None:
    for number, kind in enumerate(TARGETS):
        folder = tmp_path / str(number)
        folder.mkdir()
        target = kind(folder)
        found = [run.one(target, random.Random(seed), show=False) for seed in range(25)]
        problems = [problem for _, problem in found if problem]
        assert not problems
        assert any(outcome != "read" for outcome, _ in found), f"{kind} damages nothing"


def test_an_input_is_the_same_each_time(tmp_path: Path) -> None:
    target = TARGETS[-1](tmp_path)
    contents = []
    for _ in range(2):
        target.damage(random.Random("0/17"))
        contents.append((tmp_path / "damaged").read_bytes())
    assert contents[0] == contents[1]
