"""The data pipeline in words, and in every form of the report."""

import msgspec
import pytest

from pitstop.messages import choose_language
from pitstop.records.results import Shadow
from pitstop.report.content.findings import hot_rows
from pitstop.report.content.pipeline import pipeline_facts
from pitstop.report.html import profile_html
from pitstop.report.markdown import profile_markdown
from pitstop.report.terminal import profile_screen

from .samples import photo_pipeline, photo_profile


def test_one_loader_is_four_lines():
    times, parts, hot, batch = pipeline_facts(photo_profile())
    assert times.name == "train.py:39"
    assert "in the training process" in times.value
    assert "p90" in times.value
    assert parts.value.startswith("decoding 76")
    assert hot.value.startswith("photos.py:27 Photos.__getitem__ > PIL/ImageFile.py load 74")
    assert "32 samples" in batch.value
    assert "[0] float32 32x3x224x224" in batch.value
    assert "[1] int64 32x17 (varying) (43" in batch.value


def test_a_hot_place_in_a_worker_says_so():
    hot = (Shadow(where="worker|/home/ana/photos/photos.py:27 get > PIL/ImageFile.py load", share=0.5),)
    (row,) = hot_rows(msgspec.structs.replace(photo_profile(), hot=hot))
    assert (row.name, row.where) == ("loader worker", "photos.py:27 get > PIL/ImageFile.py load")


def test_what_was_not_measured_is_left_out():
    bare = msgspec.structs.replace(
        photo_pipeline(), parts=(), tensors=(), hot=(), batch_bytes=None, smallest_batch=None, sample_mean_ns=None
    )
    facts = pipeline_facts(msgspec.structs.replace(photo_profile(), pipeline=(bare,)))
    assert [fact.name for fact in facts] == ["train.py:39"]
    assert pipeline_facts(msgspec.structs.replace(photo_profile(), pipeline=())) == ()


@pytest.mark.parametrize("render", [profile_screen, profile_markdown, profile_html])
def test_every_report_shows_it_in_both_languages(render):
    result = photo_profile()
    assert "decoding" in render(result)
    try:
        choose_language("zh")
        assert "解码" in render(result)
    finally:
        choose_language("en")
