"""The compiler of graphs, for backends that hand theirs on to it (``torch._inductor.compile_fx``)."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._dynamo.backends.common import aot_autograd
from .._dynamo.backends.inductor import inductor
from .._functorch.aot_autograd import make_boxed_func
from . import config


def compile_fx_inner(gm: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Callable[[list[Any]], Any]:
    """Return a graph of ATen operators as a program, which takes a list of its inputs: the forward or backward compiler
    of ``aot_autograd`` (``torch._inductor.compile_fx.compile_fx_inner``).
    """
    return make_boxed_func(inductor(gm, example_inputs))


def compile_fx(model_: Any, example_inputs_: Sequence[Any], inner_compile: Callable[..., Any] = compile_fx_inner,
               config_patches: Mapping[str, Any] | None = None,
               decompositions: Mapping[Any, Callable[..., Any]] | None = None) -> Callable[..., Any]:
    """Return a graph as a program with a backward pass (``torch._inductor.compile_fx.compile_fx``).

    ``inner_compile`` compiles the graphs of AOTAutograd in place of ``compile_fx_inner``; ``decompositions`` replaces
    operators in them. ``config_patches`` are settings while it compiles.

    Raises:
        AttributeError: if a setting does not exist.
    """
    settings: Any = config
    with settings.patch(config_patches):
        if inner_compile is compile_fx_inner and decompositions is None:
            return inductor(model_, example_inputs_)
        return aot_autograd(fw_compiler=inner_compile, decompositions=decompositions)(model_, example_inputs_)
