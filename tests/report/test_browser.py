"""The page in a real browser. Skips where no Chromium is installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.records.results import TuneResult
from pitstop.report.html import profile_html, tune_html

from .chromium import Page, browser_page, find_chromium
from .samples import gpu_profile, hostile_tune, photo_profile, photo_tune, stepless_profile, zero_tune

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: the page was not looked at in a browser"
)
BAD = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert CHROMIUM
    with browser_page(CHROMIUM, profile=tmp_path_factory.mktemp("chromium") / "profile") as found:
        yield found


def opened(page: Page, result, *, folder: Path, width: int = 1200, scheme: str = "light") -> Page:
    file = folder / "report.html"
    file.write_text(tune_html(result) if isinstance(result, TuneResult) else profile_html(result), encoding="utf-8")
    page.show_as(width=width, scheme=scheme, phone=width < 600)
    page.open(file)
    return page


@pytest.mark.parametrize("build", [photo_profile, stepless_profile, photo_tune, zero_tune, hostile_tune])
def test_it_loads_alone_without_a_complaint(build, page: Page, each_language: str, tmp_path: Path) -> None:
    opened(page, build(), folder=tmp_path)
    assert page.evaluate("document.readyState") == "complete"
    assert [event for event in page.events if event["method"] in BAD] == []
    requests = [
        event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"
    ]
    assert requests == [(tmp_path / "report.html").as_uri()]


@pytest.mark.parametrize("width", [360, 390, 768, 1200])
@pytest.mark.parametrize("build", [gpu_profile, photo_tune, hostile_tune])
def test_nothing_sticks_out_sideways(build, width: int, page: Page, each_language: str, tmp_path: Path) -> None:
    opened(page, build(), folder=tmp_path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_has_room_for_the_names_of_the_categories(page: Page, tmp_path: Path) -> None:
    opened(page, gpu_profile(), folder=tmp_path, width=390)
    assert (
        page.evaluate("Math.max(...[...document.querySelectorAll('.ledger tbody tr')].map(row => row.offsetHeight))")
        < 60
    )


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_button_switches_light_and_dark_and_says_which(page: Page, tmp_path: Path) -> None:
    opened(page, photo_tune(), folder=tmp_path, scheme="light")
    light = background(page)
    pressed = "document.getElementById('theme').getAttribute('aria-pressed')"
    assert page.evaluate(pressed) == "false"
    page.evaluate("document.getElementById('theme').click()")
    dark = background(page)
    assert (page.evaluate(pressed), dark != light) == ("true", True)
    page.evaluate("document.getElementById('theme').click()")
    assert (page.evaluate(pressed), background(page)) == ("false", light)


def test_the_system_setting_is_followed_and_the_button_overrides_it(page: Page, tmp_path: Path) -> None:
    opened(page, photo_tune(), folder=tmp_path, scheme="light")
    light = background(page)
    opened(page, photo_tune(), folder=tmp_path, scheme="dark")
    assert background(page) != light
    page.evaluate("document.getElementById('theme').click()")
    assert background(page) == light


def test_an_injected_script_would_be_refused(page: Page, tmp_path: Path) -> None:
    """The policy is the second wall: even if escaping failed, nothing runs and nothing is fetched."""
    html = tune_html(photo_tune())
    attack = "<script>window.broken = 1</script><img src='http://127.0.0.1:9/x' onerror='window.broken = 1'>"
    file = tmp_path / "attacked.html"
    file.write_text(html.replace("<main>", f"<main>{attack}"), encoding="utf-8")
    page.open(file)
    assert page.evaluate("window.broken === undefined")
    assert [event for event in page.events if event["method"] == "Log.entryAdded"]
    answered = [event for event in page.events if event["method"] == "Network.responseReceived"]
    assert [event["params"]["response"]["url"] for event in answered] == [file.as_uri()]


def test_the_launch_line_can_be_copied(page: Page, tmp_path: Path) -> None:
    opened(page, photo_tune(), folder=tmp_path)
    page.evaluate("""
        navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); };
        [...document.querySelectorAll('.copy')].at(-2).click()
    """)
    shown = page.evaluate("[...document.querySelectorAll('.copyable code')].at(-2).textContent")
    assert page.evaluate("window.copied") == shown
    assert page.evaluate("[...document.querySelectorAll('.copy')].at(-2).textContent") == "Copied"


def test_colors_on_paper_are_those_of_the_light_page(page: Page, tmp_path: Path) -> None:
    opened(page, photo_tune(), folder=tmp_path, scheme="dark")
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        assert background(page) == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.getElementById('theme')).display") == "none"
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
