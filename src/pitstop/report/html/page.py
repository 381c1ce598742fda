"""The page: jinja2 with autoescape, style and script inline and pinned by hash, so that nothing else can load or run."""

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pitstop.messages import language, say
from pitstop.records.results import FitResult, ProfileResult, TuneResult
from pitstop.report.content import ProfilePage, profile_page, tune_page
from pitstop.report.content.facts import command_line
from pitstop.report.content.fit import fit_page
from pitstop.report.html.colored_diff import colored_diff
from pitstop.report.html.forest import forest_plot
from pitstop.report.html.ledger_bar import ledger_bar
from pitstop.report.html.ledger_timeline import ledger_timeline
from pitstop.report.html.pipeline import pipeline
from pitstop.report.html.step_plot import step_plot
from pitstop.report.html.time_saved import time_saved
from pitstop.report.html.utilisation_plot import utilisation_plot
from pitstop.report.numbers import NO_NUMBER

_LANG = {"en": "en", "zh": "zh-CN"}


def profile_html(result: ProfileResult) -> str:
    """Return the page of a profile: a whole HTML document that asks for nothing from anywhere."""
    page = profile_page(result)
    return _render(
        "profile.html.j2",
        title=f"{say('report.title.profile')} · {command_line(result.program.command)}",
        page=page,
        charts=_charts(page, result),
    )


def tune_html(result: TuneResult) -> str:
    """Return the page of a tune: a whole HTML document that asks for nothing from anywhere."""
    page = tune_page(result)
    return _render(
        "tune.html.j2",
        title=f"{say('report.title.tune')} · {command_line(result.baseline.program.command)}",
        page=page,
        saved=time_saved(result.prescription.patched),
        diff=colored_diff(page.handover.diff) if page.handover else (),
        forest=forest_plot(page.verdicts, margin=result.margin),
        charts=_charts(page.baseline, result.baseline),
    )


def fit_html(result: FitResult) -> str:
    """Return the page of a fit: a whole HTML document that asks for nothing from anywhere."""
    page = fit_page(result)
    title = f"{say('fit.title')} · {command_line(result.program.command)}"
    return _render("fit.html.j2", title=title, page=page, diff=colored_diff(page.diff) if page.diff else ())


def _charts(page: ProfilePage, result: ProfileResult) -> dict[str, object]:
    return {
        "ledger": ledger_bar(page.ledger),
        "pipeline": pipeline(result),
        "timeline": ledger_timeline(result.ledger_timeline, warmup=result.steps.warmup),
        "steps": step_plot(result.step_times_ns, warmup=result.steps.warmup),
        "utilisation": utilisation_plot(result.utilisation.get("timeline")),
    }


def _render(template: str, *, title: str, **values: object) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    return (
        _environment()
        .get_template(template)
        .render(
            lang=_LANG[language()],
            title=title,
            # Ours, read from the package: the only text of the page that is not escaped.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            **values,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pitstop.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["say"] = say
    environment.globals["no_number"] = NO_NUMBER
    return environment


@cache
def _asset(name: str) -> str:
    return (resources.files("pitstop.report.html") / "templates" / name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
