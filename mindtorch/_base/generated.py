"""Functions that the library writes: their source is shown by tracebacks and debuggers, as if it stood in a file.

A loop over an operator's arguments takes three times as long as the same steps written out. What differs between
operators only by how many arguments they take is therefore a text, from which each operator's function is made.
"""
from __future__ import annotations

import linecache
from typing import Any


def define(name: str, source: str, file: str, space: dict[str, Any]) -> Any:
    """Run generated source in a namespace, and return what it defines under ``name``.

    ``file`` is the name of the text in tracebacks. It has to be unique, since a later text of the same name would be
    shown in its place. A text whose name begins with the file of a module, a colon and a space counts as a part of that
    module; its frames are the library's.
    """
    space.setdefault("__name__", __name__)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), space)
    return space[name]
