"""A graph made runnable.

Its tiers:

`config.set_tier`, `PINNACE_TIER`: `auto`, `compiled` (compile before the call, whatever it
costs: for tests), `plan`, `eager`.

- A `Plan` never changes; `Tiers` owns what becomes of it (ADR 18): for one set of argument shapes
  a `Prepared`, from which a call leases a `Workspace` (memory of a `Layout`), a `SmallPlan` (one
  kernel), a trial of either, or nothing. `Promotion` is what a hot layout goes through;
  `LoopTiers` the same for the loops of one body. Eight shapes have places; `Shares` gives them to
  those that are used most of late.
- **Compiled code is proved on the caller's inputs.** The first three calls run the plan, whose
  answer is given, and compare (`trials`): each region on the plan's own intermediate results,
  so that effects happen once; small plans as wholes; loops and recurrences by eight iterations at
  growing distances from the first; clusters of an iteration in an iteration. Regions' outputs are
  NaN before. The trial of a large plan costs about one more run of it, a loop's some iterations;
  once it is over, nothing is left of it in what runs.
- **Agreement** (`agreement`): |found - plan| at most 512 eps (|plan| + m), m the largest finite
  magnitude in its row: 6e-5 in float32, for some dozen steps of 16 ulps and sums in another
  order. NaN agrees with NaN; integers, strings and loops over scalars must be equal. Beyond
  that, 64 times what the plan's own results move by when its inputs move by one ulp is allowed:
  what is ill conditioned is not wrong.
- **What a tier may answer** is what the roundings of its ops allow, op by op, however they are
  ordered (`tests/hot/bounds.py` has the table): half an ulp for `+ - * / sqrt`, 4 for `exp` and
  `log`, 5 for `tanh`, 9 for `erf`, 18 for `erfc`, (n + 1) / 2 of the sum of sizes for a sum of
  n terms; `a * b + c` may round once; the sign of a zero out of a sum or a maximum is free.
  Integers, other dtypes and what only moves numbers are equal in every tier. `make hot` draws
  graphs and holds every tier to it: a region is first told by its text, interpreted as Python
  between guard pages, then by its machine code. Integers in text are written unsigned
  (`codegen/integer_text.py`): Numba promises LLVM that signed ones never overflow.
- **What is slower is given back** (`contests`): after its trial, machine code and the plan take
  turns on the caller's calls; `Tiers.decisions()` has both times.
- **What differs is never used**: `rejections.count()`, `rejections.rejected()`,
  `pinnace:serving:compiled_rejected_total` in the metrics, and one line in the log, which names the
  file with the graph in the cache folder. The other regions of the plan are used all the same.
- **What fast code raises reaches no caller** (`recovery`): the plan goes on from the step that
  failed, so that effects happen once, and runs all later calls. If it raises as well, the error is
  the caller's, in the plan's words. A tier `compiled` that was pinned hands errors on, for tests.
- `PINNACE_POISON=1` (`Settings.poison`) fills memory with NaN before it is written; answers
  must not change.
- A function that writes source in another form (`Source.compiled`) has the plan's lock: names of
  regions are the plan's.
- Calls are inlined up to 16,384 nodes or four times what is written; beyond, a call stays and
  its function has a plan of its own. Every loop looks at the run's stop flag: plans between
  iterations, compiled ones about every 20 ms.
"""

from pinnace.engine.build import build as build
from pinnace.engine.build import plan_of as plan_of
