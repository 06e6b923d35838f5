"""Backends: what makes a function of a graph (``torch._dynamo.backends``)."""
