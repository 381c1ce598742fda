"""pitstop takes in a slow AI program and hands back a faster one, with proof."""

__all__ = ["__version__"]

__version__ = "0.1.0"
