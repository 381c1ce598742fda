"""What an intervention says about the findings."""

import math

import pytest

from pitstop.api.interventions import with_measured_ceilings
from pitstop.records.results import Finding, InterventionResult


def finding(layer: str, ceiling: float) -> Finding:
    return Finding(
        fault="some-fault",
        catalogue=("T1",),
        layer=layer,
        share=0.5,
        ceiling_speedup=ceiling,
        confidence="high",
        evidence=("data_wait is 50% (ledger)",),
        treatments=(),
    )


CACHED = InterventionResult(what="cached-batch", speedup=1.4, outcome="measured")


@pytest.mark.parametrize(
    ("found", "seen", "ceiling"),
    [
        (finding("data", 2.0), (CACHED,), 1.4),
        (finding("data", math.inf), (CACHED,), 1.4),
        (finding("data", 1.2), (CACHED,), 1.2),
        (finding("compute", 2.0), (CACHED,), 2.0),
        (finding("data", 2.0), (), 2.0),
        (finding("data", 2.0), (InterventionResult(what="cached-batch", speedup=None, outcome="busy"),), 2.0),
        (finding("data", 2.0), (InterventionResult(what="loader-alone", speedup=1.1, outcome="measured"),), 2.0),
        (finding("data", 2.0), (InterventionResult(what="cached-batch", speedup=0.97, outcome="measured"),), 1.0),
    ],
    ids=["tighter", "of none", "the ledger's is", "another layer", "not made", "nothing came", "another", "slower"],
)
def test_the_cached_batch_bounds_what_a_remedy_of_the_input_can_gain(found, seen, ceiling):
    (after,) = with_measured_ceilings((found,), seen)
    assert after.ceiling_speedup == ceiling
    assert (after.evidence != found.evidence) == (ceiling != found.ceiling_speedup)
