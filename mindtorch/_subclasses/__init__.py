"""Tensors that stand for others (``torch._subclasses``): functional ones, which are never written."""
