"""CPU kernels of optimizer steps: rules applied to arrays in place, in blocks that stay in the cache."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, chain, compress, repeat
from operator import attrgetter, is_not, methodcaller, not_
from typing import Any, NamedTuple

import numpy as np

from ...._base import loops
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


# -- rules on arrays, which compute what those of ``common.optim`` do, to the last bit --------------------------------

def sgd(param: array, grad: array, buffer: array | None = None, *, lr: float, momentum: float, dampening: float,
        nesterov: bool, is_first_step: bool) -> None:
    dtype = param.dtype
    if buffer is not None:
        if is_first_step:
            buffer[...] = grad
        else:
            buffer *= asarray(momentum, dtype)
            buffer += grad if dampening == 0 else grad * asarray(1 - dampening, dtype)
        grad = grad + buffer * asarray(momentum, dtype) if nesterov else buffer
    param += grad * asarray(-lr, dtype)


def adam(param: array, grad: array, average: array, squares: array, peak: array | None = None, *, step: array,
         lr: float, beta1: float, beta2: float, eps: float) -> None:
    dtype, count, weight = param.dtype, step.item(), 1 - beta1
    change = grad - average
    if abs(weight) < 0.5:
        average += change * asarray(weight, dtype)
    else:  # the other formula of ``lerp``
        average[...] = grad + change * asarray(weight - 1, dtype)
    squares *= asarray(beta2, dtype)
    squares += grad * asarray(1 - beta2, dtype) * grad
    if peak is not None:
        squares = np.maximum(peak, squares, out=peak)
    denominator = np.sqrt(squares)
    denominator /= asarray((1 - beta2**count) ** 0.5, dtype)
    denominator += asarray(eps, dtype)
    param += average * asarray(-(lr / (1 - beta1**count)), dtype) / denominator


def adagrad(param: array, grad: array, squares: array, *, step: array, lr: float, lr_decay: float, eps: float) -> None:
    dtype = param.dtype
    squares += grad * grad
    scaled = grad * asarray(-(lr / (1 + (step.item() - 1) * lr_decay)), dtype)
    param += scaled / (np.sqrt(squares) + asarray(eps, dtype))


def blocks(arrays: Sequence[array]) -> Iterable[Sequence[array]]:
    """Yield blocks of arrays of one shape, as views, so that writes reach the arrays."""
    if not all(a.flags.c_contiguous for a in arrays):
        return (arrays,)
    flat = [a.reshape(-1) for a in arrays]
    return ([a[start:start + BLOCK] for a in flat] for start in range(0, flat[0].size, BLOCK))


# -- a step of all parameters ------------------------------------------------------------------------------------------

class Layouts(NamedTuple):
    """What the layouts of a step's arrays decide. ``small``: which parameters are small and have one dtype of single or
    double precision, so that they may be stepped as one array; empty if few. ``loop``: whether a compiled loop takes
    all arrays, with ``size`` elements of parameters. ``odd``: whether an array is a number, or of half precision.
    """

    small: list[bool]
    loop: bool
    size: int
    odd: bool

    @classmethod
    def of(cls, *lists: list[array]) -> Layouts:
        rows, arrays = [*zip(*filter(None, lists), strict=True)], [*chain(*lists)]
        dtype = arrays[0].dtype if arrays else loops.SINGLE
        small = [dtype.char in "fd" and row[0].size <= SMALL and {a.dtype for a in row} == {dtype} for row in rows]
        return cls(small if sum(small) >= SEVERAL else [],
                   all(a.dtype == loops.SINGLE and a.flags.c_contiguous for a in arrays), sum(map(SIZE, lists[0])),
                   any(a.itemsize == 2 or not a.ndim for a in lists[0]))


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
    given = args[count:]
    found_inf = given[-1] if len(given) == len(names) else None
    if found_inf is not None and found_inf.item():
        return
    lists = [*filter(None, args[:count])]
    if layouts.loop and by_loop(rule, lists, given, decoupled, layouts.size):
        return
    rows = [*zip(*lists)]  # noqa: B905  of one length, as was checked
    settings = dict(zip(names, given))  # noqa: B905  the last ones have defaults
    steps, maximize, weight_decay, grad_scale, *_ = map(settings.pop, APART, repeat(None))
    groups: list[Any] = [*zip(rows, strict=True)]
    if layouts.small and (not steps or len({*map(ITEM, steps)}) < 2) and are_apart(rows):
        groups = [[*compress(rows, layouts.small)], *zip(compress(rows, map(not_, layouts.small)), strict=True)]
    for i, alike in enumerate(groups):
        arrays: Sequence[array] = alike[0] if len(alike) == 1 else [*map(joining, *alike)]
        if layouts.odd or grad_scale is not None:
            arrays = prepared(arrays, grad_scale)
        if steps:
            settings["step"] = steps[i]  # several groups have one count, or a parameter each
        for param, grad, *state in (arrays,) if arrays[0].size <= BLOCK else blocks(arrays):
            if maximize:
                grad = -grad
            if weight_decay and decoupled:
                param *= asarray(1 - settings["lr"] * weight_decay, param.dtype)
            elif weight_decay:
                grad = grad + param * asarray(weight_decay, param.dtype)
            rule(param, grad, *state, **settings)
        if len(alike) > 1 or arrays[0].dtype != alike[0][0].dtype:
            hand_out(arrays, alike)


def prepared(arrays: Sequence[array], grad_scale: array | None) -> Sequence[array]:
    """Return a parameter's arrays, those of half precision in float32 and numbers as vectors, with its gradient as it
    was before it was scaled.
    """
    param, grad, *state = arrays
    if grad_scale is not None:
        grad = grad / grad_scale.astype(grad.dtype)
    wide = np.float32 if param.itemsize == 2 else param.dtype
    return [a.astype(wide, copy=False).reshape(-1 if not a.ndim else a.shape) for a in (param, grad, *state)]


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

def of_sgd(arrays: int, decoupled: bool, weight_decay: float, momentum: float, lr: float, dampening: float,
           nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any = None,
           found_inf: Any = None) -> Looped:
    if maximize or grad_scale is not None or (arrays == 3 and is_first_step):
        return None
    if arrays == 2:
        return loops.sgd, 2, None, {None: (weight_decay, -lr)}
    return loops.sgd_with_momentum, 4, None, {None: (weight_decay, -lr, momentum, 1 - dampening, nesterov)}


def of_adam(arrays: int, decoupled: bool, state_steps: Sequence[array], lr: float, beta1: float, beta2: float,
            weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any = None,
            found_inf: Any = None) -> Looped:
    """Return Adam's loop without amsgrad, if ``beta1`` is above 0.5 (for which ``lerp`` has one formula); else None."""
    if maximize or grad_scale is not None or arrays != 4 or beta1 <= 0.5:
        return None
    shrink, coupled = (1 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    counts = [*map(ITEM, state_steps)]
    return loops.adam, 10, counts, {
        step: (shrink, coupled, 1 - beta1, beta2, 1 - beta2, (1 - beta2**step) ** 0.5, eps, -(lr / (1 - beta1**step)))
        for step in {*counts}}  # most parameters share a step count


#: A step's loop, the number of NumPy passes it replaces, the step counts of the parameters, if the rule counts steps,
#: and the loop's numeric arguments for each count.
Looped = tuple[loops.Loop, int, list[float] | None, dict[float | None, tuple[Any, ...]]] | None
#: By rule: a function of the number of a parameter's arrays, and the settings as the operator is given them, that
#: returns how a loop takes the step; None without a loop.
LOOPED: dict[Any, Callable[..., Looped]] = {sgd: of_sgd, adam: of_adam}


def by_loop(rule: Callable[..., None], lists: Sequence[list[array]], given: Sequence[Any], decoupled: bool,
            size: int) -> bool:
    """Step all parameters, of ``size`` elements together, by a compiled loop, if there is one for them; return whether
    it did.
    """
    looped_of = LOOPED.get(rule)
    if looped_of is None or not lists or (looped := looped_of(len(lists), decoupled, *given)) is None:
        return False
    loop, passes, counts, numbers_of = looped
    if (compiled := loop.compiled(passes * size)) is None:
        return False
    for count, numbers in numbers_of.items():
        alike = lists if counts is None or len(numbers_of) == 1 else chosen(lists, [n == count for n in counts])
        is_large = [] if size * passes < LARGE else [param.size * passes >= LARGE for param in alike[0]]
        small = chosen(alike, map(not_, is_large)) if any(is_large) else alike
        compiled.each(small, *numbers)  # type: ignore[attr-defined]
        for arrays in compress(zip(*alike), is_large):  # noqa: B905  of one length
            compute_parts(compiled, [*map(RAVEL, arrays)], arrays[0].size * passes, numbers)
    return True


def chosen(lists: Sequence[list[array]], which: Iterable[bool]) -> list[list[array]]:
    """Return some of the rows of lists of arrays."""
    picked = [*which]
    return [[*compress(column, picked)] for column in lists]


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
    "_fused_sgd_": stepping(sgd, 3, "weight_decay momentum lr dampening nesterov maximize is_first_step "
                                          "grad_scale found_inf"),
    "_fused_adam_": stepping(adam, 5, ADAM),
    "_fused_adamw_": stepping(adam, 5, ADAM, decoupled=True),
    "_fused_adagrad_": stepping(adagrad, 3, "state_steps lr lr_decay weight_decay eps maximize grad_scale "
                                                  "found_inf"),
})
