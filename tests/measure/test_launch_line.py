import pytest

from pitstop.errors import CouldNotMeasure
from pitstop.measure.launch_line import changed_arguments
from pitstop.records import Change


@pytest.mark.parametrize(
    ("argv", "option", "expected"),
    [
        ("train.py --workers 0 --lr 1", "--workers", "train.py --workers 4 --lr 1"),
        ("train.py --workers=0", "--workers", "train.py --workers=4"),
        ("train.py -j 0", "-j", "train.py -j 4"),
        ("train.py -j0 x", "-j", "train.py -j4 x"),
        ("train.py --workers 0 --workers 1", "--workers", "train.py --workers 0 --workers 4"),
        ("train.py --work 1 --workers 0", "--workers", "train.py --work 1 --workers 4"),
    ],
)
def test_an_option_is_replaced_in_each_way_of_writing_it(argv, option, expected):
    changed = changed_arguments(tuple(argv.split()), Change(replaced_arguments={option: "4"}))
    assert changed == tuple(expected.split())


def test_arguments_are_added_at_the_end():
    changed = changed_arguments(
        ("python", "train.py", "-j", "0"), Change(arguments=("--amp",), replaced_arguments={"-j": "2"})
    )
    assert changed == ("python", "train.py", "-j", "2", "--amp")


def test_an_option_that_is_not_there_is_said():
    with pytest.raises(CouldNotMeasure) as caught:
        changed_arguments(("train.py", "--workers-x", "1"), Change(replaced_arguments={"--workers": "4"}))
    assert caught.value.values["option"] == "--workers"
