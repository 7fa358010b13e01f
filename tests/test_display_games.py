"""The dealer's page with the hands of other games, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from scannerd import games
from scannerd.core.cards import DECK
from tests.browsing import (
    SIZES,
    chromium_fixture,  # noqa: F401 - pytest finds it by name
    misfits,
    page_fixture,  # noqa: F401 - pytest finds it by name
    resize,
)
from tests.showing import Show, showing


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """A table whose pages are served; what it deals does not matter."""
    with showing(tmp_path / "table") as made:
        yield made


@pytest.mark.parametrize("game", games.names())
def test_every_game_fits_every_screen(show: Show, page: Page, game: str) -> None:
    """Whatever game the table deals, each slot is seen whole, and the due one is large, on every screen."""
    plan = list(games.load(game).names)
    shown = {
        "prompt": {"code": "deal", "slot": plan[-1], "hand": plan[-1][0], "conflict_slot": None},
        "round": {"round": "r-1", "plan": plan, "cards": dict(zip(plan[:-1], DECK, strict=False)), "seq": 1},
        "sentences": {"en": f"Deal the next card: {plan[-1]}"},
    }
    hello = {"table": "tp-01", "language": "en", "version": "1.0", "session": "s"}
    events = "".join(
        f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in (("hello", hello), ("show", shown))
    )
    page.route(
        "**/events", lambda route: route.fulfill(body=f"retry: 60000\n{events}", content_type="text/event-stream")
    )
    page.goto(show.url)
    page.wait_for_selector(f"#slot-{plan[-1]}.due")
    assert len(plan) - 1 == page.locator(".face").count()
    for size in SIZES:
        resize(page, size)
        assert [] == misfits(page), size
        box = page.locator(".slot.due").bounding_box()
        assert box is not None
        assert box["width"] * box["height"] > 0.01 * size[0] * size[1], (size, box)
