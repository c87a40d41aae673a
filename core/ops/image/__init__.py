"""`tf.image`: files, colours, sizes, crops, boxes."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.image.chance import *
from pinnace.ops.image.codecs import *
from pinnace.ops.image.colour import *
from pinnace.ops.image.comparing import *
from pinnace.ops.image.cropping import *
from pinnace.ops.image.detection import *
from pinnace.ops.image.drawing import *
from pinnace.ops.image.fitting import *
from pinnace.ops.image.glimpses import *
from pinnace.ops.image.jpeg import *
from pinnace.ops.image.patches import *
from pinnace.ops.image.pixels import *
from pinnace.ops.image.projecting import *
from pinnace.ops.image.resizing import *
from pinnace.ops.image.sampling import *
from pinnace.ops.image.suppression import *
