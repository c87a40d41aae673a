"""`keras.optimizers.legacy`: optimizers by the names of programs for Keras 2.

Keras 3 has these names but refuses them; here they are the current optimizers, so their steps and
arguments are Keras 3's. `decay` is refused, as by those; schedules replace it.
"""

from pinnace.keras.optimizers.adam import Adam as Adam
from pinnace.keras.optimizers.adaptive import Adagrad as Adagrad
from pinnace.keras.optimizers.adaptive import RMSprop as RMSprop
from pinnace.keras.optimizers.optimizer import Optimizer as Optimizer
from pinnace.keras.optimizers.regularised import Ftrl as Ftrl
from pinnace.keras.optimizers.sgd import SGD as SGD
