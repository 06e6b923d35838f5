"""``torch._functorch``: AOTAutograd, which makes graphs of a program and of its derivative before either runs."""
