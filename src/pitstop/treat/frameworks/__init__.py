"""Settings of training frameworks that do what a treatment wants: one file per framework."""

from pitstop.treat.frameworks.setting import set_in_framework, training_library

__all__ = ["set_in_framework", "training_library"]
