"""NumPy's global generator, which programs seed by `numpy.random.seed`.

Keras draws from it here, as does this library: the same seed gives the same pictures.
"""

import numpy as np

seed = np.random.seed
uniform = np.random.uniform
choice = np.random.choice
random = np.random.random
randint = np.random.randint
permutation = np.random.permutation
