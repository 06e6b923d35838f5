"""Settings of how modules convert and load their parameters; mirrors ``torch.__future__``."""
from ._tensor.swap import (
    get_overwrite_module_params_on_conversion, get_swap_module_params_on_conversion,
    set_overwrite_module_params_on_conversion, set_swap_module_params_on_conversion,
)

__all__ = ["get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
           "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion"]
