"""The choice of gates per class, and the decision."""

import pytest

from pitstop.records import Gate, Numerics
from pitstop.tune.gates import classes_of, decide


def gates(**passed):
    return tuple(Gate(name=name.replace("_", "-"), passed=value) for name, value in passed.items())


ALL = {"finite": True, "teacher_forced_loss": True, "teacher_forced_gradient": True, "trajectory": True}


def test_all_required_gates_passed_is_passed():
    assert decide(gates(**ALL), numerics=Numerics.PRECISION) == "passed"


def test_one_failure_fails_whatever_else_passed():
    assert decide(gates(**ALL, batches=False), numerics=Numerics.PRECISION) == "failed"


def test_a_failure_outweighs_a_gate_that_could_not_be_made():
    assert decide(gates(finite=False, trajectory=None), numerics=Numerics.PRECISION) == "failed"


@pytest.mark.parametrize("missing", sorted(ALL))
def test_a_required_gate_that_was_not_made_leaves_it_open(missing):
    assert decide(gates(**{**ALL, missing: None}), numerics=Numerics.SAME_MATH) == "could not be made"


@pytest.mark.parametrize("missing", sorted(ALL))
def test_a_required_gate_that_is_absent_leaves_it_open(missing):
    rest = {name: value for name, value in ALL.items() if name != missing}
    assert decide(gates(**rest), numerics=Numerics.SAME_DISTRIBUTION) == "could not be made"


def test_gates_without_material_that_no_class_requires_do_not_matter():
    assert decide(gates(**ALL, batches=None, update=None), numerics=Numerics.PRECISION) == "passed"


def test_exact_needs_equal_bits():
    assert decide(gates(bit_equal=True), numerics=Numerics.EXACT) == "passed"
    assert decide(gates(**ALL), numerics=Numerics.EXACT) == "could not be made"


def test_exact_adds_nothing_beside_another_class():
    assert classes_of([Numerics.EXACT, Numerics.PRECISION]) == {Numerics.PRECISION}
    assert classes_of(Numerics.EXACT) == {Numerics.EXACT}


def test_training_has_no_gate():
    with pytest.raises(ValueError, match="trained"):
        classes_of([Numerics.TRAINING, Numerics.PRECISION])
