"""Debian's Chromium, driven by Playwright, without a window."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
REBOUND = "rebound.example"
"""A stranger's name that resolves to this machine, as after DNS rebinding."""

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--mute-audio",
         f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1", "--autoplay-policy=no-user-gesture-required"]  # fmt: skip
PANEL, TABLET, TV, LARGE, UPRIGHT = (800, 480), (1024, 600), (1920, 1080), (3840, 2160), (480, 800)
"""Two 7-inch panels, a television, a large one, and a panel turned upright."""

SIZES = (PANEL, TABLET, TV, LARGE, UPRIGHT)

AA, AA_LARGE = 4.5, 3.0
"""Contrast that WCAG 2.2 asks for (1.4.3): of text, and of text from 24 px, or bold from 18.66 px."""

PATIENCE_MS = 20_000
"""Milliseconds that a test waits for what must come."""

expect.set_options(timeout=PATIENCE_MS)

_TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_MISFITS = """
() => {
  const out = [...document.querySelectorAll(".slot, .hand, #say, header, header > *")]
    .filter(one => one.checkVisibility() && !one.matches(".gap, .quiet"))
    .filter(one => { const box = one.getBoundingClientRect(); return box.left < -1 || box.top < -1
      || box.right > innerWidth + 1 || box.bottom > innerHeight + 1; })
    .map(one => `${one.id || one.className} is outside`);
  const cut = [...document.querySelectorAll("#sentence, .slot .word, .hand h2, #refused, header button, header a")]
    .filter(one => one.checkVisibility() && one.textContent)
    .filter(one => one.scrollWidth > one.clientWidth + 1
      || (getComputedStyle(one).overflowY !== "visible" && one.scrollHeight > one.clientHeight + 1))
    .map(one => `${one.id || one.className} is cut: ${one.textContent}`);
  const root = document.scrollingElement;
  const scrolls = root.scrollHeight > innerHeight || root.scrollWidth > innerWidth ? ["the page scrolls"] : [];
  return [...out, ...cut, ...scrolls];
}
"""
_IN_EACH_LANGUAGE = """
() => {
  const select = document.querySelector("#language");
  const before = select.value;
  const choose = language => { select.value = language; select.dispatchEvent(new Event("change")); };
  const told = [...select.options].map(({ value }) => {
    choose(value);
    return [value, document.querySelector("#sentence").textContent, (MISFITS)()];
  });
  choose(before);
  return told;
}
""".replace("MISFITS", _MISFITS)
_FAINT = """
() => {
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const over = (top, under) => [0, 1, 2].map(n => top[n] * top[3] + under[n] * (1 - top[3])).concat(1);
  const ground = one => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const speaks = one => one.matches("select, input") ||
    [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  return [...document.querySelectorAll("body, body *")]
    .filter(one => !one.closest("svg, script, option") && one.checkVisibility() && speaks(one))
    .filter(one => !one.closest(":disabled, .quiet"))
    .map(one => {
      const style = getComputedStyle(one);
      const under = ground(one);
      const [a, b] = [light(over(parse(style.color), under)), light(under)];
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const name = `${one.tagName} ${one.id || one.className}: ${one.textContent.trim().slice(0, 30)}`;
      return { name, ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), enough: large ? LARGE : SMALL };
    });
}
""".replace("LARGE :", f"{AA_LARGE} :").replace("SMALL }", f"{AA} }}")
_NAMELESS = """
() => [...document.querySelectorAll("button, select, input, a, summary")]
  .filter(one => one.checkVisibility())
  .filter(one => !(one.getAttribute("aria-label") || one.innerText?.trim() || one.labels?.[0]?.textContent.trim()))
  .map(one => one.outerHTML)
"""
_FOCUSED = """
() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && one.matches(":focus-visible");
  const row = one.closest("details, td")?.querySelector("strong, button") ?? one;
  return [one === document.body ? "" : one.id || one.getAttribute("href") || row.textContent, seen];
}
"""


@pytest.fixture(name="chromium", scope="module")
def chromium_fixture() -> Iterator[Browser]:
    """One browser for the tests of a module; without Chromium they are skipped."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("chromium is not installed: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(name="page")
def page_fixture(chromium: Browser) -> Iterator[Page]:
    """A page of a new visitor, the size of a 7-inch panel; an exception in its script fails the test."""
    context = chromium.new_context(viewport={"width": PANEL[0], "height": PANEL[1]})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    assert [] == faults


def resize(page: Page, size: tuple[int, int]) -> None:
    """Gives the window another size, and returns once the page has drawn itself so."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate(_TWO_FRAMES)


def misfits(page: Page) -> list[str]:
    """What of the dealer's page is outside the window, is cut off, or makes it scroll."""
    found: list[str] = page.evaluate(_MISFITS)
    return found


def in_each_language(page: Page) -> dict[str, tuple[str, list[str]]]:
    """The dealer's sentence in every language that the page offers, and what does not fit in that language."""
    told: list[tuple[str, str, list[str]]] = page.evaluate(_IN_EACH_LANGUAGE)
    return {language: (_plain(sentence), found) for language, sentence, found in told}


def faint(page: Page) -> list[str]:
    """Every text that stands out from its ground by less than WCAG AA asks for, as the browser has computed it."""
    found: list[dict[str, object]] = page.evaluate(_FAINT)
    assert found, "the page has no text"
    return [
        f"{one['name']} has {one['ratio']:.2f}" for one in found if float(str(one["ratio"])) < float(str(one["enough"]))
    ]


def nameless(page: Page) -> list[str]:
    """Whatever can be focused and has no name for a screen reader."""
    found: list[str] = page.evaluate(_NAMELESS)
    return found


def tabbed(page: Page, times: int) -> list[str]:
    """What the tab key leads to, in order; each must be seen to have the focus."""
    order: list[str] = []
    for _ in range(times):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(_FOCUSED)
        assert seen or not name, f"the focus is not seen on {name}"
        order.append(name)
    return order


def see(page: Page, code: str) -> str:
    """Waits until the page shows this prompt, and returns the sentence that the dealer reads."""
    page.wait_for_selector(f"body[data-code={code}]:not(.lost)" if code != "lost" else "body.lost[data-code=lost]")
    return _plain(page.inner_text("#sentence"))


def says(page: Page, where: str, beginning: str) -> None:
    """Waits until an element's text begins so."""
    page.wait_for_selector(f"{where}:has-text({json.dumps(beginning)})")


def sign_in(page: Page, url: str, pin: str, name: str = "Ana") -> None:
    """Goes to the supervisor's page of the pages at `url` and signs in, by keyboard."""
    page.goto(f"{url}supervisor")
    page.wait_for_selector("#sign-in:not([hidden])")
    page.fill("#name", name)
    page.fill("#pin", pin)
    page.keyboard.press("Enter")
    page.wait_for_selector("#inside:not([hidden]) details")


def cards(page: Page) -> dict[str, str]:
    """What lies in each slot, as a screen reader says it."""
    labels: list[str] = page.eval_on_selector_all(".slot", "all => all.map(one => one.getAttribute('aria-label'))")
    return dict(label.split(": ", 1) for label in labels)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)
