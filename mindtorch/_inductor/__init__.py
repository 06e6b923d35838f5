"""``torch._inductor``: the compiler of graphs, decompositions, settings. Other names can be imported; when called, they
raise why.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._base.left_out import Absent
from .._compile.options import list_mode_options as list_mode_options, list_options as list_options
from . import config as config


def compile(gm: Any, example_inputs: Sequence[Any], options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return a graph as a program of NumPy (``torch._inductor.compile``).

    Raises:
        AttributeError: if a setting among the options does not exist.
    """
    from .compile_fx import compile_fx

    return compile_fx(gm, example_inputs, config_patches=options)


__getattr__ = Absent("_inductor").__getattr__
