"""Factories: what is made like a tensor does not depend on its values."""
from __future__ import annotations

from ..derivative import not_differentiable

not_differentiable("""
    empty_like full_like ones_like zeros_like new_empty new_empty_strided new_full new_ones new_zeros rand_like
    rand_like.generator randn_like randn_like.generator randint_like randint_like.generator randint_like.low_dtype
    randint_like.low_generator_dtype""")
