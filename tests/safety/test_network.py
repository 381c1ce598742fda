"""A trial reaches nobody: not the network, not a service of this machine; and two trials never meet."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

PHONE = """
import socket
with socket.socket() as s:
    s.settimeout(20)
    try: s.connect(("192.0.2.1", 80)); print("connected")
    except TimeoutError: print("waited")
    except OSError as error: print("refused")
"""


def test_phoning_out_fails_at_once(trials):
    run = trials.run(PHONE)
    assert (run.exit_code, trials.stdout) == (0, "refused\n"), trials.stderr


def test_phoning_out_fails_without_a_network_namespace_too(trials_in):
    trials = trials_in("copy-no-tcp")
    run = trials.run(PHONE)
    assert (run.exit_code, trials.stdout) == (0, "refused\n"), trials.stderr


@contextmanager
def listening(server: socket.socket) -> Iterator[list[object]]:
    """Everybody who connects to `server` meanwhile."""
    arrived: list[object] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            arrived.append(connection)
            connection.close()

    server.listen()
    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield arrived
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


@pytest.mark.parametrize("kind", ["overlay", "user-namespace", "no-pid-namespace", "copy", "copy-no-tcp"])
def test_a_server_on_this_machine_is_not_reached(trials_in, kind):
    trials = trials_in(kind)
    with socket.create_server(("127.0.0.1", 0)) as server, listening(server) as arrived:
        port = server.getsockname()[1]
        run = trials.run(f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=20)")
    assert run.exit_code == 1
    assert not arrived


@pytest.mark.parametrize("kind", ["overlay", "user-namespace", "no-pid-namespace"])
def test_a_socket_file_of_a_service_is_not_reached(trials_in, kind):
    """As /var/run/docker.sock: the file is seen, and nobody answers."""
    trials = trials_in(kind)
    path = trials.home.path / "service.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        trials.home.before = trials.home.digest()
        with listening(server) as arrived:
            run = trials.run(f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})")
    assert run.exit_code == 1
    assert "ConnectionRefusedError" in trials.stderr
    assert not arrived


def test_an_abstract_socket_is_not_reached(trials):
    name = "\0pitstop-test-abstract"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        with listening(server) as arrived:
            run = trials.run(f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})".replace("\0", "\\0"))
    assert run.exit_code == 1
    assert not arrived


LOCAL = """
import socket, threading
server = socket.create_server(("127.0.0.1", 29517))
thread = threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"))
thread.start()
print(socket.create_connection(("localhost", 29517)).recv(5).decode())
name = socket.gethostname()
socket.getaddrinfo("localhost", 80)
thread.join()
import os; os._exit(0)
"""


def test_a_fixed_port_is_free_for_every_trial_and_works(trials):
    """As torchrun's 29500: bound, met on loopback, never closed; the next trial binds it again."""
    for _ in range(2):
        run = trials.run(LOCAL)
        assert (run.exit_code, trials.stdout) == (0, "hello\n"), trials.stderr


def test_a_port_held_by_another_program_does_not_matter(trials_in):
    with socket.create_server(("127.0.0.1", 29517), reuse_port=True):
        trials = trials_in("overlay")
        run = trials.run(LOCAL)
    assert (run.exit_code, trials.stdout) == (0, "hello\n"), trials.stderr


def test_libraries_are_told_to_stay_offline(trials):
    run = trials.run("import os; print(os.environ['HF_HUB_OFFLINE'], os.environ['WANDB_MODE'])")
    assert (run.exit_code, trials.stdout) == (0, "1 offline\n")


def test_an_open_network_is_left_as_it_is(trials_in):
    trials = trials_in("overlay")
    plan = msgspec.structs.replace(trials.plan, network="open")
    with socket.create_server(("127.0.0.1", 0)) as server, listening(server) as arrived:
        port = server.getsockname()[1]
        text = f"import os, socket; socket.create_connection(('127.0.0.1', {port})); print('WANDB_MODE' in os.environ)"
        run = trials.run(text, plan=plan)
    assert (run.exit_code, trials.stdout, len(arrived)) == (0, "False\n", 1), trials.stderr
