"""One test for a rule with many cases: it names each case that breaks the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
# The others are only counted: if all break a rule, a few show how.
_TOLD = 20


def holds_for_each(
    cases: Iterable[T], check: Callable[[T], object], name: Callable[[T], str] = str
) -> None:
    """Check every case, and fail with a list of all wrong ones.

    A thousand tests of a microsecond each take seconds to collect and to send between processes;
    one test with a thousand cases does not.

    Args:
        cases: the cases of the rule.
        check: raises if a case breaks the rule.
        name: name of a case in the failure.
    """
    wrong: list[tuple[str, Exception]] = []
    count = 0
    for case in cases:
        count += 1
        try:
            check(case)
        except Exception as error:
            wrong.append((name(case), error))
    assert count, "there is no case"
    if not wrong:
        return
    told = [f"{case}: {type(error).__name__}: {error}" for case, error in wrong[:_TOLD]]
    more = [case for case, _ in wrong[_TOLD:]]
    rest = f"\n\nand {len(more)} more: {', '.join(more)}" if more else ""
    message = f"{len(wrong)} of {count} break the rule:\n\n" + "\n\n".join(told) + rest
    raise AssertionError(message) from wrong[0][1]
