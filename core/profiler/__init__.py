"""Profiles: `profile` for one call, and TensorFlow's `experimental` profiler.

`profile(function, *args)` gives a table and a trace of one call; `experimental.start` and `stop`
write what all threads did in between for TensorBoard and Chrome's viewer.
"""

from pinnace.profiler import experimental as experimental
from pinnace.profiler.machine import Peak as Peak
from pinnace.profiler.machine import peak as peak
from pinnace.profiler.profile import Profile as Profile
from pinnace.profiler.profile import Row as Row
from pinnace.profiler.taking import profile as profile
