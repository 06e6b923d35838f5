"""``torch._functorch``: AOTAutograd, which makes graphs of a program and of its derivative before either runs."""
from .._base.lazy import lazily

__getattr__, __dir__ = lazily(__name__, __file__)
