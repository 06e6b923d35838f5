"""The magics. Each is a plain function of ``introspect`` and ``viz``, with the notebook's names."""
from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from .._device import get_default_device, set_default_device
from ..introspect import Trace, graph_facts, named_tensors, names_of, observe, storage_facts, tensors_facts
from .._tensor import Tensor
from ..viz import (
    dispatch_page, dispatch_text, graph_page, graph_text, storage_page, storage_text, tensors_page,
    tensors_text,
)  # fmt: skip

HELP = ("-h", "--help")


class Picture:
    """Something to display: HTML where it can be shown, text elsewhere."""

    def __init__(self, html: str, text: str):
        self.html, self.text = html, text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def with_help(magic: Callable[..., Any]) -> Callable[..., Any]:
    """A magic that prints its documentation when asked with ``--help``."""

    @wraps(magic)
    def helpful(self: Magics, line: str, cell: str | None = None) -> Any:
        if line.strip() in HELP:
            print(magic.parser.format_help().removeprefix("::").strip())  # type: ignore[attr-defined]
            return None
        return magic(self, line) if cell is None else magic(self, line, cell)

    return helpful


@magics_class
class MindtorchMagics(Magics):
    """``%tensors``, ``%storage``, ``%graph``, ``%%dispatch``, ``%device``."""

    shell: Any

    def _tensor(self, expression: str, magic: str) -> Any:
        """The tensor that a magic's argument means.

        Raises:
            UsageError: if it is missing, cannot be evaluated, or is no tensor.
        """
        if not expression:
            raise UsageError(f"%{magic} needs a tensor: %{magic} x")
        try:
            value = self.shell.ev(expression)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise UsageError(f"%{magic}: cannot evaluate {expression!r}: {reason}") from None
        if not isinstance(value, Tensor):
            raise UsageError(f"%{magic}: {expression!r} is of type {type(value).__name__}, not a tensor")
        return value

    @with_help
    @line_magic
    @magic_arguments()
    @argument("--device", help="only tensors on this device")
    def tensors(self, line: str) -> Picture:
        """All tensors in the notebook: storages by colour, views, versions, gradients, what is pending."""
        wanted = parse_argstring(self.tensors, line).device
        rows = tensors_facts(self.shell.user_ns)
        rows = [row for row in rows if wanted in (None, row.device, row.device.partition(":")[0])]
        return Picture(tensors_page(rows), tensors_text(rows))

    @with_help
    @line_magic
    @magic_arguments()
    @argument("tensor", nargs="*", help="the tensor: a name or an expression")
    def storage(self, line: str) -> Picture:
        """Who shares this tensor's storage, and which elements each covers."""
        facts = storage_facts(self._tensor(line.strip(), "storage"), names_of(self.shell.user_ns))
        return Picture(storage_page(facts), storage_text(facts))

    @with_help
    @line_magic
    @magic_arguments()
    @argument("tensor", nargs="*", help="the tensor whose history is shown: a name or an expression")
    def graph(self, line: str) -> Picture:
        """The autograd graph behind a tensor: operators, shapes, saved tensors, hooks, named leaves."""
        tensor = self._tensor(line.strip(), "graph")
        try:
            facts = graph_facts(tensor, dict(named_tensors(self.shell.user_ns)))
        except ValueError as error:
            raise UsageError(f"%graph: {error}") from None
        return Picture(graph_page(facts), graph_text(facts))

    @with_help
    @line_cell_magic
    @magic_arguments()
    @argument("--top", action="store_true", help="only operators that the cell calls, not those inside them")
    @argument("statement", nargs="*", help="what to run, where there is no cell")
    def dispatch(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show each operator: keys, kernel with file and line, output, time."""
        if cell is None:
            top, code = line.startswith("--top "), line.removeprefix("--top ")
        else:
            top, code = parse_argstring(self.dispatch, line).top, cell
        trace = Trace()
        try:
            with observe() as trace:
                return self._run(code)
        finally:
            events = [event for event in trace.events if not (top and event.depth)]
            display(Picture(dispatch_page(events), dispatch_text(events)))

    def _run(self, code: str) -> Any:
        """Run code in the notebook's namespace; the value of its last expression."""
        shell = self.shell
        source = shell.transform_cell(code)
        name = shell.compile.cache(source, len(shell.user_ns["In"]) - 1, code)  # tracebacks show the lines
        body = shell.compile.ast_parse(source, name).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), shell.user_ns)
        if last is None:
            return None
        return eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns)

    @with_help
    @line_magic
    @magic_arguments()
    @argument("device", nargs="?", help="the device for new tensors; without it, the current one is shown")
    def device(self, line: str) -> Any:
        """Show or set the default device."""
        wanted = parse_argstring(self.device, line).device
        if wanted is not None:
            try:
                set_default_device(wanted)
            except RuntimeError as error:
                raise UsageError(f"%device: {error}") from None
        return get_default_device()

    @context_matcher()
    def complete(self, context: CompletionContext) -> Any:
        """The options of the magic on the line."""
        words = context.line_with_cursor.split()
        name = words[0].lstrip("%") if words and words[0].startswith("%") else ""
        magic = next((table[name] for table in self.magics.values() if name in table), None)
        options = () if magic is None else (*magic.parser._option_string_actions, "--help")
        found = [option for option in options if option.startswith(context.token or "-")]
        completions = [SimpleCompletion(option, type="option") for option in found]
        return {"completions": completions, "suppress": context.token.startswith("-") and bool(found)}
