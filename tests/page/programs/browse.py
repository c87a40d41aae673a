"""Visits of the page with a real browser. Prints observations as JSON; our code is not imported.

python browse.py VISIT URL [ARGUMENTS]
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

# A seven, drawn from the top left.
SEVEN = [(0.28, 0.16), (0.72, 0.16), (0.62, 0.45), (0.5, 0.88)]
AUDIT = Path(__file__).with_name("audit.js").read_text()


class Visit:
    """A browser window that records errors and requests."""

    def __init__(self, browser: Browser, url: str, width: int = 1200, **options: Any) -> None:
        self.url = url
        self.seen: dict[str, Any] = {"complaints": [], "requests": []}
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
        context.on("page", self._watch)
        self.page = context.new_page()

    def _watch(self, page: Page) -> None:
        complaints, requests = self.seen["complaints"], self.seen["requests"]
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))

    def open(self, path: str = "/") -> Page:
        self.page.goto(self.url + path)
        return self.page


def draw(page: Page, points: list[tuple[float, float]]) -> None:
    canvas = page.locator("canvas.draw")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()


def bars(page: Page) -> dict[str, str]:
    page.wait_for_selector(".bars")
    rows = page.locator(".bars li").all()
    return {r.locator(".name").inner_text(): r.locator("span").last.inner_text() for r in rows}


def drawing(visit: Visit, shots: str = "") -> None:
    """A digit is drawn, and classified."""
    page = visit.open("/#digits")
    page.wait_for_selector("canvas.draw")
    visit.seen["first command"] = page.locator(".curl").inner_text()
    draw(page, SEVEN)
    visit.seen["bars"] = bars(page)
    visit.seen["answer"] = page.locator(".shown .answer").inner_text()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    visit.seen["command"] = page.evaluate("navigator.clipboard.readText()")
    for _ in range(3):
        page.get_by_role("button", name="Predict").click()
        page.wait_for_timeout(800)
    page.wait_for_function("/[0-9]/.test(document.querySelector('.latency .now').textContent)")
    # The page polls about every second, or later if the machine is busy.
    counted = page.get_by_text(re.compile(r"\b([4-9]|[1-9][0-9]+) requests since the start"))
    counted.wait_for()
    visit.seen["requests counted"] = counted.inner_text()
    page.get_by_text("Where the time goes").click()
    visit.seen["stages"] = page.locator("section[aria-label='Live numbers'] tbody").inner_text()
    if shots:
        page.get_by_text("Where the time goes").click()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=shots, full_page=True)


def phone(visit: Visit) -> None:
    """The width of the widest element on a narrow screen, for every form."""
    page = visit.page
    widths = {}
    for model, signature in (
        ("digits", ""),
        ("kinds", "serving_default"),
        ("kinds", "upper"),
        ("kinds", "negative"),
    ):
        visit.open("/")
        visit.open(f"/#{model}")
        page.get_by_role("button", name="Predict").wait_for()
        if signature:
            page.get_by_label("Signature").select_option(signature)
        page.get_by_role("button", name="Predict").click()
        page.wait_for_selector(".shown")
        widths[f"{model} {signature}"] = page.evaluate("document.documentElement.scrollWidth")
    visit.open("/docs")
    page.wait_for_selector(".operation")
    widths["docs"] = page.evaluate("document.documentElement.scrollWidth")
    visit.seen["widths"] = widths


def keyboard(visit: Visit) -> None:
    """Everything by keyboard: a pixel is painted, the form sent, the JSON edited."""
    page = visit.open("/#digits")
    page.wait_for_selector("canvas.draw")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab never comes to {selector}")

    tab_to("canvas.draw")
    for key in ("ArrowUp", " ", "ArrowUp", " ", "ArrowLeft"):
        page.keyboard.press(key)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    visit.seen["outline"] = page.evaluate(outline)
    visit.seen["command"] = page.locator(".curl").inner_text()
    tab_to("button.primary")
    page.keyboard.press("Enter")
    visit.seen["bars"] = bars(page)
    tab_to("form button.plain")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    visit.seen["in the text"] = page.evaluate("document.activeElement.tagName")
    page.keyboard.press("Control+A")
    page.keyboard.type('{"instances": [')
    visit.seen["problem"] = page.locator("main form .problem").inner_text()


def forms(visit: Visit, image: str) -> None:
    """Numbers, text, and an image from a file."""
    page = visit.open("/#kinds")
    page.get_by_label("a, number 1 of 2").fill("1.5")
    page.get_by_label("a, number 2 of 2").fill("2")
    page.get_by_label("true").check()
    page.get_by_role("button", name="Predict").click()
    visit.seen["total"] = page.locator(".shown .answer").inner_text()
    page.get_by_label("Signature").select_option("upper")
    page.get_by_role("textbox", name="text").fill("it's “new”")
    page.get_by_role("button", name="Predict").click()
    visit.seen["upper"] = page.locator(".shown .answer").inner_text()
    visit.seen["command"] = page.locator(".curl").inner_text()
    page.get_by_label("Signature").select_option("negative")
    visit.seen["example"] = page.locator(".curl").inner_text()
    page.get_by_role("button", name="Save request.json").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save request.json").click()
    visit.seen["saved"] = json.loads(Path(saved.value.path()).read_text())
    page.set_input_files("input[type=file]", image)
    page.wait_for_selector(".shown canvas")
    row = "c => [...c.getContext('2d').getImageData(0, 1, 28, 1).data]"
    pixels = page.eval_on_selector(".shown canvas", row)
    visit.seen["bright"], visit.seen["dark"] = pixels[4:8], pixels[56:60]
    # Two rows, one of them invalid: the server's message is shown.
    page.get_by_role("button", name="Edit as JSON").click()
    page.get_by_label("The request").fill('{"signature_name": "upper", "instances": ["a", 2]}')
    page.get_by_role("button", name="Predict").click()
    page.wait_for_selector(".answer-box .problem")
    visit.seen["refused"] = page.locator(".answer-box").inner_text()
    visit.seen["complaints"] = [c for c in visit.seen["complaints"] if "400" not in c]


def texts(visit: Visit, file: str, large: str, shots: str) -> None:
    """A column of strings is typed in; bytes come from a file, unless it is too large."""
    page = visit.open("/#kinds")
    page.get_by_label("Signature").select_option("column")
    page.get_by_role("textbox", name="colour").fill("red")
    visit.seen["typed"] = page.locator(".curl").inner_text()
    page.get_by_role("button", name="Predict").click()
    visit.seen["shouted"] = page.locator(".shown .answer").inner_text()
    page.get_by_role("button", name="Edit as JSON").click()
    rows = '{"signature_name": "column", "instances": [["red"], ["blue"]]}'
    page.get_by_label("The request").fill(rows)
    page.get_by_role("button", name="Predict").click()
    page.get_by_text("BLUE").first.wait_for()
    page.screenshot(path=f"{shots}/column.png", full_page=True)
    page.get_by_label("Signature").select_option("measured")
    page.set_input_files("input[type=file]", large)
    page.get_by_text("can be sent").wait_for()
    visit.seen["too large"] = page.locator("fieldset [role=status]").inner_text()
    page.set_input_files("input[type=file]", file)
    page.get_by_role("button", name="Remove the file").wait_for()
    page.locator(".curl", has_text="b64").wait_for()
    visit.seen["command"] = page.locator(".curl").inner_text()
    page.get_by_role("button", name="Predict").click()
    visit.seen["length"] = page.locator(".shown .answer").inner_text()
    page.screenshot(path=f"{shots}/bytes.png", full_page=True)
    page.get_by_role("button", name="Remove the file").click()
    page.get_by_role("textbox", name="image_bytes").fill("abc")
    visit.seen["typed instead"] = page.locator(".curl").inner_text()


def labels(visit: Visit, shot: str) -> None:
    """Labels are shown beside their versions, and in the choice of versions."""
    page = visit.open("/#labelled")
    versions = page.get_by_role("list", name="Versions")
    versions.wait_for()
    visit.seen["versions"] = versions.get_by_role("listitem").all_inner_texts()
    visit.seen["choice"] = page.get_by_label("Version").locator("option").all_inner_texts()
    page.screenshot(path=shot)


def history(visit: Visit, shot: str) -> None:
    """The charts have axes, and show what happened before the page was opened."""
    page = visit.open("/#kinds")
    lines = page.locator(".rate path.line").first
    page.locator(".rate path.line[d^=M]").first.wait_for(state="attached")
    visit.seen["at once"] = lines.get_attribute("d")
    page.wait_for_timeout(3000)
    visit.seen["highest"] = page.locator(".rate .most").inner_text()
    for name in ("rate", "latency", "rows"):
        visit.seen[name] = page.locator(f".{name} .values span").all_inner_texts()
    visit.seen["times"] = page.locator(".rate .times span").all_inner_texts()
    page.locator(".charts").scroll_into_view_if_needed()
    page.screenshot(path=shot, full_page=True)


def audit(visit: Visit) -> None:
    """Accessible names, contrast and structure, as far as a script can check."""
    page = visit.page
    problems = {}
    for path in ("/#digits", "/#kinds", "/docs"):
        visit.open("/docs")
        visit.open(path)
        page.wait_for_selector(".operation, .curl")
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        if path != "/docs":
            page.get_by_role("button", name="Predict").click()
            page.wait_for_selector(".shown")
        problems[path] = page.evaluate(AUDIT)
    visit.seen["problems"] = problems


def keys(visit: Visit) -> None:
    """The page asks for the key, and again if it is wrong."""
    page = visit.open("/#digits")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    field = page.get_by_role("textbox", name="API key")
    field.fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("not valid").wait_for()
    field.fill("opensesame")
    page.keyboard.press("Enter")
    page.wait_for_selector("canvas.draw")
    page.get_by_role("button", name="Predict").click()
    visit.seen["bars"] = bars(page)
    visit.seen["command"] = page.locator(".curl").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("link", name="See the graph").click()
    visit.seen["graph"] = Path(saved.value.path()).read_text()[:15]
    visit.seen["complaints"] = [c for c in visit.seen["complaints"] if "401" not in c]


def changes(visit: Visit, folder: str) -> None:
    """A version that cannot be loaded appears: the page says why, and keeps the typed text."""
    page = visit.open("/#kinds")
    page.get_by_label("a, number 1 of 2").fill("1.5")
    broken = Path(folder) / "2"
    broken.mkdir()
    (broken / "saved_model.pb").write_bytes(b"damaged")
    try:
        page.get_by_text("version 2: failed").wait_for()
        visit.seen["versions"] = page.get_by_role("list", name="Versions").inner_text()
        visit.seen["typed"] = page.get_by_label("a, number 1 of 2").input_value()
    finally:
        shutil.rmtree(broken)


def shadow(visit: Visit) -> None:
    """A shadow is among the versions; requests are answered by another version, and compared."""
    page = visit.open("/#kinds")
    versions = page.get_by_role("list", name="Versions")
    visit.seen["before"] = versions.inner_text()
    page.get_by_label("a, number 1 of 2").fill("1.5")
    page.get_by_role("button", name="Predict").click()
    page.get_by_text("1 same").wait_for()
    visit.seen["after"] = versions.inner_text()


def docs(visit: Visit) -> None:
    """The API description is shown, and its examples get responses."""
    page = visit.open("/docs")
    page.wait_for_selector(".operation")
    visit.seen["operations"] = page.locator(".operation .path").all_inner_texts()
    page.get_by_role("button", name="Send").first.click()
    page.get_by_label("Answer").first.wait_for()
    visit.seen["answer"] = page.get_by_label("Answer").first.inner_text()


def graph(visit: Visit) -> None:
    """The picture of the graph."""
    page = visit.open("/#digits")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="See the graph").click()
    picture = opened.value
    picture.get_by_text("Conv2D").first.wait_for()
    visit.seen["title"] = picture.title()


def main(name: str, url: str, *arguments: str) -> None:
    """Make one visit."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        sys.exit("chromium is missing: apt install chromium")
    options: dict[str, Any] = {}
    if name == "phone":
        options = {"width": 360, "has_touch": True}
    elif name == "audit":
        options = {"color_scheme": arguments[0]}
        arguments = ()
    with sync_playwright() as playwright:
        # As root, as in containers, Chromium starts only without its sandbox.
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        visit = Visit(browser, url, **options)
        visit.page.set_default_timeout(15000)
        globals()[name](visit, *arguments)
        browser.close()
    print(json.dumps(visit.seen))  # noqa: T201 - this is the answer


main(*sys.argv[1:])
