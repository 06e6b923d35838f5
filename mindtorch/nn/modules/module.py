"""``Module`` where PyTorch has it, with the hooks of all modules."""
from .. import _hooks
from .._hooks import (
    register_module_backward_hook, register_module_buffer_registration_hook, register_module_forward_hook,
    register_module_forward_pre_hook, register_module_full_backward_hook, register_module_full_backward_pre_hook,
    register_module_module_registration_hook, register_module_parameter_registration_hook,
)
from .._state import EXTRA_STATE, _IncompatibleKeys
from ..module import Module

_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE
vars().update({f"_{name}": hooks for name, hooks in vars(_hooks).items() if name.startswith("global_")})
__all__ = [
    "Module", "_IncompatibleKeys", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
