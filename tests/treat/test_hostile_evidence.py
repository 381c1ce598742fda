"""Evidence that does not fit the sources (a file edited meanwhile, code made by `exec`): refused, or still a Python file, never a crash."""

import ast

import libcst as cst
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.records import Evidence, Site
from pitstop.treat import CannotEdit, build_change, propose_all
from pitstop.treat.edit.parsed import parse_source
from treat.golden import NAMES, view_of


def call_sites(path: str, text: str) -> list[Site]:
    """Every call of a file, as the probe would see it."""
    parsed = parse_source(path, text)
    sites = []
    for call in parsed.nodes(cst.Call):
        span = parsed.position(call)
        end = len(parsed.lines[span.end.line - 1][: span.end.column].encode())
        start = len(parsed.lines[span.start.line - 1][: span.start.column].encode())
        sites.append(Site(path=path, line=span.start.line, end_line=span.end.line, column=start, end_column=end))
    return sites


def with_sites(evidence: Evidence, draw_stack) -> Evidence:
    def moved(sighting):
        return msgspec.structs.replace(sighting, stack=draw_stack())

    return msgspec.structs.replace(
        evidence,
        loaders=tuple(map(moved, evidence.loaders)),
        optimizers=tuple(map(moved, evidence.optimizers)),
        forwards=tuple(map(moved, evidence.forwards)),
        backwards=tuple(map(moved, evidence.backwards)),
    )


@pytest.mark.parametrize("name", NAMES[::3])
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_any_call_may_be_claimed_to_be_any_thing(name, data):
    view = view_of(name)
    sites = [site for path, text in view.sources.items() for site in call_sites(path, text)]
    stacks = st.lists(st.sampled_from(sites), min_size=1, max_size=3).map(tuple)
    view = msgspec.structs.replace(view, evidence=with_sites(view.evidence, lambda: data.draw(stacks)))
    proposals, _ = propose_all(view)
    for proposal in proposals:
        for text in build_change((proposal,), view).files.values():
            ast.parse(text.encode())
    try:
        together = build_change(list({item.group: item for item in proposals}.values()), view)
    except CannotEdit:
        return
    for text in together.files.values():
        ast.parse(text.encode())
