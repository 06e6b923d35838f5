"""The magics: the notebook's tensors, memory and errors, and a cell's work."""
from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, parse_argstring
from IPython.display import SVG, Image

from ... import distributed, introspect, viz
from ..._creation import empty
from ..._device import device as Device, get_default_device, set_default_device
from ..._dispatch.observers import one_by_one
from .base import MagicGroup, Picture, magic

#: The magics by what a reader asks.
QUESTIONS = {
    "What is this tensor, and whose memory does it see?": ("tensors", "storage", "compact"),
    "Why did this fail?": ("why",), "Why does it not learn?": ("check",),
    "What does a model compute, and where does it fail?": ("model",),
    "What does autograd record?": ("graph",),
    "What runs, and how long does it take?": ("dispatch", "profile", "timeline", "compile", "pipeline"),
    "Where is memory used, on which device?": ("memory", "device"),
    "How do several processes compute together?": ("ranks",),
    "How do I keep a picture? What does a word mean?": ("save_picture", "glossary"),
}
#: The option of magics that show what runs.
ONE_BY_ONE = argument("--one-by-one", action="store_true", help="let every operator of PyTorch run by itself")
#: Magics that take a cell, too.
OVER_CELLS = ("model", "check", "dispatch", "profile", "timeline", "compile", "pipeline")


def _parts(line: str) -> list[str]:
    """Return the expressions of a line with commas between them, as they are written."""
    line = line.strip().removesuffix(",")
    try:
        found = ast.parse(f"({line},)", mode="eval").body if line else ast.Tuple([])
    except SyntaxError:  # told of each part
        return [part.strip() for part in line.split(",") if part.strip()]
    assert isinstance(found, ast.Tuple)
    return [ast.unparse(part) for part in found.elts]


def _on_device(found: Sequence[Any], wanted: str | None, what: str) -> Sequence[Any]:
    """Return the facts of a device, or all if none is wanted; UsageError if there are none."""
    if wanted is None:
        return found
    try:
        Device(wanted)
    except RuntimeError as error:
        raise UsageError(str(error)) from None
    chosen = [facts for facts in found if wanted in (facts.device, facts.device.partition(":")[0])]
    if not chosen:
        there = ", ".join(dict.fromkeys(facts.device for facts in found))
        raise UsageError(f"there is no {what} on {wanted}{f', but on {there}' if there else ''}")
    return chosen


def watch_writes(ip: Any, on: bool) -> None:
    """Note writes in place, of libraries that a cell has yet to import from the cell after it on, or stop."""
    callbacks = ip.events.callbacks["pre_run_cell"]
    if on is not (_watch_on in callbacks):
        (ip.events.register if on else ip.events.unregister)("pre_run_cell", _watch_on)
        introspect.watch_writes(on)


def _watch_on(info: Any = None) -> None:
    introspect.watch_writes()


@magics_class
class MindtorchMagics(MagicGroup):
    """All of them; each is a plain function of ``introspect`` and ``viz``, with the notebook's names."""

    is_compact = False  #: whether cards of tensors are short
    started: Any = None  #: the ranks of %ranks

    @magic(line_magic)
    def mindtorch(self, line: str) -> Picture:
        """List the magics by the question that each answers."""
        parse_argstring(self.mindtorch, line)
        return Picture(viz.magics_page(
            (question if name == names[0] else "", f"{'%%' if name in OVER_CELLS else '%'}{name}",
             " ".join(self.magics["line"][name].parser.description.split()).partition(". ")[0].rstrip("."))
            for question, names in QUESTIONS.items() for name in names))

    @magic(line_magic, argument("--device", help="only tensors on this device"))
    def tensors(self, line: str) -> Picture:
        """Show all tensors in the notebook: storages by colour, views, versions, gradients, pending ones."""
        rows = introspect.tensors_facts(self.shell.user_ns)
        return Picture(viz.tensors_page(_on_device(rows, parse_argstring(self.tensors, line).device, "tensor")))

    @magic(line_magic, argument("tensor", nargs="*", help="the tensor: a name or an expression"))
    def storage(self, line: str) -> Picture:
        """Show the tensors that share this tensor's storage, and the elements that each covers."""
        facts = introspect.storage_facts(self._tensor(line.strip(), "storage"), introspect.names_of(self.shell.user_ns))
        return Picture(viz.storage_page(facts), viz.storage_text(facts))

    @magic(line_magic, argument("tensor", nargs="*", help="the tensor whose history is shown: a name or an expression"))
    def graph(self, line: str) -> Picture:
        """Show the autograd graph behind a tensor: operators, shapes, saved tensors, hooks, named leaves."""
        tensor = self._tensor(line.strip(), "graph", introspect.is_node)
        try:
            facts = introspect.graph_facts(tensor, dict(introspect.named_tensors(self.shell.user_ns)))
        except ValueError as error:
            raise UsageError(f"%graph: {error}") from None
        return Picture(viz.graph_page(facts), viz.graph_text(facts))

    @magic(line_cell_magic,
           argument("--depth", type=int, help="unfold modules down to this depth: 1 only shows what the model calls; "
                    "without it, as much as fits on a screen"),
           argument("call", nargs="*", help="in a line: a model and what it is called with, as in net, x, mask=m; over "
                    "a cell: nothing"))
    def model(self, line: str, cell: str | None = None) -> Any:
        """Call a model, and show its forward pass by module: shapes, memory, values, time, and where it fails."""
        depth = re.search(r"(?<!\S)--depth[= ]\s*(\d+)", line)
        written = line if depth is None else line[: depth.start()] + line[depth.end():]
        level = None if depth is None else int(depth[1])
        names = self.shell.user_ns
        if other := re.search(r"(?<!\S)--[a-z]\S*", written):
            raise UsageError(f"%model has no option {other[0]}: %model --help lists what it takes")
        if cell is not None:
            if written.strip():
                raise UsageError(f"%%model takes no {written.strip()!r} over a cell: the cell calls the models")
            found = introspect.ForwardFacts()
            try:
                with introspect.watch_forward(names) as found:
                    return self._run(f"\n{cell}")
            finally:
                self._show(Picture(viz.model_page(found, "", level), viz.model_text(found, "", level)))
        name, args, kwargs = self._call(written, "model")
        module = self._value(name, "model")
        if not hasattr(type(module), "named_modules"):
            raise UsageError(f"%model: {name!r} is of type {type(module).__name__}, not a module: %model net, x")
        values = [self._value(part, "model") for part in args]
        given = {key: self._value(part, "model") for key, part in kwargs.items()}
        facts, error = introspect.forward_or_error(module, values, given, names)
        if error is not None:
            sys.last_value = error  # which %why explains
            sys.__dict__.pop("last_exc", None)
        name = name if name.isidentifier() else ""
        return Picture(viz.model_page(facts, name, level), viz.model_text(facts, name, level))

    def _call(self, line: str, magic: str) -> tuple[str, list[str], dict[str, str]]:
        """Return the parts of a call that is written as ``net, x, mask=m``."""
        try:
            found = ast.parse(f"f({line.strip()})", mode="eval").body
        except SyntaxError as error:
            raise UsageError(f"%{magic}: {line.strip()!r} is no model with arguments: {error.msg}") from None
        assert isinstance(found, ast.Call)
        if not found.args or any(isinstance(part, ast.Starred) for part in found.args):
            raise UsageError(f"%{magic} needs a model and what it is called with: %{magic} net, x")
        first, *others = map(ast.unparse, found.args)
        return first, others, {item.arg: ast.unparse(item.value) for item in found.keywords if item.arg}

    @magic(line_magic,
           argument("device", nargs="?", help="the device for new tensors; without it, the current one is shown"))
    def device(self, line: str) -> Any:
        """Show or set the default device."""
        wanted = parse_argstring(self.device, line).device
        if wanted is not None:
            try:
                empty(0, device=wanted)  # rather than the next tensor: a device that is not there is refused here
            except (RuntimeError, AssertionError) as error:
                raise UsageError(f"%device: {error}") from None
            set_default_device(wanted)
        return get_default_device()

    @magic(line_magic, argument("count", nargs="?", type=int, help="how many; 0 ends them; without it, it is said "
                                "what there is"))
    def ranks(self, line: str) -> None:
        """Start processes that compute together: %%px runs a cell in all of them, and shows them side by side."""
        count = parse_argstring(self.ranks, line).count
        if count is not None:
            if count < 0:
                raise UsageError(f"%ranks: there cannot be {count} ranks")
            if not distributed.is_available():
                raise UsageError("%ranks needs MPI and ipyparallel: pip install mpi4py mpich ipyparallel")
            from .ranks import Ranks  # optional, and slow

            if self.started is not None:
                self.started.stop()
            self.started = Ranks(self.shell, count) if count > 0 else None
        if self.started is None:
            print("there are no ranks: %ranks 4 starts four")
        else:
            print(f"{self.started.count} ranks, of one MPI group; %%px runs a cell in all of them. "
                  "They have torch, nn and dist")

    @magic(line_magic, argument("--device", help="only this device: cpu, npu, npu:0, ..."))
    def memory(self, line: str) -> Picture:
        """Show the memory of every device: live storages, the allocator's blocks, deferred frees."""
        wanted = parse_argstring(self.memory, line).device
        found = introspect.memory_facts(introspect.names_of(self.shell.user_ns))
        devices = _on_device(found, wanted, "memory in use")
        return Picture(viz.memory_page(devices), viz.memory_text(devices))

    @magic(line_magic, argument("word", nargs="*", help="only entries with this word"))
    def glossary(self, line: str) -> Picture:
        """Show CANN's, CUDA's and PyTorch's names of streams, events, workspaces, allocators, late errors."""
        word = " ".join(parse_argstring(self.glossary, line).word).lower()
        terms = [term for term in introspect.GLOSSARY if word in " ".join(vars(term).values()).lower()]
        return Picture(viz.glossary_page(terms))

    @magic(line_magic,
           argument("--watch", action="store_true",
                    help="from now on, note which lines write to tensors in place; slows operators"),
           argument("--no-watch", action="store_true", help="no longer note it"),
           argument("error", nargs="?",
                    help="an exception that was caught: a name; without it, the last error that was shown"))
    def why(self, line: str) -> Picture | None:
        """Explain an error: its cause, its fixes, and a picture of the tensors involved."""
        options = parse_argstring(self.why, line)
        if options.watch and options.no_watch:
            raise UsageError("%why: either --watch or --no-watch")
        if options.watch or options.no_watch:
            watch_writes(self.shell, options.watch)
            said = "noting which lines write to tensors in place"
            print(said if options.watch else "writes in place are no longer noted")
            return None
        error = self._value(options.error, "why") if options.error else introspect.last_error()
        if error is None:
            print("there was no error yet")
            return None
        if not isinstance(error, BaseException):
            raise UsageError(f"%why: {options.error!r} is of type {type(error).__name__}, not an exception")
        if isinstance(error, UsageError):
            print(f"the last error was in the use of a magic: {error}")
            return None
        facts = introspect.explain(error, self.shell.user_ns)
        return Picture(viz.why_page(facts))

    @magic(line_cell_magic, argument("objects", nargs="*", help="in a line: a model, its loss, its optimizer, in any "
                                     "order, with commas between them; over a cell: nothing"))
    def check(self, line: str, cell: str | None = None) -> Any:
        """Find mistakes that raise nothing: in a model, a loss, an optimizer, or in a cell that trains."""
        names = self.shell.user_ns
        if cell is None:
            written = _parts(line)
            if not written:
                raise UsageError("%check needs what to look at: %check model, loss, optimizer; or a cell below %%check")
            values = [self._value(part, "check") for part in written]
            try:
                facts = introspect.check(*values, names=written)
            except TypeError as error:
                raise UsageError(f"%{error}") from None  # which names the function
            return Picture(viz.check_page(facts))
        _, code = self._code(self.check, line, cell)
        found = introspect.Checking()
        try:
            with introspect.checking(names) as found:
                return self._run(code)
        finally:
            self._show(Picture(viz.check_page(found.facts)))

    @magic(line_magic, argument("wanted", nargs="?", choices=("on", "off"),
                                help="from now on; without it, what holds now is shown"))
    def compact(self, line: str) -> None:
        """Draw short cards for slides: no statistics, memory only if several tensors share it."""
        wanted = parse_argstring(self.compact, line).wanted
        self.is_compact = self.is_compact if wanted is None else wanted == "on"
        print(f"cards of tensors are {'compact' if self.is_compact else 'complete'}")

    @magic(line_magic,
           argument("--dark", action="store_true", help="in dark colours"),
           argument("file", nargs="?", help="name.svg, name.png or name.html"),
           argument("what", nargs="*", help="an expression, or a magic: %%graph loss; without it, the last picture "
                    "that a magic drew"))
    def save_picture(self, line: str) -> Any:
        """Save a picture to a file, and show an image as it was saved: a browser's menu copies it."""
        words: list[str] = []
        what = line.strip()
        while what and (what.startswith("--") or all(word.startswith("--") for word in words)):
            word, _, what = what.partition(" ")
            words, what = [*words, word], what.strip()
        options = parse_argstring(self.save_picture, " ".join(words))
        if options.file is None:
            raise UsageError("%save_picture needs a file: %save_picture x.png x")
        file = options.file.strip("'\"")  # IPython leaves quotes where they are
        try:
            saved = viz.save_picture(self._html(what), file, dark=options.dark)
        except (ValueError, RuntimeError, OSError) as error:
            raise UsageError(f"%save_picture: {error}") from None
        print(f"saved: {saved}")
        return {".svg": SVG, ".png": Image}[saved.suffix](filename=str(saved)) if saved.suffix != ".html" else None

    def _html(self, what: str) -> str:
        """Return the picture of an expression's value, of a magic, or without either the last one."""
        if not what and self.last is None:
            raise UsageError("%save_picture: no magic has drawn a picture yet: %save_picture x.png x draws x")
        value: Any = self.last
        if what.startswith("%"):
            name, _, rest = what.lstrip("%").partition(" ")
            value = self.shell.run_line_magic(name, rest)
            value = value if isinstance(value, Picture) else self.last
        elif what:
            value = self._value(what, "save_picture")
        formatter = self.shell.display_formatter  # asked for HTML: a widget would display itself
        html = formatter.formatters["text/html"](value) or formatter.mimebundle_formatter(value)[0].get("text/html")
        if html is None:
            raise UsageError(f"%save_picture: there is no picture of {what}, of type {type(value).__name__}")
        return viz.without_buttons(html)

    # -- what runs a cell or a statement, and shows what happened --------------------------------------------

    @magic(line_cell_magic,
           argument("--top", action="store_true", help="only operators that the cell calls, not those inside them"),
           ONE_BY_ONE,
           argument("statement", nargs="*", help="what to run, where there is no cell"))
    def dispatch(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show each operator: keys, kernel with file and line, output, time."""
        options, code = self._code(self.dispatch, line, cell)
        with one_by_one() if options.one_by_one else nullcontext():
            return self._watch(
                introspect.watch_dispatch(), introspect.AskedTrace(), code, lambda trace: viz.dispatch_page(
                    [event for event in trace.events if not (options.top and event.depth)], trace.asked, trace.first,
                    trace.modules))

    @magic(line_cell_magic, ONE_BY_ONE,
           argument("statement", nargs="*", help="what to run, where there is no cell"))
    def profile(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show its time by operators, lines, modules, kernels and Python."""
        options, code = self._code(self.profile, line, cell)
        if self._names_npu(code):
            introspect.start_npu()
        with one_by_one() if options.one_by_one else nullcontext():
            return self._watch(introspect.profile(self.shell.user_ns), introspect.Profile(), code, viz.profile_page)

    @magic(line_cell_magic, argument("statement", nargs="*", help="what to run, where there is no cell"))
    def compile(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, its last expression compiled: show all stages of the compiler side by side.

        In a tuple of calls of one function, each call shows why the function is compiled again.
        """
        _, code = self._code(self.compile, line, cell)
        found = introspect.CompileFacts()
        try:
            with introspect.watch_compile() as found:
                return self._run(code, lambda function, calls: introspect.compile_facts(
                    function, calls, facts=found).value)
        finally:
            self._show(Picture(viz.compile_page(found)))

    @magic(line_cell_magic, argument("statement", nargs="*", help="what to run, where there is no cell"))
    def pipeline(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement in torch.pipeline(), and show its operators, and why the queue ran."""
        _, code = self._code(self.pipeline, line, cell)
        return self._watch(introspect.watch_pipeline(), introspect.PipelineFacts(), code, viz.pipeline_page)

    @magic(line_cell_magic,
           argument("--save", metavar="FILE", help="also write a Chrome trace to this file, for chrome://tracing "
                    "or Perfetto; before a statement: --save=FILE"),
           argument("--ranks", action="store_true", help="in a program of several processes (%%px), all of which run "
                    "this: put their timelines together, which rank 0 shows"),
           ONE_BY_ONE)
    def timeline(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show the host's, streams' and network's work over time."""
        options, code = self._code(self.timeline, line, cell)
        save = options.save
        target = None if save is None else Path(save.strip("'\"")).expanduser()  # IPython leaves quotes where they are
        if target is not None and not target.parent.is_dir():
            raise UsageError(f"%%timeline: there is no folder {str(target.parent)!r} to save {target.name!r} in")
        if target is not None and target.is_dir():
            raise UsageError(f"%%timeline: {str(target)!r} is a folder, in which a file is to be named")
        if options.ranks and not distributed.is_initialized():
            where = "init_process_group() does that" if self.started is None else "the ranks have: write %%px above it"
            raise UsageError(f"%%timeline --ranks: this process has not joined others; {where}")
        if self._names_npu(code):
            introspect.start_npu()
        found = introspect.Timeline()
        try:
            with one_by_one() if options.one_by_one else nullcontext(), introspect.timeline(
                    self.shell.user_ns) as found:
                return self._run(code)
        finally:
            found = introspect.timeline_of_ranks(found) if options.ranks else found
            is_first = not options.ranks or distributed.get_rank() == 0
            if is_first:
                self._show(Picture(viz.timeline_page(found), viz.timeline_text(found)))
            if target is not None and is_first:
                print(f"Chrome trace: {introspect.save_chrome_trace(found, target)}")
