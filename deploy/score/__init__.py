"""Files of rows through a model into files of results: `pinnace score`, and what drives it.

`plan_run` says what is left of a run, `run_plan` does it; `Scorer` does one part, for engines that
have processes of their own. Each part has one file of results, which is whole or not there.
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
