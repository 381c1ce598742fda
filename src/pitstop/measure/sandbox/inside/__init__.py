"""Runs inside the launched process, before the user's program: standard library only, started by path.

`main.py` is the story. Nothing here may import the rest of pitstop: the interpreter is started with `-I -S`,
and what it does must be readable as one piece by whoever checks the protection.
"""
