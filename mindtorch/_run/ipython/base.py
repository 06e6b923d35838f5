"""The common parts of all magics: help, completion of options, running a cell, pictures."""
from __future__ import annotations

import ast
import difflib
import operator
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, output_can_be_silenced
from IPython.core.magic_arguments import magic_arguments, parse_argstring
from IPython.display import display

from ... import introspect, viz
from ..._device import device

if TYPE_CHECKING:
    from ...viz.html import Markup

HELP = ("-h", "--help")
UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")  #: what ``argparse`` says of them
TENSOR_MAGICS = ("storage", "graph")  #: those whose argument is a tensor


class Picture:
    """Something to display: HTML where it can be shown, text elsewhere."""

    def __init__(self, html: Markup, text: str = ""):
        self.html, self.text = html, text or html.plain.strip("\n")

    def _repr_html_(self) -> str:
        return str(viz.copyable(self.html))

    def __repr__(self) -> str:
        return self.text


def magic(kind: Callable[..., Any], *arguments: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method a magic with these arguments and ``--help``; a final semicolon suppresses the value."""

    def made(method: Callable[..., Any]) -> Callable[..., Any]:
        for declared in reversed(arguments):
            method = declared(method)
        parsed = kind(magic_arguments()(method))

        @wraps(parsed)
        def helpful(self: MagicGroup, line: str, cell: str | None = None) -> Any:
            if line.strip() in HELP:
                print(parsed.parser.format_help().removeprefix("::").strip())
                return None
            try:
                found = parsed(self, line) if cell is None else parsed(self, line, cell)
            except UsageError as error:  # of arguments, IPython does not say whose they are
                name = parsed.__name__
                said = re.sub(r"^argument \w+: ", "", str(error))
                if unknown := UNKNOWN.match(said):
                    what = "has no option" if unknown[1].startswith("-") else "does not take"
                    said = f"%{name} {what} {unknown[1]}: %{name} --help lists what it takes"
                raise UsageError(said if said.lstrip("%").startswith(name) else f"%{name}: {said}") from None
            self.last = found if isinstance(found, Picture) else self.last
            return found

        return output_can_be_silenced(helpful) if kind is line_cell_magic else helpful

    return made


NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
NOT_FOUND = re.compile(r"(?:Line magic function|Cell magic) `(%+)(\w+)` not found")  #: what IPython says


def suggest_magic(shell: Any, error: BaseException | None) -> str:
    """Return the correction of a mistyped magic; '' if the error is another, or no magic is spelt nearly so."""
    found = NOT_FOUND.match(str(error)) if isinstance(error, UsageError) else None
    if found is None:
        return ""
    known = shell.magics_manager.registry["MindtorchMagics"].magics["cell" if found[1] == "%%" else "line"]
    near = difflib.get_close_matches(found[2], known, 1)
    return f"did you mean {found[1]}{near[0]}? %mindtorch lists the magics" if near else ""


def help_alone(lines: list[str]) -> list[str]:
    """Rewrite a cell that only asks a cell magic for help: IPython refuses cell magics without a body."""
    asked = re.match(r"%%(\w+)\s+(?:-h|--help)\s*$", lines[0]) if lines else None
    return [f"%{asked[1]} --help\n"] if asked and not "".join(lines[1:]).strip() else lines


class MagicGroup(Magics):
    """The common parts of all magics."""

    shell: Any
    last: Picture | None = None  #: the last picture that a magic drew

    @context_matcher(identifier="mindtorch")
    def complete(self, context: CompletionContext) -> Any:
        """Find options and tensors for the magic on the line, for IPython's completer."""
        words = context.line_with_cursor.split()
        name = words[0].lstrip("%") if words and words[0].startswith("%") else ""
        magic = next((table[name] for table in self.magics.values() if name in table), None)
        options = () if magic is None else (*magic.parser._option_string_actions, "--help")
        found = [option for option in options if option.startswith(context.token or "-")]
        completions = [SimpleCompletion(option, type="option") for option in found]
        if name in TENSOR_MAGICS and not context.token.startswith("-"):
            names = (tensor for tensor, _ in introspect.named_tensors(self.shell.user_ns))
            completions += [SimpleCompletion(tensor, type="tensor") for tensor in names
                            if tensor.startswith(context.token)]
        return {"completions": completions, "suppress": context.token.startswith("-") and bool(found)}

    def _tensor(self, expression: str, magic: str, is_other: Callable[[Any], bool] = lambda value: False) -> Any:
        """Return the tensor, or other object, that a magic's argument means."""
        if not expression:
            raise UsageError(f"%{magic} needs a tensor: %{magic} x")
        value = self._value(expression, magic)
        if not introspect.is_tensor(value) and not is_other(value):
            raise UsageError(f"%{magic}: {expression!r} is of type {type(value).__name__}, not a tensor")
        return value

    def _value(self, expression: str, magic: str) -> Any:
        if expression.startswith("--"):
            raise UsageError(f"%{magic} has no option {expression.split()[0]}: %{magic} --help lists what it takes")
        try:
            return self.shell.ev(expression)
        except SyntaxError as error:
            raise UsageError(f"%{magic}: {expression!r} is no expression: {error.msg}") from None
        except Exception as error:
            said = f"%{magic}: cannot evaluate {expression!r}: {type(error).__name__}: {error}"
            near = self._near(error.name) if isinstance(error, NameError) and error.name else []
            raise UsageError(f"{said}; did you mean {' or '.join(near)}?" if near else said) from None

    def _near(self, name: str) -> list[str]:
        """Return names in the notebook that are spelt like a missing one."""
        there = [known for known in self.shell.user_ns if not known.startswith("_")]
        return difflib.get_close_matches(name, there, 2)

    def _code(self, magic: Any, line: str, cell: str | None) -> tuple[Any, str]:
        """Return a magic's options and code: the cell, or the text behind them; UsageError if none."""
        options, code = line, None if cell is None else f"\n{cell}"  # lines count from that of the magic
        if cell is None:
            words = line.split()
            count = next((i for i, word in enumerate(words) if not word.startswith("--")), len(words))
            options = " ".join(words[:count])
            code = line.split(maxsplit=count)[count] if count < len(words) else ""
        if not code or not code.strip():
            name = magic.__name__
            raise UsageError(f"%{name} needs a statement: %{name} f(x), or a cell below %%{name}")
        return parse_argstring(magic, options), code

    def _names_npu(self, code: str) -> bool:
        """Return True if code names an NPU, or a variable in it does."""
        names = set(re.findall(r"\w+", code))
        values = [self.shell.user_ns.get(name) for name in names]
        devices = [str(value) for value in values if isinstance(value, (str, device))]
        return "npu" in names or any(found.startswith("npu") for found in devices)

    def _show(self, picture: Picture) -> None:
        """Display a picture before the value of the code."""
        self.last = picture
        display(picture)

    def _watch(self, watched: AbstractContextManager[Any], found: Any, code: str, draw: Callable[[Any], Markup]) -> Any:
        """Run code under observation, and draw the facts that were ``found``, also if the code fails."""
        try:
            with watched as found:
                return self._run(code)
        finally:
            self._show(Picture(draw(found)))

    def _run(self, code: str, call: Callable[[Callable[..., Any], Any], Any] | None = None) -> Any:
        """Run code in the notebook's namespace; ``call`` gets its last expression as a function without arguments, or
        the function and the arguments if it is a tuple of calls of one function.
        """
        shell = self.shell
        above = len(code) - len(code.lstrip("\n"))  # lines that IPython drops
        source = "\n" * above + shell.transform_cell(code)
        name = shell.compile.cache(source, len(shell.user_ns["In"]) - 1, code)  # tracebacks show the lines
        body = shell.compile.ast_parse(source, name).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), shell.user_ns)
        if last is None:
            return None
        if call is None:
            return eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns)
        parts = calls_of(last.value, shell.user_ns)
        function = ast.copy_location(ast.Lambda(NO_ARGUMENTS, parts or last.value), last)
        made = eval(compile(ast.fix_missing_locations(ast.Expression(function)), name, "eval"), shell.user_ns)
        made.__code__ = made.__code__.replace(co_name="<module>", co_qualname="<module>")  # for tracebacks
        return call(*made()) if parts else call(made, (((), {}),))


def calls_of(value: ast.expr, names: dict[str, Any]) -> ast.expr | None:
    """Return an expression of the function and the arguments of each call, for a call of one of the user's functions,
    or several of them in a tuple: ``f(x), f(y)``; None for anything else. The arguments of a single call of a function
    that is not compiled yet may call nothing: what they call would be compiled with it.
    """
    calls = value.elts if isinstance(value, ast.Tuple) else [value]
    if not calls or not all(isinstance(one, ast.Call) for one in calls) or len(
            {ast.dump(one.func) for one in calls if isinstance(one, ast.Call)}) != 1:
        return None
    function = calls[0].func  # type: ignore[attr-defined]
    path = ast.unparse(function)
    inner = [node for one in calls for node in ast.walk(one) if isinstance(node, (ast.Call, ast.Await, ast.NamedExpr))]
    if not all(part.isidentifier() for part in path.split(".")):
        return None
    try:
        first, _, rest = path.partition(".")
        found = operator.attrgetter(rest)(names[first]) if rest else names[first]
    except (KeyError, AttributeError):
        return None
    if not introspect.is_users(found) or (len(calls) == 1 and len(inner) > 1 and not introspect.is_compiled(found)):
        return None
    given: list[ast.expr] = [ast.Tuple([ast.Tuple(one.args, ast.Load()), ast.Dict(
        [None if key.arg is None else ast.Constant(key.arg) for key in one.keywords],
        [key.value for key in one.keywords])], ast.Load()) for one in calls if isinstance(one, ast.Call)]
    return ast.Tuple([function, ast.List(given, ast.Load())], ast.Load())
