"""``Module`` where PyTorch has it, with the hooks of all modules."""
from .._hooks import (
    global_backward_hooks as _global_backward_hooks, global_backward_pre_hooks as _global_backward_pre_hooks,
    global_forward_hooks as _global_forward_hooks, global_forward_pre_hooks as _global_forward_pre_hooks,
    register_module_backward_hook, register_module_buffer_registration_hook, register_module_forward_hook,
    register_module_forward_pre_hook, register_module_full_backward_hook, register_module_full_backward_pre_hook,
    register_module_module_registration_hook, register_module_parameter_registration_hook,
)
from .._state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys
from ..module import Module

_HOOKS = (_global_backward_hooks, _global_backward_pre_hooks, _global_forward_hooks, _global_forward_pre_hooks)
__all__ = [
    "Module", "_IncompatibleKeys", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
