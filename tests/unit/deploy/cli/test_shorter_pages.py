"""Pages of a packed site are those that were built, byte for byte."""

from pinnace.deploy.cli import search_index, shorter_pages


def heading(level: int, anchor: str, title: str) -> str:
    link = f'<a class="headerlink" href="#{anchor}" title="Permanent link">&para;</a>'
    return f'<h{level} id="{anchor}">{title}{link}</h{level}>'


def listed(anchor: str, title: str, below: str = "") -> str:
    inner = f'<nav class="md-nav" aria-label="{title}"><ul>{below}</ul></nav>' if below else ""
    return (
        f'<li>\n  <a href="#{anchor}" class="md-nav__link">\n    <span class="md-ellipsis">\n'
        f'      <span class="md-typeset">\n        {title}\n      </span>\n    </span>\n  </a>\n'
        f"{inner}</li>"
    )


def page(items: str, *headings: str) -> bytes:
    menu = f'<nav class="md-nav md-nav--secondary" aria-label="On this page">{items}</nav>'
    text = "\n<p>text ä</p>\n".join(headings)
    return (
        '<!doctype html><title>Page - site</title><a href="#x" class="md-nav__link">x</a>'
        f"{menu}<article>{text}\n<p>end</p></article>{menu}"
    ).encode()


HEADINGS = (
    heading(1, "top", "Top"),
    heading(2, "one", "One"),
    heading(3, "one.a", "a"),
    heading(3, "two-words", "two words &amp; more"),
    heading(2, "two", "Two"),
)
ITEMS = listed("one", "One", listed("one.a", "a") + listed("two-words", "two words &amp; more"))


def test_what_a_page_repeats_of_its_headings_is_written_again() -> None:
    built = page(ITEMS + listed("two", "Two"), *HEADINGS)
    short = shorter_pages.shortened(built)
    assert len(short) < 0.6 * len(built)
    assert short.count(b"two words") == 1
    assert b"headerlink" not in short
    assert shorter_pages.expanded(short) == built


def test_a_list_that_leaves_out_or_changes_headings_is_kept_where_it_differs() -> None:
    differing = (
        ITEMS,  # without the last
        listed("two", "Two") + ITEMS,  # in another order
        ITEMS + listed("two", "Deux"),
        ITEMS + listed("gone", "Gone") + listed("two", "Two"),
        listed("one", "One").replace("        One", " One") + listed("one.a", "a"),
    )
    for items in differing:
        built = page(items, *HEADINGS)
        assert shorter_pages.expanded(shorter_pages.shortened(built)) == built


def test_a_page_that_cannot_be_shortened_stays() -> None:
    code = heading(2, "code", "the <code>call</code>")
    no_link = '<h2 id="plain">Plain</h2>'
    for built in (
        b"<!doctype html><p>nothing</p>",
        page("", *HEADINGS),
        page(ITEMS, *HEADINGS, no_link),
    ):
        assert shorter_pages.shortened(built) == built
        assert shorter_pages.expanded(built) == built
    built = page(ITEMS, *HEADINGS, code)
    assert shorter_pages.expanded(shorter_pages.shortened(built)) == built


def test_the_search_finds_the_same_in_pages_that_were_shortened() -> None:
    built = page(ITEMS + listed("two", "Two"), *HEADINGS)
    short = shorter_pages.shortened(built)
    assert short != built
    found = [list(search_index.entries("p.html", one.decode())) for one in (built, short)]
    assert found[0] == found[1]
    assert [one["title"] for one in found[0]] == ["Top", "One", "a", "two words &amp; more", "Two"]
    assert found[0][1]["location"] == "p.html#one"
    assert found[0][1]["text"] == "<p>text ä</p>"
