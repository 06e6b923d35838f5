"""The magic that explains errors."""
from __future__ import annotations

from IPython.core.error import UsageError
from IPython.core.magic import line_magic, magics_class
from IPython.core.magic_arguments import argument, parse_argstring

from .. import introspect, viz
from .base import MagicGroup, Picture, magic


@magics_class
class WhyMagics(MagicGroup):
    """``%why``."""

    @magic(line_magic,
           argument("--watch", action="store_true",
                    help="from now on, note which lines write to tensors in place; slows operators"),
           argument("--no-watch", action="store_true", help="no longer note it"),
           argument("error", nargs="?",
                    help="an exception that was caught: a name; without it, the last error that was shown"))
    def why(self, line: str) -> Picture | None:
        """Explain an error: its cause, what helps, and a picture of the tensors involved."""
        options = parse_argstring(self.why, line)
        if options.watch and options.no_watch:
            raise UsageError("%why: either --watch or --no-watch")
        if options.watch or options.no_watch:
            introspect.watch_writes(options.watch)
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
