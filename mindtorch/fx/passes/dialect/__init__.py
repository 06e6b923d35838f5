"""Passes for graphs of one kind of operators (``torch.fx.passes.dialect``)."""
