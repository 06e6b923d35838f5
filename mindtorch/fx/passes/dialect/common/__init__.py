"""Passes for graphs of any operators (``torch.fx.passes.dialect.common``)."""
