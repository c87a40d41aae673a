"""The site has every page and public name, no broken links, and loads nothing from other hosts."""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from architecture.sources import ROOT
from architecture.test_pages import MODULES


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_every_public_name_has_its_place_in_the_reference(tmp_path: Path) -> None:
    """In a separate process, so that names which other tests register or import are not on it."""
    program = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import api_reference\n"
        "for name, text in api_reference.Reference().pages({}, {}).items():\n"
        "    pathlib.Path(sys.argv[2], name).write_text(text)"
    )
    subprocess.run([sys.executable, "-c", program, ROOT / "tools", tmp_path], check=True)
    pages = {page.name: page.read_text() for page in tmp_path.iterdir()}
    anchors = {one for text in pages.values() for one in re.findall(r"\{: #(\S+) \}", text)}
    also = {
        f"{name.removesuffix('.md')}.{alias}"
        for name, text in pages.items()
        for alias in re.findall(r"^\| `(\w+)` \| \[", text, re.MULTILINE)
    }
    spaces = {name.removesuffix(".md") for name in pages}
    for name in sorted(spaces):  # a namespace under another path is described once
        others = re.findall(r"^Also: (.*)$", pages[f"{name}.md"], re.MULTILINE)
        for other in re.findall(r"`([\w.]+)`", others[0] if others else ""):
            spaces.add(other)
            inner = {one for one in anchors if one.rpartition(".")[0] == name}
            also |= {f"{other}.{one.rpartition('.')[2]}" for one in inner}
            also |= {
                f"{other}.{one[len(name) + 1 :]}" for one in also if one.startswith(f"{name}.")
            }
    listed = (ROOT / "docs" / "public_names.txt").read_text().split()
    names = {re.sub("^pinnace", "tf", name) for name in listed}
    inside = {name for name in names if name.rpartition(".")[0] in spaces}
    modules = {name.rpartition(".")[0] for name in names} | spaces
    assert len(inside) > 2000
    assert inside - anchors - also - modules - MODULES == set()
    links = [
        (name, page, part)
        for name, text in pages.items()
        for page, part in re.findall(r"\]\(([\w.]+\.md)#([\w.]+)\)", text)
    ]
    assert [link for link in links if f"{{: #{link[2]} }}" not in pages[link[1]]] == []


def test_a_docstring_becomes_prose_a_table_and_code() -> None:
    import docstrings

    text = docstrings.markdown(
        "Adds a * b_c, as `a|b`.\n\nArgs:\n    x: [..., n], or\n        none.\n"
        "    **more: a | <b>.\n\nReturns:\n    The sum.\n\nExample:\n    >>> 1 + 1\n    2"
    )
    rows = ("| `x` | \\[..., n\\], or none. |", "| `**more` | a \\| &lt;b>. |")
    assert text.split("\n\n") == [
        r"Adds a \* b\_c, as `a|b`.",
        "\n".join(["| Arguments | |", "|---|---|", *rows]),
        "**Returns**: The sum.",
        "**Example**",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]


def test_every_page_is_in_one_part_and_a_page_in_none_is_told(tmp_path: Path) -> None:
    import site_pages

    nav = tomllib.loads((ROOT / "docs" / "site.toml").read_text())["nav"]
    generated = {"build/docs/": ["build/docs/"]}
    kept = {
        part: [path for path in paths if not path.startswith(tuple(generated))]
        for part, paths in nav.items()
    }
    listed = [path for paths in site_pages.entries(ROOT, kept).values() for path in paths]
    assert len(listed) == len(set(listed)) > 40
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lost.md").write_text("# Lost")
    with pytest.raises(site_pages.PagesError, match=r"in no part: docs/lost\.md"):
        site_pages.entries(tmp_path, {"Start": []})
    with pytest.raises(site_pages.PagesError, match=r"docs/gone\.md of 'Start' is not there"):
        site_pages.entries(tmp_path, {"Start": ["docs/gone.md"]})


def test_links_follow_the_pages_and_code_stays_as_it_is(tmp_path: Path) -> None:
    import site_pages

    for name, text in {
        "README.md": "[g](docs/guide/a.md#x) [c](core/b.py) [d](docs/adr) `[no](docs/guide/a.md)`",
        "docs/guide/a.md": "# X\n[`up`](../../README.md) [web](https://example.org) ![p](p.png)\n",
        "docs/adr/0001.md": "# 1\n```\n[kept](../../README.md)\n```\n",
        "docs/guide/p.png": "picture",
        "core/b.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    into = tmp_path / "out"
    dropped = site_pages.stage(tmp_path, ["README.md", "docs/guide/a.md", "docs/adr/0001.md"], into)
    assert dropped == ["README.md: core/b.py"]
    front = "[g](guide/a.md#x) c [d](adr/0001.md) `[no](docs/guide/a.md)`"
    assert (into / "index.md").read_text() == front
    guide = "# X\n[`up`](../index.md) [web](https://example.org) ![p](p.png)\n"
    assert (into / "guide" / "a.md").read_text() == guide
    assert (into / "guide" / "p.png").read_text() == "picture"
    assert "[kept](../../README.md)" in (into / "adr" / "0001.md").read_text()


def test_whatever_a_page_would_fetch_from_another_host_is_found(tmp_path: Path) -> None:
    import site_checks

    (tmp_path / "good.html").write_text(
        '<link rel="stylesheet" href="a.css"><link rel="canonical" href="https://x.example/">'
        '<a href="https://y.example">y</a><script src="/b.js"></script><img src="data:,x">'
    )
    (tmp_path / "good.css").write_text("a { background: url(data:image/svg+xml,x) }")
    assert site_checks.foreign(tmp_path) == []
    (tmp_path / "bad.html").write_text(
        '<script src="//a.example/x.js"></script><link rel="preconnect" href="https://b.example">'
        '<img srcset="x.png 1x, http://c.example/y.png 2x"><style>@import "https://d.example/z"</style>'
    )
    (tmp_path / "bad.css").write_text("@font-face { src: url('https://e.example/f.woff2') }")
    hosts = {re.search(r"(\w)\.example", line)[1] for line in site_checks.foreign(tmp_path)}
    assert hosts == set("abcde")


def test_the_packed_site_has_no_listings_and_the_same_bytes_whenever_it_is_packed(
    tmp_path: Path,
) -> None:
    import os

    import documentation

    site = tmp_path / "site"
    (site / "inner").mkdir(parents=True)
    (site / "inner" / "b.html").write_text("b")
    (site / "a.html").write_text("a")
    listing = site / "source" / "core" / "x.py.html"
    listing.parent.mkdir(parents=True)
    listing.write_text("x")
    (site / "sources.html").write_text("s")
    first = documentation.pack(site, tmp_path / "one.tar.xz").read_bytes()
    os.utime(site / "a.html", (1, 1))
    assert documentation.pack(site, tmp_path / "two.tar.xz").read_bytes() == first
    with tarfile.open(tmp_path / "one.tar.xz") as packed:
        assert packed.getnames() == ["a.html", "inner/b.html", "sources.html"]


def test_the_plots_are_those_of_the_tables() -> None:
    import plots

    for name, text in plots.plots().items():
        said = "python tools/plots.py --write makes them again"
        assert (plots.FOLDER / name).read_text() == text, said


def test_a_plot_has_a_bar_for_each_row_as_long_as_its_value() -> None:
    import plots

    table = (
        "| w | peer | a | b | ratio |\n| x | tensorflow | 1 ms | 2 ms | 0.5× |\n"
        "| y | tensorflow | 2 s | 1 s | 2× |\n| z | jax | 1 s | 2 s | 0.5× |\n"
        "| m | tensorflow | 1 MB | 2 MB | 0.5× |\n"
    )
    drawn = plots.ratios(table)
    assert re.findall(r'text-anchor="end">(\w)<', drawn) == ["x", "y"]
    longest, least = map(float, re.findall(r'class="bar".*? width="([\d.]+)"', drawn))
    assert (longest, least) == (plots.WIDTH - plots.LABELS - plots.SPACE, 1.0)
    assert ">2×<" in drawn
    assert ">0.5×<" in drawn


def test_a_tutorial_writes_the_pictures_that_it_shows(tmp_path: Path) -> None:
    import tutorial_pictures

    pages = tutorial_pictures.pages()
    assert pages
    assert [line for page in pages for line in tutorial_pictures.faults(page)] == []
    page = tmp_path / "page.md"
    page.write_text("![a](pictures/other.png)\n")
    assert len(tutorial_pictures.faults(page)) == 2
