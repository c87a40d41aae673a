"""What is done to a graph between its conversion and its file, in order."""

from pinnace.deploy.onnx.attention import name_attention
from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.channels import lay_out
from pinnace.deploy.onnx.directions import join_directions
from pinnace.deploy.onnx.faults import avoid_faults
from pinnace.deploy.onnx.functions import name_functions
from pinnace.deploy.onnx.fusion import fuse, tidy
from pinnace.deploy.onnx.normalisations import name_normalisations
from pinnace.deploy.onnx.products import unfold_products
from pinnace.deploy.onnx.recurrent import fuse_loops


def improve(g: GraphBuilder) -> None:
    """Make the graph one that a person would have written; it computes the same."""
    unfold_products(g)
    tidy(g)
    name_functions(g)
    fuse(g)
    fuse_loops(g)
    tidy(g)
    join_directions(g)
    lay_out(g)
    tidy(g)
    name_normalisations(g)
    name_attention(g)
    avoid_faults(g)
