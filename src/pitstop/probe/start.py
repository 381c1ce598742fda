"""Begins the probe in one process: what is watched before any framework is there."""

import os
import threading

from . import api
from .frameworks import watch
from .processes import command_line, is_forkserver, is_program
from .provided import provide
from .session import Session


def start(folder):
    """Watch this process if it is a program; `folder` is the probe folder. Called once, before the user's first line."""
    arguments = command_line()
    if not is_program(arguments):
        return
    session = Session(folder, quiet=is_forkserver(arguments))
    if not session.quiet:
        session.sightings.touch()
    threading.main_thread()  # numbers threads from the real main thread on, whoever asks first
    os.register_at_fork(before=session.before_fork, after_in_child=session.after_fork)
    api.connect(session)
    provide()
    session.watch.when("argparse", session.on_argparse)
    if session.mode == "profile":
        watch(session)
    session.watch.when("torch", session.on_torch)
