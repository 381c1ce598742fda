"""Editing of the user's sources: find the expression that really ran, change it, keep everything else to the byte."""

from pitstop.treat.edit.draft import Draft

__all__ = ["Draft"]
