"""Rules that express ops which TensorFlow.js lacks or interprets differently by other ops."""

from pinnace.deploy.tfjs.graph.rules import arithmetic as arithmetic
from pinnace.deploy.tfjs.graph.rules import arrays as arrays
from pinnace.deploy.tfjs.graph.rules import gathers as gathers
from pinnace.deploy.tfjs.graph.rules import networks as networks
from pinnace.deploy.tfjs.graph.rules import products as products
from pinnace.deploy.tfjs.graph.rules import randoms as randoms
from pinnace.deploy.tfjs.graph.rules import slices as slices
from pinnace.deploy.tfjs.graph.rules import spectra as spectra
from pinnace.deploy.tfjs.graph.rules import volumes as volumes
