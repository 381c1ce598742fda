"""The part of pitstop that runs inside the user's interpreter: standard library only, CPython >= 3.9, fails open.

It is loaded by `inject/sitecustomize.py` under the private name `_pitstop_probe`, so everything here imports relatively.
Hooks of a framework go into its own package and are installed once the user has imported that framework.
"""
