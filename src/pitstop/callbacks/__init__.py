"""Callbacks of training frameworks: a run that is profiled without `pitstop profile` in front. One file per framework."""
