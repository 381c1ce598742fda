"""The page as a document: whole, offline, in one language, and closed to the text of a program."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import msgspec
import pytest

from pitstop.messages import choose_language
from pitstop.records.results import TuneResult
from pitstop.report.html import profile_html, tune_html

from .samples import (
    HOSTILE,
    confirmed_tune,
    hostile_tune,
    photo_profile,
    photo_tune,
    starved_tune,
    stepless_profile,
    zero_tune,
)

RESULTS = (photo_profile, stepless_profile, photo_tune, confirmed_tune, zero_tune, starved_tune, hostile_tune)
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Document(HTMLParser):
    """Start tags with their attributes, visible text, and the nesting errors of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.errors: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.errors += [f"<{tag}> never closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.errors.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "style"):
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def page_of(result) -> str:
    return tune_html(result) if isinstance(result, TuneResult) else profile_html(result)


@pytest.fixture(params=RESULTS)
def page(request: pytest.FixtureRequest, each_language: str) -> str:
    return page_of(request.param())


def test_the_page_is_well_formed(page: str) -> None:
    document = Document(page)
    assert page.startswith("<!doctype html>")
    assert document.errors == []
    ids = [attrs["id"] for _, attrs in document.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_page_refers_to_nothing_outside_itself(page: str) -> None:
    for tag, attrs in Document(page).tags:
        assert tag not in ("iframe", "object", "embed", "base", "form", "img", "a", "use", "image")
        assert set(attrs).isdisjoint({"src", "srcset", "action", "xlink:href", "style"})
        assert attrs.get("href") in (None, "data:,")
        assert not [name for name in attrs if name.startswith("on")]
    assert "url(" not in page
    assert "@import" not in page


def test_only_our_own_script_may_run(page: str) -> None:
    """The policy names the digests of the one script and the one style sheet; a browser refuses everything else."""
    (policy,) = [meta["content"] for meta in Document(page).named("meta") if meta.get("http-equiv")]
    assert policy is not None
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    for tag in ("script", "style"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(("chosen", "lang"), [("en", "en"), ("zh", "zh-CN")])
def test_the_language_is_declared(chosen: str, lang: str) -> None:
    choose_language(chosen)
    assert Document(page_of(photo_tune())).named("html") == [{"lang": lang}]


def test_text_of_a_program_is_shown_as_it_is_and_never_obeyed(each_language: str) -> None:
    page = page_of(hostile_tune())
    document = Document(page)
    assert len(document.named("script")) == 1
    assert HOSTILE in document.text
    assert "11337" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    page.encode("utf-8")


def test_tables_have_headers_and_pictures_have_names(page: str) -> None:
    document = Document(page)
    tables, headers = document.named("table"), document.named("th")
    assert all(header.get("scope") in ("row", "col") for header in headers)
    assert bool(tables) == bool(headers)
    ids = {attrs["id"] for _, attrs in document.tags if "id" in attrs}
    for picture in document.named("svg"):
        named = picture.get("aria-hidden") == "true" or picture.get("role") == "img"
        assert named, picture
        assert set((picture.get("aria-labelledby") or "").split()) <= ids


def test_a_tune_shows_the_claim_the_patch_and_every_verdict() -> None:
    text = Document(page_of(photo_tune())).text
    assert text.index("2.31x [2.18, 2.44] as fast") < text.index("2.34x")
    for verdict in photo_tune().verdicts:
        assert " + ".join(verdict.treatments) in text
    assert "num_workers=2," in text
    assert "git apply .pitstop/runs/20261130-142200-train/pitstop.patch" in text
    assert text.count("screened once, no claim") >= 6


def test_the_patch_on_the_page_is_the_patch() -> None:
    body = re.findall(r'<pre class="diff".*?<code>(.*?)</code>', page_of(photo_tune()), flags=re.DOTALL)[0]
    assert Document(f"<p>{body}</p>").text == photo_tune().prescription.diff


def test_a_tune_without_gain_has_no_patch_and_no_bars() -> None:
    page = page_of(zero_tune())
    assert 'class="diff"' not in page
    assert 'class="saved"' not in page
    assert "none made the program faster" in page


def test_a_program_without_steps_has_no_ledger() -> None:
    page = page_of(stepless_profile())
    assert 'class="ledger"' not in page
    assert "PyTorch was never imported" in page


def test_a_bare_result_still_gives_a_page(each_language: str) -> None:
    bare = msgspec.structs.replace(
        zero_tune(),
        baseline=stepless_profile(),
        verdicts=(),
        cannot_apply={},
        sandbox="",
        run_folder=None,
        not_measured=(),
        confirm=None,
    )
    assert Document(page_of(bare)).errors == []


def test_a_long_run_does_not_make_a_large_page() -> None:
    profile = photo_profile()
    long = msgspec.structs.replace(profile, step_times_ns=profile.step_times_ns * 200)
    assert len(page_of(long)) < 2.5 * len(page_of(profile))


def test_colors_of_light_dark_and_print_are_all_defined() -> None:
    """The dark palette is written twice (system and button) and the light one twice (screen and print): they must agree."""
    style = re.findall(r"<style>(.*?)</style>", page_of(photo_profile()), flags=re.DOTALL)[0]
    palettes = [dict(re.findall(r"(--[\w-]+): (#\w+)", body)) for body in re.findall(r":root[^{]*\{([^}]*)\}", style)]
    light, dark, dark_by_system, paper = palettes
    assert dark == dark_by_system
    assert set(light) == set(dark) == set(paper)
    categories = {name for name in light if "_" in name or name in ("--forward", "--backward", "--unknown")}
    assert all(paper[name] == light[name] for name in categories)
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= set(light)


def contrast(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio of two colors."""

    def luminance(color: str) -> float:
        channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("index", [0, 1, 3])
def test_text_and_bars_have_enough_contrast(index: int) -> None:
    """WCAG AA: 4.5 for text, 3 for the parts of a chart."""
    style = re.findall(r"<style>(.*?)</style>", page_of(photo_profile()), flags=re.DOTALL)[0]
    bodies = re.findall(r":root[^{]*\{([^}]*)\}", style)
    colors = dict(re.findall(r"--([\w-]+): (#\w+)", bodies[index]))
    texts = [("ink", "page"), ("ink", "sheet"), ("ink", "fill"), ("soft", "sheet"), ("soft", "page")]
    texts += [(name, f"{name}-fill") for name in ("good", "bad", "warn", "calm")]
    texts += [("good", "add"), ("bad", "del"), ("calm", "fill")]
    parts = [
        "data_wait",
        "host_to_device",
        "forward",
        "backward",
        "optimizer",
        "communication",
        "sync",
        "compile",
        "gc",
    ]
    parts += ["checkpoint", "evaluation", "logging", "python", "unknown"]
    texts += [("on-part", part) for part in parts if part != "unknown"]
    low = {
        pair: round(contrast(colors[pair[0]], colors[pair[1]]), 2)
        for pair in texts
        if contrast(colors[pair[0]], colors[pair[1]]) < 4.5
    }
    assert low == {}
    assert {part for part in parts if contrast(colors[part], colors["sheet"]) < 3} == set()
