"""Functions rewritten so that tracing sees their assertions and annotations (``torch.fx.experimental.rewriter``)."""
from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...nn.module import Module
from .._tracer import Tracer
from ..graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]
__dir__ = __all__.copy


class AST_Rewriter(ast.NodeTransformer):
    """Has ``assert`` be ``torch._assert``, and annotated assignments be calls of ``annotate``
    (``torch.fx.experimental.rewriter.AST_Rewriter``).
    """

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """Return a function that is written so."""
        source = inspect.getsource(fn)
        source = f"if True:\n{source}" if source[0].isspace() else source  # a text in it may be indented less
        tree = self.visit(ast.parse(source))
        scope = dict(fn.__globals__)
        exec(compile(ast.fix_missing_locations(tree), "", "exec"), scope)
        made = scope[fn.__name__]
        rewritten = FunctionType(made.__code__, fn.__globals__, made.__name__, made.__defaults__, made.__closure__)
        functools.update_wrapper(rewritten, made)
        rewritten.__kwdefaults__ = copy.copy(made.__kwdefaults__)
        return rewritten

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """Return the call for an assertion."""
        function = ast.parse("torch._assert", mode="eval").body
        call = ast.Call(function, [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Return the assignment of an annotated value."""
        if node.value is None:
            return node
        call = ast.Call(ast.Name("annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


class RewritingTracer(Tracer):
    """A tracer that rewrites functions first (``torch.fx.experimental.rewriter.RewritingTracer``)."""

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a rewritten module or function."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(root: Any) -> Any:
    if not isinstance(root, Module):
        return AST_Rewriter().rewrite(root)
    forward = AST_Rewriter().rewrite(type(root).forward)  # type: ignore[arg-type]
    rewritten = type("RewrittenModule", (Module,), {"forward": forward})()
    for name, value in vars(root).items():
        vars(rewritten)[name] = copy.copy(value)
    rewritten._modules = {name: module if module is None or Tracer().is_leaf_module(module, "") else _rewrite(module)
                          for name, module in root._modules.items()}
    return rewritten
