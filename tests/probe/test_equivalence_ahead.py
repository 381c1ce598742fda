"""Loops that fetch batches before they use them: a step gets the batch that its own forward was called with."""

from textwrap import dedent

import pytest
from test_equivalence_session import driver, execute, plain_errors  # noqa: F401 (fixtures)

pytestmark = pytest.mark.torch

ALL = ["float64", "plain", "ulp", "ulp-2", "bf16"]
REPLAYED = {"steps": 12, "captures": 3, "replay": ALL}
MODEL = """
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(data, batch_size=16, shuffle=True)
def train(x, y):
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LOSS = "F.cross_entropy(model(x), y)"
ONE_AHEAD = """
def batches():
    following = None
    for batch in loader:
        if following is not None:
            yield following
        following = {ready}
    yield following
for epoch in range(40):
    for x, y in batches():
        train(x, y)
"""
SHAPES = {
    "one ahead": (LOSS, ONE_AHEAD.format(ready="batch")),
    # What a copy on a device is, and what `.float()` at the time of the fetch does to a batch in fp64.
    "copied when fetched": (LOSS, ONE_AHEAD.format(ready="[batch[0].clone().float(), batch[1].clone()]")),
    # The model is not given what the loader delivered, but the criterion is.
    "changed when fetched": (
        "nn.CrossEntropyLoss()(model(x), y)",
        ONE_AHEAD.format(ready="[batch[0] * 0.5, batch[1].clone()]"),
    ),
    "five ahead": (
        LOSS,
        """
        from collections import deque
        def batches():
            queue = deque()
            for batch in loader:
                queue.append(batch)
                if len(queue) > 5:
                    yield queue.popleft()
            yield from queue
        for epoch in range(40):
            for x, y in batches():
                train(x, y)
        """,
    ),
    "by a thread": (
        LOSS,
        """
        import queue, threading
        def fill(q):
            for batch in loader:
                q.put(batch)
            q.put(None)
        for epoch in range(40):
            q = queue.Queue(3)
            threading.Thread(target=fill, args=(q,), daemon=True).start()
            while (batch := q.get()) is not None:
                train(*batch)
        """,
    ),
    "the first batch looked at and left": (
        LOSS,
        """
        for epoch in range(40):
            example = next(iter(loader))
            for x, y in loader:
                train(x, y)
        """,
    ),
}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda name: name.replace(" ", "-"))
def test_a_step_is_computed_again_from_the_batch_that_it_used(execute, shape):  # noqa: F811
    loss, source = SHAPES[shape]
    code, result, output = execute(MODEL.format(loss=loss) + dedent(source), REPLAYED)
    assert (code, result["faults"]) == (0, []), output
    assert len(result["replays"]) == 15
    assert all(one["missing_fetches"] == 0 and not one["errors"] for one in result["replays"])
    if shape != "by a thread":
        assert set(plain_errors(result)) == {0.0}
    arbiter = [one["to_capture"]["gradient"] for one in result["replays"] if one["variant"] == "float64"]
    assert 0 < max(arbiter) < 1e-5


SCALED = """
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale={scale})
mean = torch.zeros(3)
for epoch in range(40):
    for x, y in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            out = model(x)
        loss = F.cross_entropy(out.type(torch.FloatTensor), y)
        mean.lerp_(out.detach().float().mean(0), 0.1)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_program_with_autocast_casts_and_a_scaler_is_computed_again_in_fp64(execute):  # noqa: F811
    """Its own casts, a tensor of its own that it updates in place, and the scaler's float32 numbers."""
    code, result, output = execute(SCALED.format(scale=2.0**12), REPLAYED)
    assert (code, result["faults"], result["crash"]) == (0, [], None), output
    assert set(plain_errors(result)) == {0.0}
    arbiter = [one["to_capture"]["gradient"] for one in result["replays"] if one["variant"] == "float64"]
    assert 0 < max(arbiter) < 0.05  # bfloat16 against fp64


def test_losses_are_compared_as_they_were_before_a_scaler(execute):  # noqa: F811
    config = {"steps": 6}
    one, two = (execute(SCALED.format(scale=scale), config, name=f"scale-{scale}")[1] for scale in (1.0, 1024.0))
    assert one["losses"] == two["losses"]
    assert one["losses"][0][0] < 3
