"""The settings of the compiler (``torch._dynamo.config``)."""
from __future__ import annotations

import sys
from typing import Any

from .._base.settings import Settings

recompile_limit = 8  #: programs of one function; calls that fit none of them then run as they are written
accumulated_recompile_limit = 256  #: programs of one function over all its wrappers
fail_on_recompile_limit_hit = False
error_on_recompile = False
disable = False
suppress_errors = False  #: whether an error of a backend makes the function run as it is written
verbose = False
assume_static_by_default = True
automatic_dynamic_shapes = True  #: whether a size that changed once becomes a symbol
capture_scalar_outputs = False  #: whether ``item`` stays in the graph
capture_dynamic_output_shape_ops = False
specialize_int = False
specialize_float = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
allow_rnn = False
raise_on_ctx_manager_usage = True
# Settings of how PyTorch's compiler works. They change no result there, and nothing here.
allow_unspec_int_on_nn_module = nested_graph_breaks = False
capture_autograd_function = capture_func_transforms = dynamic_shapes = enable_cpp_guard_manager = True
force_nn_module_property_static_shapes = force_parameter_static_shapes = guard_nn_modules_using_dict_tags = True
log_compilation_metrics = optimize_ddp = report_guard_failures = run_gc_after_compile = True
skip_nnmodule_hook_guards = skip_no_tensor_aliasing_guards_on_parameters = skip_torchrec = trace_numpy = True
use_lazy_graph_module = True
#: Options that name another: the former names of the limits.
ALIASES = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit"}


class _Config(Settings):
    """The module's class: it knows former names, and refuses options that do not exist."""

    def __getattr__(self, name: str) -> Any:
        if name in ALIASES:
            return getattr(self, ALIASES[name])
        raise AttributeError(f"torch._dynamo.config.{name} does not exist in mindtorch")

    def __setattr__(self, name: str, value: Any) -> None:
        name = ALIASES.get(name, name)
        if name not in vars(self):
            raise AttributeError(f"torch._dynamo.config.{name} does not exist in mindtorch")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        name = ALIASES.get(name, name)  # deleting an option restores its default, as ``unittest.mock.patch`` expects
        super().__setattr__(name, DEFAULTS[name])


DEFAULTS = {name: value for name, value in globals().items() if isinstance(value, (bool, int))}
sys.modules[__name__].__class__ = _Config
