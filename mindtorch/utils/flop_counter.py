"""``torch.utils.flop_counter``: how many floating point operations a block takes, by module and by operator."""
from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

from .._base.interrupts import leaving, uninterrupted
from .._dispatch.overloads import OpOverloadPacket, ops
from .._tensor import Tensor
from .._transforms.pytree import tree_map
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]
Formula = Callable[..., int]
aten = ops.aten

#: By packet: a function of the shapes of the arguments, and by the keyword ``out_shape`` of the result.
flop_registry: dict[Any, Formula] = {}


def _of_shapes(formula: Formula) -> Formula:
    """Make a formula of shapes take tensors, and the result by the keyword ``out_val``."""

    @wraps(formula)
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(lambda value: value.shape if isinstance(value, Tensor) else value,
                                           (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return count


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Decorate a function that counts the operations of packets from the shapes of the arguments and ``out_shape``, or
    with ``get_raw`` from the arguments and ``out_val`` (``torch.utils.flop_counter``'s). Raises ValueError if a target
    is not a packet, or has a formula.
    """

    def register(formula: Formula) -> Formula:
        formula = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                                 f"torch.ops.mylib.foo), got {target} which is of type {type(target)}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula
        return formula

    return register


# -- formulas: a multiplication and an addition are two operations -----------------------------------------------------


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Count (m, k) @ (k, n)."""
    (m, k), (_, n) = a_shape, b_shape
    return m * n * 2 * k


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """Count as ``mm``: the addition does not count."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """Count (b, m, k) @ (b, k, n)."""
    return a_shape[0] * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """Count as ``bmm``: the addition does not count."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """Count the filter at each place of the output (the input if ``transposed``) for each sample."""
    return 2 * x_shape[0] * prod(w_shape) * prod((x_shape if transposed else out_shape)[2:])


@register_flop_formula(aten.convolution)
def conv_flop(x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
              transposed: bool, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Count a convolution, or a transposed one."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any,
                       _dilation: Any, transposed: bool, _output_padding: Any, _groups: int, output_mask: Any,
                       out_shape: Any, **kwargs: Any) -> int:
    """Count both gradients: the opposite convolution, and one with channels and samples exchanged."""

    def swapped(shape: Shape) -> Shape:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        over, by = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(swapped(over), swapped(by), swapped(out_shape[1]))
    return count


@register_flop_formula(aten.mkldnn_rnn_layer)
def rnn_layer_flop(x_shape: Shape, w_ih_shape: Shape, w_hh_shape: Shape, *args: Any, **kwargs: Any) -> int:
    """Count the products of inputs and hidden states of each step."""
    return 2 * prod(x_shape[:-1]) * (prod(w_ih_shape) + prod(w_hh_shape))


@register_flop_formula(aten.mkldnn_rnn_layer_backward)
def rnn_layer_backward_flop(*shapes: Any, **kwargs: Any) -> int:
    """Count the gradients of either factor of each product."""
    return 2 * rnn_layer_flop(*shapes[:3])


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """Count the scores, and the values weighted by them, of (batch, heads, length, width)."""
    batch, heads, length, width = query_shape
    return bmm_flop((batch * heads, length, width), (batch * heads, width, key_shape[-2])) + bmm_flop(
        (batch * heads, length, key_shape[-2]), (batch * heads, key_shape[-2], value_shape[-1]))


# -- the mode ----------------------------------------------------------------------------------------------------------

UNITS = ("", "K", "M", "B", "T")


class FlopCounterMode:
    """A block whose floating point operations are counted, by module and by operator
    (``torch.utils.flop_counter.FlopCounterMode``). At its end it prints ``get_table()`` unless ``display`` is False.
    ``custom_mapping`` has formulas for further packets.
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Formula] | None = None):
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        own = {packet: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
               for packet, formula in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()
        self._mode: _Counting | None = None

    def get_total_flops(self) -> int:
        """Return the total number of operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the number of operations by module (or 'Global') and packet."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as text, for modules down to ``depth``."""
        total = self.get_total_flops()
        power = max(0, min((len(str(total)) - 2) // 3, len(UNITS) - 1))

        def row(name: str, count: int) -> tuple[str, str, str]:
            return name, f"{count / 1000**power:.3f}{UNITS[power]}", f"{count / total:.2%}" if total else "0%"

        def rows_of(name: str, indent: str) -> list[tuple[str, str, str]]:
            counts = self.flop_counts[name]
            return [row(indent + name, sum(counts.values())),
                    *(row(f"{indent} - {packet}", count) for packet, count in counts.items())]

        depth = self.depth if depth is None else depth
        shown = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") < depth]
        whole = any(sum(self.flop_counts[name].values()) >= total for name in shown)
        rows = [row for name in shown for row in rows_of(name, " " * (name.count(".") + (not whole)))]
        if "Global" in self.flop_counts and not whole:
            rows = rows_of("Global", "") + rows
        rows = [("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{name:<{widths[0]}}  {flop:>{widths[1]}}  {share:>{widths[2]}}" for name, flop, share in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        with uninterrupted():
            self.mod_tracker.__enter__()
            self._mode = _Counting(self)
            self._mode.__enter__()
        return self

    @leaving(lambda block: lambda gone: block._mode and block.__exit__())
    def __exit__(self, *exc: Any) -> None:
        assert self._mode is not None
        with uninterrupted():
            self._mode.__exit__(*exc)
            self._mode = None
            self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table())

    def _note(self, packet: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][packet] += count


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode):
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.overloadpacket not in self.counter.flop_registry:
            with self:
                decomposed = func.decompose(*args, **kwargs)
            if decomposed is not NotImplemented:
                return decomposed
        out = func(*args, **kwargs)
        self.counter._note(func.overloadpacket, out, args, kwargs)
        return out
