"""``torch._functorch.functional_call``: modules as functions, where libraries import them from."""
from ..func import functional_call as functional_call, stack_module_state as stack_module_state
