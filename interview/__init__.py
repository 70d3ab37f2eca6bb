"""The Django project of Prefill and its apps."""

__version__ = "0.1.0"
