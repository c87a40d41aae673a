"""Arguments of calls: found, named, renamed, removed, added, with the formatting preserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TIGHT = cst.AssignEqual(
    whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace("")
)
_NOTHING = cst.SimpleWhitespace("")
_SPACE = cst.SimpleWhitespace(" ")


def find(args: Iterable[cst.Arg], name: str) -> cst.Arg | None:
    """The argument with this keyword, or None."""
    return next(
        (arg for arg in args if arg.keyword is not None and arg.keyword.value == name), None
    )


def by_place(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """The positional arguments."""
    return [arg for arg in args if arg.keyword is None and not arg.star]


def has_star(args: Iterable[cst.Arg]) -> bool:
    """Whether there is a `*args`."""
    return any(arg.star == "*" for arg in args)


def has_double_star(args: Iterable[cst.Arg]) -> bool:
    """Whether there is a `**options`."""
    return any(arg.star == "**" for arg in args)


def named(arg: cst.Arg, name: str) -> cst.Arg:
    """The argument with a keyword, which may replace another one."""
    if arg.keyword is not None:
        return arg.with_changes(keyword=cst.Name(name))
    bare = isinstance(arg.value, cst.NamedExpr | cst.GeneratorExp) and not arg.value.lpar
    value = in_brackets(arg.value) if bare else arg.value
    return arg.with_changes(keyword=cst.Name(name), equal=_TIGHT, value=value)


def in_brackets(value: cst.BaseExpression) -> cst.BaseExpression:
    """The expression in parentheses."""
    return value.with_changes(
        lpar=[cst.LeftParen(), *value.lpar], rpar=[*value.rpar, cst.RightParen()]
    )


def expression(text: str) -> cst.BaseExpression:
    """An expression from source text of this package."""
    return cst.parse_expression(text)


def around(text: str, value: cst.BaseExpression) -> cst.BaseExpression:
    """An expression from source text in which `_` is replaced by a value in parentheses."""

    class Put(cst.CSTTransformer):
        def leave_Name(  # noqa: N802 (the library's name)
            self, original_node: cst.Name, updated_node: cst.Name
        ) -> cst.BaseExpression:
            del original_node
            return in_brackets(value) if updated_node.value == "_" else updated_node

    changed = expression(text).visit(Put())
    assert isinstance(changed, cst.BaseExpression)  # noqa: S101 (the result is an expression)
    return changed


def replaced(args: Sequence[cst.Arg], old: cst.Arg, new: cst.Arg) -> list[cst.Arg]:
    """The arguments with `old` replaced by `new`."""
    return [new if arg is old else arg for arg in args]


def added(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """The call with an argument appended; positional if the name is empty."""
    new = cst.Arg(value)
    new = named(new, name) if name else new
    if not call.args:
        return call.with_changes(args=[new])
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        last = last.with_changes(value=in_brackets(last.value))
    new = new.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    before = last.with_changes(
        comma=cst.Comma(whitespace_after=_between(call)), whitespace_after_arg=_NOTHING
    )
    return call.with_changes(args=[*call.args[:-1], before, new])


def _between(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """The separator of two arguments: a line break if each argument is on its own line."""
    commas = [arg.comma for arg in call.args[:-1] if isinstance(arg.comma, cst.Comma)]
    candidates = [comma.whitespace_after for comma in commas] or [call.whitespace_before_args]
    for space in candidates:
        if not isinstance(space, cst.ParenthesizedWhitespace):
            return _SPACE
    space = candidates[-1]
    assert isinstance(space, cst.ParenthesizedWhitespace)  # noqa: S101 (all are)
    # The comment and empty lines there belong to another argument.
    return space.with_changes(
        first_line=space.first_line.with_changes(whitespace=_NOTHING, comment=None), empty_lines=[]
    )


def without(call: cst.Call, gone: cst.Arg) -> cst.Call:
    """The call without an argument; comments beside it are kept."""
    index = next(number for number, arg in enumerate(call.args) if arg is gone)
    rest = [arg for arg in call.args if arg is not gone]
    if not rest:
        return call.with_changes(
            args=[], whitespace_before_args=_kept(call.whitespace_before_args, _after(gone))
        )
    if index == len(rest):  # the previous argument becomes the last one
        last = rest[-1]
        comma = gone.comma
        if isinstance(comma, cst.Comma) and isinstance(last.comma, cst.Comma):
            comma = comma.with_changes(
                whitespace_before=last.comma.whitespace_before,
                whitespace_after=_joined(last.comma.whitespace_after, comma.whitespace_after),
            )
            rest[-1] = last.with_changes(comma=comma)
        else:
            space = _joined(_after(last), gone.whitespace_after_arg)
            rest[-1] = last.with_changes(comma=comma, whitespace_after_arg=space)
        return call.with_changes(args=rest)
    if index == 0:
        return call.with_changes(
            args=rest, whitespace_before_args=_joined(call.whitespace_before_args, _after(gone))
        )
    before = rest[index - 1]
    if isinstance(before.comma, cst.Comma) and isinstance(gone.comma, cst.Comma):
        space = _kept(before.comma.whitespace_after, gone.comma.whitespace_after)
        comma = before.comma.with_changes(whitespace_after=space)
        rest[index - 1] = before.with_changes(comma=comma)
    return call.with_changes(args=rest)


def _after(arg: cst.Arg) -> cst.BaseParenthesizableWhitespace:
    if isinstance(arg.comma, cst.Comma):
        return arg.comma.whitespace_after
    return arg.whitespace_after_arg


def _joined(
    first: cst.BaseParenthesizableWhitespace, second: cst.BaseParenthesizableWhitespace
) -> cst.BaseParenthesizableWhitespace:
    """The whitespace before the next argument, with the comments of the removed one."""
    comments = _comments(first)
    if not comments:
        return second
    if isinstance(second, cst.ParenthesizedWhitespace):
        rest = (
            []
            if second.first_line.comment is None
            else [_line(second.first_line.comment, second.last_line)]
        )
        return first.with_changes(
            empty_lines=[*_lines(first), *rest, *second.empty_lines],
            indent=second.indent,
            last_line=second.last_line,
        )
    return first


def _kept(
    space: cst.BaseParenthesizableWhitespace, gone: cst.BaseParenthesizableWhitespace
) -> cst.BaseParenthesizableWhitespace:
    """The whitespace, with the comments of the removed argument."""
    comments = _comments(gone)
    if not comments:
        return space
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return gone
    return space.with_changes(
        empty_lines=[*space.empty_lines, *(_line(one, space.last_line) for one in comments)]
    )


def _lines(space: cst.BaseParenthesizableWhitespace) -> Sequence[cst.EmptyLine]:
    return space.empty_lines if isinstance(space, cst.ParenthesizedWhitespace) else ()


def _comments(space: cst.BaseParenthesizableWhitespace) -> list[cst.Comment]:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return []
    lines = [space.first_line.comment, *(line.comment for line in space.empty_lines)]
    return [comment for comment in lines if comment is not None]


def _line(comment: cst.Comment, space: cst.SimpleWhitespace) -> cst.EmptyLine:
    return cst.EmptyLine(indent=True, whitespace=space, comment=comment)
