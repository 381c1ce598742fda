"""Hooks for PyTorch, installed once the user's `import torch` is complete. The probe never imports torch first."""

from .hooks import install

__all__ = ["install"]
