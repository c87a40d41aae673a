"""Batch prediction on files of rows: `pinnace score`.

`plan_run` finds the remaining work of a run, `run_plan` does it; `Scorer` does one part, for
engines with processes of their own. Each part has one file of results, complete or absent.
"""

from pinnace.deploy.score.parts import Part
from pinnace.deploy.score.run import Plan, Summary, plan_run, run_plan
from pinnace.deploy.score.scorer import PartResult, Scorer
from pinnace.deploy.score.settings import ScoreSettings
from pinnace.deploy.score.shards import parse_shard

__all__ = [
    "Part",
    "PartResult",
    "Plan",
    "ScoreSettings",
    "Scorer",
    "Summary",
    "parse_shard",
    "plan_run",
    "run_plan",
]
