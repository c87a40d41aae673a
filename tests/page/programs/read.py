"""Visits the documentation with a real browser and searches it. Prints observations as JSON.

python read.py URL WORD PAGE...
"""

from __future__ import annotations

import json
import os
import shutil
import sys

from playwright.sync_api import sync_playwright


def main() -> None:
    """Run the command line."""
    url, word, *pages = sys.argv[1:]
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    # As root, as in containers, Chromium starts only without its sandbox.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        page = browser.new_page()
        page.set_default_timeout(60_000)
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "response",
            lambda answer: complaints.append(answer.url) if answer.status >= 400 else None,
        )
        titles = []
        for name in pages:
            page.goto(url + name)
            titles.append(page.locator("h1").first.inner_text())
        page.get_by_role("button", name="Search").first.click()
        page.get_by_role("combobox").or_(page.get_by_role("textbox")).first.fill(word)
        found = page.locator(f"a[href*='{word}']").first
        found.wait_for()
        target = found.get_attribute("href")
        browser.close()
    seen = {"titles": titles, "found": target, "requests": requests, "complaints": complaints}
    print(json.dumps(seen))  # noqa: T201 - this is the answer


if __name__ == "__main__":
    main()
