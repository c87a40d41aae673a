"""Models for TensorFlow.js, written and read.

`exporting` walks through an export: `graph` puts the program (`deploy/program`) into the ops that
TensorFlow.js has (`facts`), `files` write it, `checks` run it in TensorFlow.js itself, in Node.
`reading` makes a function of a graph model, `unfusing` takes its fused nodes apart.
"""

from pinnace.deploy.tfjs.exporting import export as export
from pinnace.deploy.tfjs.reading import load as load
from pinnace.deploy.tfjs.report import TfjsReport as TfjsReport
