"""Regular expressions: RE2 on both sides."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses


@converts("StaticRegexFullMatch", since=20)
def static_regex_full_match(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """RegexFullMatch."""
    return g.op("RegexFullMatch", x, pattern=call.attr("pattern"))


@converts("RegexFullMatch", since=20, constants=("pattern",))
def regex_full_match(g: GraphBuilder, call: NodeView, x: Value, pattern: Value) -> Value:
    """RegexFullMatch, whose pattern is an attribute."""
    del pattern
    text = call.needed(1, "pattern")[()]
    return g.op(
        "RegexFullMatch", x, pattern=text.decode() if isinstance(text, bytes) else str(text)
    )


refuses("ONNX matches strings, it does not rewrite them", "RegexReplace", "StaticRegexReplace")
