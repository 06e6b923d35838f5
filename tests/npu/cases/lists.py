"""Cases of operators on lists of tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .draw import Draw, case


def two(x: Draw) -> list[torch.Tensor]:
    return [x(3, 4), x(2)]


def listing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The one output is a list."""
    return lambda *args: (list(function(*args)),)


for name in ("Abs", "Exp", "Neg", "Reciprocal", "Sigmoid", "Tanh"):
    case(f"Foreach{name}", lambda x: (two(x),), listing(getattr(torch, f"_foreach_{name.lower()}")), "float32")
case("ForeachSqrt", lambda x: ([x.positive(3, 4), x.positive(2)],), listing(torch._foreach_sqrt), "float16|float32")
for name in ("Add", "Sub", "Mul", "Div"):
    function = getattr(torch, f"_foreach_{name.lower()}")
    case(f"Foreach{name}ScalarV2", lambda x: (two(x), 2.5), listing(function), "float16|float32")
    case(f"Foreach{name}ScalarList", lambda x: (two(x), (2.5, -3.0)), listing(function), "float32")
for name in ("Mul", "Div", "Maximum", "Minimum"):
    case(f"Foreach{name}List", lambda x: (two(x), two(x)), listing(getattr(torch, f"_foreach_{name.lower()}")),
         "float32")
case("ForeachAddListV2", lambda x: (two(x), two(x), 0.5), listing(lambda a, b, s: torch._foreach_add(a, b, alpha=s)),
     "float16|float32")
case("ForeachSubListV2", lambda x: (two(x), two(x), 0.5), listing(lambda a, b, s: torch._foreach_sub(a, b, alpha=s)),
     "float32")
case("ForeachAddcmulScalarV2", lambda x: (two(x), two(x), two(x), 0.5),
     listing(lambda a, b, c, s: torch._foreach_addcmul(a, b, c, value=s)), "float32")
case("ForeachAddcdivScalarV2", lambda x: (two(x), two(x), two(x), 0.5),
     listing(lambda a, b, c, s: torch._foreach_addcdiv(a, b, c, value=s)), "float32")
case("ForeachLerpList", lambda x: (two(x), two(x), two(x)), listing(torch._foreach_lerp), "float32")
case("ForeachLerpScalar", lambda x: (two(x), two(x), 0.25), listing(torch._foreach_lerp), "float32")
for order in (1, 2):
    case("ForeachNorm", lambda x, p=order: (two(x), p), listing(torch._foreach_norm), "float16|float32")
case("ForeachCopy", lambda x: (two(x),), lambda a: (a,), "float32")
