"""Regular expressions, which are RE2 on both sides."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("StaticRegexFullMatch", since=20)
def static_regex_full_match(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """RegexFullMatch."""
    return g.op("RegexFullMatch", x, pattern=call.attr("pattern"))


@converts("RegexFullMatch", since=20, constants=("pattern",))
def regex_full_match(g: GraphBuilder, call: NodeView, x: Value, pattern: Value) -> Value:
    """RegexFullMatch; the pattern is an attribute."""
    del pattern
    text = call.needed(1, "pattern")[()]
    return g.op(
        "RegexFullMatch", x, pattern=text.decode() if isinstance(text, bytes) else str(text)
    )
