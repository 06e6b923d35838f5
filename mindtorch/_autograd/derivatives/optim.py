"""Optimizer steps have none; an optimizer made ``differentiable`` is written in operators that have."""
from __future__ import annotations

from ..derivative import not_differentiable

not_differentiable("_fused_sgd_ _fused_adam_ _fused_adamw_ _fused_adagrad_")
