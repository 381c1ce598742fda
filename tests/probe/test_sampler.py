"""Stack samples of the main thread: taken, named, stopped, and invisible to the program."""

import json
import sys
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from pitstop.probe.sampler import Sampler


@pytest.fixture
def session(tmp_path):
    faults = []
    return SimpleNamespace(
        folder=str(tmp_path),
        recorder=SimpleNamespace(stem="1-1", flush=lambda: None),
        is_worker=False,
        faults=faults,
        fault=lambda where, error: faults.append((where, error)),
    )


def samples(session):
    return json.loads((Path(session.folder) / "1-1.samples.json").read_text(encoding="utf-8"))


def waits_for(sampler):
    """Inside a category until the sampler has been here."""
    while not any(key[0] == "data_wait" for key in list(sampler._counts)):
        sum(range(1000))


def test_samples_name_category_line_and_library(session):
    sampler = Sampler(session, 500, {waits_for.__code__: "data_wait"})
    threads = threading.active_count()
    sampler.start()
    sampler.start()
    assert threading.active_count() == threads
    waits_for(sampler)
    sampler.stop()
    sampler.write()
    found = [where for where in samples(session) if where.startswith("data_wait|")]
    assert any(where.startswith(f"data_wait|{__file__}:") and "waits_for" in where for where in found)
    assert session.faults == []


def test_no_thread_is_left_after_stop(session):
    before = set(sys._current_frames())
    sampler = Sampler(session, 1000, {})
    sampler.start()
    sampler.stop()
    sampler.stop()
    assert set(sys._current_frames()) == before


class Turnstile:
    """In place of the lock that the sampler sleeps on: lets one sample through, then says so and holds."""

    def __init__(self):
        self.slept, self.sampled, self.go_on = 0, threading.Event(), threading.Event()

    def acquire(self, *_):
        self.slept += 1
        if self.slept == 1:
            return False
        self.sampled.set()
        self.go_on.wait(60)
        return True


def test_a_sample_keeps_nothing_of_the_program_alive(session):
    """Else tensors live longer than without the probe, and are freed in a thread that may outlast the interpreter."""

    class Tensor:
        pass

    def step():
        local = Tensor()
        thread.start()
        assert turnstile.sampled.wait(60)
        return weakref.ref(local)

    turnstile, done = Turnstile(), threading.Lock()
    done.acquire()
    sampler = Sampler(session, 100, {})
    thread = threading.Thread(target=sampler._run, args=(turnstile, done, threading.main_thread().ident))
    alive = step()
    assert alive() is None
    turnstile.go_on.set()
    thread.join(60)
    assert sampler._counts
    assert session.faults == []


def test_outside_of_all_categories_it_is_python_or_a_worker(session):
    sampler = Sampler(session, 100, {})
    sampler._take(sys._getframe())
    session.is_worker = True
    sampler._take(sys._getframe())
    sampler.write()
    assert {where.split("|")[0] for where in samples(session)} == {"python", "worker"}


def test_a_forked_worker_is_no_longer_where_its_parent_was(session):
    """The parent forks inside its loader, and these frames stay on the worker's stack."""

    def waits():
        _worker_loop()

    def _worker_loop():
        json.loads("[1]", parse_int=lambda text: sampler._take(sys._getframe(1)) or int(text))

    session.is_worker = True
    sampler = Sampler(session, 100, {waits.__code__: "data_wait"})
    waits()
    sampler.write()
    (where,) = samples(session)
    assert where.startswith("worker|? > json/")


def test_library_code_below_the_users_is_added(session):
    sampler = Sampler(session, 100, {})
    json.loads("[1]", object_hook=None, parse_int=lambda text: sampler._take(sys._getframe(1)) or int(text))
    sampler.write()
    (where,) = samples(session)
    assert where.startswith(f"python|{__file__}:")
    assert where.endswith(("> json/decoder.py raw_decode", "> json/scanner.py scan_once", "> json/decoder.py decode"))


def test_a_forked_child_has_no_samples_of_the_parent(session):
    sampler = Sampler(session, 100, {})
    sampler._take(sys._getframe())
    sampler.forget()
    sampler.write()
    with pytest.raises(FileNotFoundError):
        samples(session)


def test_the_interpreter_changes_threads_sooner_while_sampling_and_as_usual_afterwards(session):
    usual = sys.getswitchinterval()
    sampler = Sampler(session, 100, {})
    sampler.start()
    assert sys.getswitchinterval() == pytest.approx(0.001)
    sampler.stop()
    assert sys.getswitchinterval() == usual


def test_a_switch_interval_of_the_programs_own_is_left_alone(session):
    usual = sys.getswitchinterval()
    sampler = Sampler(session, 100, {})
    try:
        sys.setswitchinterval(0.01)
        sampler.start()
        assert sys.getswitchinterval() == pytest.approx(0.01)
        sampler.stop()
        sampler.start()
        sys.setswitchinterval(0.02)
        sampler.stop()
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(usual)


def test_what_runs_when_the_program_is_over_is_no_part_of_it(session):
    sampler = Sampler(session, 100, {})
    codes = [compile("", threading.__file__, "exec").replace(co_name=name) for name in ("_shutdown", "<module>")]
    for code in codes:
        sampler._take(SimpleNamespace(f_code=code, f_back=None, f_lineno=1, f_lasti=0))
    assert [key[2].co_name for key in sampler._counts] == ["<module>"]


def looking(session, hz, looks):
    """A sampler that has looked so often from here."""
    sampler = Sampler(session, hz, {})
    for _ in range(looks):
        sampler._take(sys._getframe())
        sampler._counts_look()
    sampler.write()
    return sum(samples(session).values())


@pytest.mark.parametrize(("looks", "counted"), [(3, 3), (249, 249), (250, 50), (260, 60)])
def test_all_looks_of_the_first_second_count_until_it_is_over(session, looks, counted):
    """A program that ends within it has five times the samples; in a longer one each stands for the same time."""
    assert looking(session, 50, looks) == counted


def test_a_forked_child_has_a_first_second_of_its_own(session):
    sampler = Sampler(session, 50, {})
    for _ in range(300):
        sampler._counts_look()
    sampler.forget()
    sampler._take(sys._getframe())
    sampler._counts_look()
    sampler._take(sys._getframe())
    sampler.write()
    assert sum(samples(session).values()) == 2
