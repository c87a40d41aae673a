"""Run every example, one after another, as `make examples` does.

python examples/all_examples.py             # all
python examples/all_examples.py --short     # as little of each as shows that it works
python examples/all_examples.py revnet      # those whose name holds this
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Example:
    """A program, and how to run it.

    Attributes:
        name: unique.
        command: path below this folder, then arguments.
        short: arguments that make it do less.
        typed: what its user types.
        expected: a part of what it must print.
        needs: a package without which it is left out.
    """

    name: str
    command: tuple[str, ...]
    short: tuple[str, ...] = ()
    typed: str = ""
    expected: str = ""
    needs: str = ""

    @property
    def can_run(self) -> bool:
        """Whether the package is there that it needs."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None


EXAMPLES = [
    Example("digits_demo", ("digits_demo.py", "--once"), expected="try next"),
    Example(
        "transfer_learning",
        ("transfer_learning.py",),
        ("--epochs=1",),
        expected="it gives the same features: True",
    ),
    Example(
        "own_head",
        ("own_head.py",),
        ("--epochs=2",),
        expected="it gives the same kinds: True",
    ),
    Example("training_loop", ("training_loop.py",), ("--epochs=1",), expected="train"),
    Example("dynamic_rnn", ("dynamic_rnn.py",), ("--steps=5",), expected="largest difference"),
    Example(
        "metrics_and_summaries",
        ("metrics_and_summaries.py",),
        ("--steps=20",),
        expected="events.out.tfevents",
    ),
    Example(
        "mixed_precision",
        ("mixed_precision.py",),
        ("--epochs=1",),
        expected="the loss was multiplied by",
    ),
    Example("debugging", ("debugging.py",), typed="l\np x\nn\np x\nc\n", expected="-> x = x + 1"),
    Example(
        "debugging_a_model",
        ("debugging.py", "--model"),
        typed="l\nc\n",
        expected="-> return input_data // 2",
    ),
    Example("generated_code", ("generated_code.py",), expected="def tf__sum_even(items):"),
    Example(
        "reinforcement_learning",
        ("reinforcement_learning.py",),
        ("--episodes=3",),
    ),
    Example(
        "strategies", ("strategies.py",), ("--epochs=1",), expected="all learned the same: True"
    ),
    Example(
        "processes",
        ("processes.py",),
        ("--epochs=1",),
        expected="the same in all",
        needs="mpi4py",  # with several processes `make mpi-test` runs it
    ),
    Example("text_model", ("text_model.py",), expected="A great, LOVELY town! -> good"),
    Example("upgraded_program", ("upgraded_program.py",), ("--steps=60",), expected="right: "),
    Example("revnet", ("revnet/train.py",), ("--steps=4",), expected="accuracy"),
    Example(
        "revnet_eagerly", ("revnet/train.py", "--nofunctions"), ("--steps=4",), expected="accuracy"
    ),
    Example(
        "revnet_channels_first",
        ("revnet/train.py", "--data_format=channels_first"),
        ("--steps=4",),
        expected="accuracy",
    ),
    Example("revnet_estimator", ("revnet/estimator.py",), ("--steps=4",), expected="accuracy"),
    Example("revnet_tpu", ("revnet/estimator.py", "--tpu"), ("--steps=4",), expected="accuracy"),
]


def run(example: Example, *, short: bool) -> tuple[bool, str]:
    """Whether it worked, and what it printed."""
    file, *arguments = example.command
    command = [sys.executable, str(FOLDER / file), *arguments, *(example.short if short else ())]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            cwd=folder,  # models and records go there, and away with it
            env={**os.environ, "TMPDIR": folder},
            input=example.typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
    return done.returncode == 0 and example.expected in done.stdout, done.stdout


def main() -> int:
    """Run the command line; 1 if an example failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="run those whose name holds one of these")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    chosen = [e for e in EXAMPLES if not options.names or any(n in e.name for n in options.names)]
    if not chosen:
        parser.error(f"no example is named so; there are {', '.join(e.name for e in EXAMPLES)}")
    failed = []
    for number, example in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {example.name}", end=" ", flush=True)
        if not example.can_run:
            print(f"left out: {example.needs} is not installed", flush=True)
            continue
        start = time.perf_counter()
        try:
            right, output = run(example, short=options.short)
        except subprocess.TimeoutExpired as error:
            right, output = False, f"{error}\n"
        print(f"{'ok' if right else 'FAILED'}, {time.perf_counter() - start:.1f} s", flush=True)
        if not right:
            failed.append(example.name)
            print(output, file=sys.stderr)
            print(f"expected to see: {example.expected!r}", file=sys.stderr)
    print(f"{len(chosen)} examples, {len(failed)} failed" + "".join(f" {name}" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
