from collections.abc import Iterator

import pytest

from pitstop.messages import LANGUAGES, choose_language


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    choose_language("en")
    yield
    choose_language("en")


@pytest.fixture(params=LANGUAGES)
def each_language(request: pytest.FixtureRequest) -> str:
    return choose_language(request.param)
