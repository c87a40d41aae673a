"""The passes over a graph between its conversion and its file, in order."""

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.passes.activations import name_activations
from pinnace.deploy.onnx.passes.attention import name_attention
from pinnace.deploy.onnx.passes.channels import lay_out
from pinnace.deploy.onnx.passes.directions import join_directions
from pinnace.deploy.onnx.passes.fusion import fuse, tidy
from pinnace.deploy.onnx.passes.normalisations import name_normalisations
from pinnace.deploy.onnx.passes.products import unfold_products
from pinnace.deploy.onnx.passes.recurrent import fuse_loops
from pinnace.deploy.onnx.passes.runtime_faults import avoid_faults


def improve(g: GraphBuilder) -> None:
    """Run every pass; the graph computes the same."""
    unfold_products(g)
    tidy(g)
    name_activations(g)
    fuse(g)
    fuse_loops(g)
    tidy(g)
    join_directions(g)
    lay_out(g)
    tidy(g)
    name_normalisations(g)
    name_attention(g)
    avoid_faults(g)
