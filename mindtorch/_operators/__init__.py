"""The operators, a module a family: what each of them *is*, whichever device computes it.

A module's tables of ``schemas`` are read when mindtorch is imported (``_dispatch/schemas.py`` has the meanings of their
headings). The module itself is executed when one of its operators is first needed, and puts a row for each operator
into the registry's tables:

    operator("hypot", Pointwise("default", 2, "reduced|floating", "hypot_cpu"), autocast="npu float32",
             self=lambda grad, self, result: grad * self / result,
             other=lambda grad, other, result: grad * other / result)

How a device computes an operator stands in ``_backends/<device>/ops``, under the same name.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._autograd.derivative import Formula, derivative, not_differentiable
from .._dispatch.autocast import policies
from .._dispatch.keys import BATCHED, DUAL
from .._dispatch.local import local
from .._dispatch.registry import inplace_name
from .._dispatch.schemas import check_table, registry
from .._transforms.batching.rules import Rule

#: Takes an operator's arguments and returns a ``Spec`` for each output, None for one that was not asked for.
Meta = Callable[..., Any]
#: Computes an operator by other operators.
Composite = Callable[..., Any]


def schemas(table: str) -> None:
    """Check that the operators are those of a table, from which they were made when mindtorch was imported."""
    check_table(table)


def operator(names: str, meta: Meta | None = None, composite: Composite | None = None, *,
             batching: Rule | None = None, autocast: str = "", node: str | None = None,
             outputs: tuple[int, ...] | None = None, differentiable: bool = True,
             jointly: Mapping[str, Formula] | None = None, **formulas: Formula) -> None:
    """Describe operators (names separated by spaces).

    ``meta`` takes an operator's arguments, checks them and returns a ``Spec`` for each output. ``composite`` computes
    the operator by other operators, on every device. ``batching`` is its rule inside ``vmap``, where the family's
    (pointwise, composite) does not serve. ``autocast`` is 'lower', 'float32' or 'promote', after a device's name if
    only that one casts. ``formulas`` are the derivative, by input, and ``jointly`` those for several inputs at once
    (``_autograd/derivative.py``); ``node`` is the graph node's name if it is not the usual one; ``outputs`` are the
    differentiable ones if not all are.
    """
    for name in names.split():
        for table, row in ((registry.meta_rows, meta), (registry.composites, composite), (registry.batching, batching),
                           (registry.autocast, policies(autocast))):
            if row is not None:
                table[name] = row
        if not differentiable:
            not_differentiable(name)
        elif formulas or jointly:
            derivative(name, node, outputs, **formulas, **(jointly or {}))


def differentiates(*tensors: Any) -> bool:
    """Return True if operators on these tensors are differentiated, in either mode: then a formula must be written in
    terms of its inputs, not of values found on the way that are taken for constants.
    """
    return local.grad_enabled or any(t._keys & (DUAL | BATCHED) for t in tensors)


def composites(*functions: Composite) -> None:
    """Describe operators by functions of their names that compute them by other operators."""
    for function in functions:
        operator(function.__name__, composite=function)


def aliases(names: Mapping[str, str]) -> None:
    """Describe operators that are other names of operators, in place too."""
    for name, target in names.items():
        operator(name, composite=registry[target].call)
        if "in-place" in registry[name].flags:
            operator(inplace_name(name), composite=registry[inplace_name(target)].call)
