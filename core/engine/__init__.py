"""The engine: plans, memory and machine code that execute a graph.

The tiers (`config.set_tier`, `PINNACE_TIER`) are `auto`, `compiled` (for tests: errors of tables
are passed on, and any set of shapes has a form), `plan` and `eager`.

- A `Plan` never changes; `Tiers` owns everything derived from it (ADR 18). For each set of argument
  shapes it has a `Prepared`, from which a call leases a `Workspace` (memory of a `Layout`), a
  `SmallPlan` (one table), or nothing. The first call makes it (`forms`), and all calls run it;
  `LoopTiers` does the same for the loops with one body. The number of shapes is limited; `Shares`
  keeps those that were used most recently.
- **Machine code comes with the installation** (`codegen.kernels`, ADR 64): a process has all
  kernels or none. Nothing is compiled while a program runs; without a library plans run by steps.
- **Nothing is compared while a program runs** (ADR 66). `PINNACE_CHECK=1` (`Settings.check`)
  compares every call with the plan, whose results it gives (`checking`): each region on the plan's
  own intermediate results, so that effects happen once; small plans as a whole; loops in groups of
  eight iterations at growing distances from the first. Outputs of regions are filled with NaN
  beforehand. Code that disagrees is not called again: see `rejections.count()`,
  `rejections.rejected()`, `pinnace:serving:compiled_rejected_total` in the metrics, and one line in
  the log, which names the file with the graph in the cache folder.
- **Agreement** (`agreement`): |found - plan| is at most 512 eps (|plan| + m), with m the largest
  finite magnitude in its row: 6e-5 in float32, which allows for some dozen steps of 16 ulps and for
  sums in another order. NaN agrees with NaN; integers, strings and loops over scalars must be
  equal. Results may also differ by 64 times the change of the plan's own results when its inputs
  change by one ulp: an ill-conditioned step is not an error.
- **Each tier's error bound** follows from the rounding of its ops, op by op, in any order
  (`tests/hot/bounds.py` has the table): half an ulp for `+ - * / sqrt`, 4 for `exp` and `log`, 5
  for `tanh`, 9 for `erf`, 18 for `erfc`, (n + 1) / 2 times the sum of magnitudes for a sum of n
  terms; one more for a quotient by several constants, which are inverted; `a * b + c` may round
  once; the sign of a zero from a sum, a maximum or a product with a constant 0 is unspecified.
  Integers, other dtypes and ops that only move values are equal in every tier. `make hot` checks
  every tier on random graphs, with arrays between guard pages. Integers in tables wrap around.
- **An exception in compiled code does not reach the caller** (`recovery`): the plan continues from
  the step that failed, so that effects happen once, and runs all later calls. If it raises as well,
  the caller gets the plan's error. With the tier pinned to `compiled`, exceptions are passed on,
  for tests.
- `PINNACE_POISON=1` (`Settings.poison`) fills memory with NaN before it is written; results must
  not change.
- A function that generates source in another form (`Source.compiled`) holds the plan's lock, since
  the names of regions belong to the plan.
- Calls are inlined up to 16,384 nodes or four times the original number; beyond that, a call
  remains and its function has its own plan. Every loop polls the run's stop flag: plans between
  iterations, compiled loops about every 20 ms.
"""

from pinnace.engine.build import build as build
from pinnace.engine.build import plan_of as plan_of
