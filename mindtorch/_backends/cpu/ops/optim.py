"""CPU kernels of optimizer steps: rules applied to arrays in place, in blocks that stay in the cache."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, chain, compress, repeat
from operator import attrgetter, is_not, methodcaller, not_
from typing import Any, NamedTuple

import numpy as np

from ...._base import loops
from ...common import optim
from ...common.blocks import LARGE, each_block
from ..rows import Prepared
from . import CPU_KERNELS

array = np.ndarray
SIZE, BASE, ITEM, RAVEL = attrgetter("size"), attrgetter("base"), methodcaller("item"), np.ndarray.ravel
IS_GIVEN = partial(is_not, None)
asarray = np.asarray  # NumPy is fastest with a number as an array of the right dtype
BLOCK = 16384  #: elements; larger temporaries would be mapped anew by each malloc
#: The settings that are not a rule's own.
APART = ("state_steps", "maximize", "weight_decay", "grad_scale", "found_inf", "amsgrad")
#: Elements of a small parameter, and how many parameters pay for joining: NumPy's calls count for more than two copies.
SMALL, SEVERAL = 2048, 4


class Block:
    """A part of a parameter, its gradient or its state, with the tensor methods that rules call.

    They compute what the operators of these names do, to the last bit, so that a step may be carried out either way.
    """

    __slots__ = ("array",)

    def __init__(self, array: array) -> None:
        self.array = array

    def item(self) -> Any:
        return self.array.item()

    def detach(self) -> Block:
        return self

    def neg(self) -> Block:
        return Block(np.negative(self.array))

    def sqrt(self) -> Block:
        return Block(np.sqrt(self.array))

    def add(self, other: Block, alpha: Any) -> Block:
        change = np.multiply(other.array, asarray(alpha, other.array.dtype))
        return Block(np.add(self.array, change, change))

    def div(self, number: Any) -> Block:
        """Divide in place: only the rule refers to this temporary."""
        np.divide(self.array, asarray(number, self.array.dtype), self.array)
        return self

    def copy_(self, other: Block) -> Block:
        np.copyto(self.array, other.array)
        return self

    def add_(self, other: Any, alpha: Any = 1) -> Block:
        a = self.array
        if other.__class__ is not Block:
            other = asarray(other, a.dtype)
        else:
            other = other.array if alpha == 1 else np.multiply(other.array, asarray(alpha, a.dtype))
        np.add(a, other, a)
        return self

    def mul_(self, number: Any) -> Block:
        np.multiply(self.array, asarray(number, self.array.dtype), self.array)
        return self

    def maximum_(self, other: Block) -> Block:
        np.maximum(self.array, other.array, out=self.array)
        return self

    def lerp_(self, end: Block, weight: Any) -> Block:
        change, near = np.subtract(end.array, self.array), abs(weight) < 0.5
        np.multiply(change, asarray(weight if near else weight - 1, change.dtype), change)
        np.add(change, self.array if near else end.array, self.array)
        return self

    def addcmul_(self, first: Block, second: Block, value: Any) -> Block:
        scaled = np.multiply(first.array, asarray(value, first.array.dtype))
        np.add(self.array, np.multiply(scaled, second.array, scaled), self.array)
        return self

    def addcdiv_(self, first: Block, second: Block, value: Any) -> Block:
        scaled = np.multiply(first.array, asarray(value, first.array.dtype))
        np.add(self.array, np.divide(scaled, second.array, scaled), self.array)
        return self


def blocks(arrays: Sequence[array]) -> Iterable[Iterable[Block]]:
    """Yield blocks of arrays of one shape, as views, so that writes reach the arrays."""
    if arrays[0].size <= BLOCK or not all(a.flags.c_contiguous for a in arrays):
        return (map(Block, arrays),)
    flat = [a.reshape(-1) for a in arrays]
    return ([Block(a[start:start + BLOCK]) for a in flat] for start in range(0, flat[0].size, BLOCK))


class Layouts(NamedTuple):
    """What the layouts of a step's arrays decide. ``small``: which parameters are small and have one dtype of single or
    double precision, so that they may be stepped as one array; empty if few. ``loop``: whether a compiled
    loop takes all arrays; ``size``: their elements by parameter and array.
    """

    small: list[bool]
    loop: bool
    size: int

    @classmethod
    def of(cls, *lists: list[array]) -> Layouts:
        rows, arrays = [*zip(*filter(None, lists), strict=True)], [*chain(*lists)]
        dtype = arrays[0].dtype if arrays else loops.SINGLE
        small = [dtype.char in "fd" and row[0].size <= SMALL and {a.dtype for a in row} == {dtype} for row in rows]
        return cls(small if sum(small) >= SEVERAL else [],
                   all(a.dtype == loops.SINGLE and a.flags.c_contiguous for a in arrays), sum(map(SIZE, lists[0])))


def stepping(rule: Callable[..., None], lists: int, names: str, decoupled: bool = False) -> Prepared:
    """Return the row of a rule's step: its arguments are so many lists of arrays, then settings of these names. The
    layouts of the lists are looked at once.
    """
    def prepare(*args: Any) -> Callable[..., None]:
        return partial(fused, rule, Layouts.of(*args[:lists]), lists, names.split(), decoupled)

    return Prepared(prepare, lists, plain=lambda *args: prepare(*args)(*args))


def fused(rule: Callable[..., None], layouts: Layouts, count: int, names: list[str], decoupled: bool,
          *args: Any) -> None:
    """Step all parameters, given ``count`` lists of parameters, gradients and state, then settings by position.

    Gradients are divided by ``grad_scale``; if ``found_inf`` is set, no step is taken. Half precision is computed in
    float32 and rounded at the end, as in PyTorch's fused kernels.
    """
    settings = dict(zip(names, args[count:]))  # noqa: B905  the last ones have defaults
    steps, maximize, weight_decay, grad_scale, found_inf, _ = map(settings.pop, APART, repeat(None))
    if found_inf is not None and found_inf.item():
        return
    rows = [*zip(*filter(None, args[:count]), strict=True)]
    if (grad_scale is None and not maximize and layouts.loop
            and by_loop(rule, rows, steps, settings, weight_decay, decoupled, layouts.size)):
        return
    groups: list[Any] = [*zip(rows, strict=True)]
    if layouts.small and (not steps or len({*map(ITEM, steps)}) < 2) and are_apart(rows):
        groups = [[*compress(rows, layouts.small)], *zip(compress(rows, map(not_, layouts.small)), strict=True)]
    for i, alike in enumerate(groups):
        arrays: Sequence[array] = alike[0] if len(alike) == 1 else [*map(joining, *alike)]
        if grad_scale is not None:
            arrays = (arrays[0], arrays[1] / grad_scale.astype(arrays[1].dtype), *arrays[2:])
        if half := arrays[0].itemsize == 2:
            arrays = [a.astype(np.float32) for a in arrays]
        if not arrays[0].ndim:
            arrays = [a.reshape(1) for a in arrays]
        if steps:
            settings["step"] = steps[i]  # several groups have one count, or a parameter each
        for param, grad, *state in blocks(arrays):
            if decoupled:
                optim.decay(param, settings["lr"], weight_decay)
            if maximize or (weight_decay and not decoupled):
                grad = optim.descent(param, grad, maximize, 0 if decoupled else weight_decay)
            rule(param, grad, *state, **settings)
        if half or len(alike) > 1:
            hand_out(arrays, alike)


def are_apart(rows: Sequence[Sequence[array]]) -> bool:
    """Return True if no two arrays may share memory."""
    arrays = [*chain(*rows)]
    bases = [*filter(IS_GIVEN, map(BASE, arrays))]
    return ({*map(type, bases)} <= {array} and not any(map(IS_GIVEN, map(BASE, bases)))
            and len({*map(id, arrays), *map(id, bases)}) == len(arrays) + len(bases))


def joining(*parts: array) -> array:
    """Return the elements of arrays as one new array."""
    return np.concatenate(parts, None)


def hand_out(arrays: Sequence[array], rows: Sequence[Sequence[array]]) -> None:
    """Write the changed arrays, all but the gradients, into the ones they were joined or converted from."""
    ends = [*accumulate([row[0].size for row in rows])]
    for n in (0, *range(2, len(arrays))):
        for row, end in zip(rows, ends, strict=True):
            row[n][...] = arrays[n][end - row[n].size:end].reshape(row[n].shape)


# -- by loops ----------------------------------------------------------------------------------------------------------

def of_sgd(given: Sequence[array], weight_decay: float, decoupled: bool, lr: float, momentum: float, dampening: float,
           nesterov: bool, is_first_step: bool) -> Looped | None:
    if len(given) == 2:
        return loops.sgd, 2, (weight_decay, -lr)
    if is_first_step:
        return None
    return loops.sgd_with_momentum, 4, (weight_decay, -lr, momentum, 1 - dampening, nesterov)


def of_adam(given: Sequence[array], weight_decay: float, decoupled: bool, step: float, lr: float, beta1: float,
            beta2: float, eps: float) -> Looped | None:
    """Return Adam's loop without amsgrad, if ``beta1`` is above 0.5 (for which ``lerp`` has one formula); else None."""
    if len(given) != 4 or beta1 <= 0.5:
        return None
    shrink, coupled = (1 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    return loops.adam, 10, (shrink, coupled, 1 - beta1, beta2, 1 - beta2, (1 - beta2**step) ** 0.5, eps,
                             -(lr / (1 - beta1**step)))


#: By rule: a function of a parameter's arrays and settings that returns the step's loop, the number of NumPy passes it
#: replaces, and its numeric arguments; None without a loop.
Looped = tuple[loops.Loop, int, tuple[Any, ...]]
LOOPED: dict[Any, Callable[..., Looped | None]] = {optim.sgd: of_sgd, optim.adam: of_adam}


def by_loop(rule: Callable[..., None], everything: Sequence[Sequence[array]], steps: Sequence[array] | None,
            settings: dict[str, Any], weight_decay: float, decoupled: bool, size: int) -> bool:
    """Step all parameters, of ``size`` elements together, by a compiled loop, if there is one for them; return whether
    it did.
    """
    looped_of = LOOPED.get(rule)
    if looped_of is None or not everything:
        return False
    counts = [*map(ITEM, steps)] if steps else [None] * len(everything)
    numbers_of = {}
    for count in {*counts}:  # most parameters share a step count
        if steps:
            settings["step"] = count
        looped = looped_of(everything[0], weight_decay, decoupled, **settings)
        if looped is None:
            return False
        loop, passes, numbers_of[count] = looped
    compiled = loop.compiled(passes * size)
    if compiled is None:
        return False
    for shaped, count in zip(everything, counts, strict=True):
        given, numbers = shaped if shaped[0].ndim == 1 else [*map(RAVEL, shaped)], numbers_of[count]
        work = given[0].size * passes
        if work < LARGE:
            compiled(*given, *numbers)
        else:
            compute_parts(compiled, given, work, numbers)
    return True


def compute_parts(compiled: Callable[..., None], arrays: Sequence[array], work: int, numbers: tuple[Any, ...]) -> None:
    """Run a loop on several parts of a large parameter in parallel; ``work`` is the cost of all of it."""
    each_block(lambda part: compiled(*[a[part] for a in arrays], *numbers), arrays[0].size, LARGE // 4, work)


# -- rows --------------------------------------------------------------------------------------------------------------

def foreach_add(self: list[array], scalar: Any) -> None:
    for x in self:
        np.add(x, scalar, out=x, casting="unsafe")


ADAM = "state_steps lr beta1 beta2 weight_decay eps amsgrad maximize grad_scale found_inf"
CPU_KERNELS.update({
    "_foreach_add_.Scalar": foreach_add,
    "_fused_sgd_": stepping(optim.sgd, 3, "weight_decay momentum lr dampening nesterov maximize is_first_step "
                                          "grad_scale found_inf"),
    "_fused_adam_": stepping(optim.adam, 5, ADAM),
    "_fused_adamw_": stepping(optim.adam, 5, ADAM, decoupled=True),
    "_fused_adagrad_": stepping(optim.adagrad, 3, "state_steps lr lr_decay weight_decay eps maximize grad_scale "
                                                  "found_inf"),
})
