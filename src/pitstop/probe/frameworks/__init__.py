"""Where the program configures a training framework: what a person would change there instead of in the framework's source."""

from .watching import watch

__all__ = ["watch"]
