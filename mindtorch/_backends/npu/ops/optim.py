"""NPU rows of the steps of optimizers, their rules as calls of ACLNN, and of operators on lists of tensors."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...._dtype import float32
from ...common import optim
from . import ACLNN_CALLS
from .row import Call, Each, Lists


class Remote:
    """A tensor on an NPU, whose methods put the calls to make into a list."""

    __slots__ = ("made", "tensor")

    def __init__(self, tensor: Any, made: list[Call]) -> None:
        self.tensor, self.made = tensor, made

    def _call(self, name: str, *values: Any) -> Remote:
        """Append a call that writes into this tensor."""
        given = [value.tensor if isinstance(value, Remote) else value for value in values]
        self.made.append((name, (*given, self.tensor)))
        return self

    def _new(self) -> Remote:
        return Remote(self.tensor.new_empty(self.tensor.shape), self.made)

    def detach(self) -> Remote:
        return self

    def neg(self) -> Remote:
        return self._new()._call("aclnnNeg", self)

    def sqrt(self) -> Remote:
        return self._new()._call("aclnnSqrt", self)

    def add(self, other: Remote, alpha: Any = 1) -> Remote:
        return self._new()._call("aclnnAdd", self, other, alpha)

    def div(self, number: Any) -> Remote:
        return self._new()._call("aclnnDivs", self, number)

    def copy_(self, other: Remote) -> Remote:
        self.made.append(("aclnnInplaceCopy", (self.tensor, other.tensor)))
        return self

    def add_(self, other: Any, alpha: Any = 1) -> Remote:
        return self._call("aclnnAdd" if other.__class__ is Remote else "aclnnAdds", self, other, alpha)

    def mul_(self, number: Any) -> Remote:
        return self if number == 1 else self._call("aclnnMuls", self, number)

    def addcmul_(self, first: Remote, second: Remote, value: Any) -> Remote:
        return self._call("aclnnAddcmul", self, first, second, value)

    def addcdiv_(self, first: Remote, second: Remote, value: Any) -> Remote:
        return self._call("aclnnAddcdiv", self, first, second, value)


class Remotes(Remote):
    """Some tensors of one dtype, which are changed together (``_foreach_`` operators)."""

    __slots__ = ()

    def _new(self) -> Remotes:
        return Remotes([tensor.new_empty(tensor.shape) for tensor in self.tensor], self.made)

    def neg(self) -> Remote:
        return self._new()._call("aclnnForeachNeg", self)

    def add(self, other: Remote, alpha: Any = 1) -> Remote:
        return self._new()._call("aclnnForeachAddListV2", self, other, alpha)

    def copy_(self, other: Remote) -> Remote:
        return self._call("aclnnForeachCopy", other)

    def add_(self, other: Any, alpha: Any = 1) -> Remote:
        return self._call("aclnnForeachAddListV2", self, other, alpha)

    def mul_(self, number: Any) -> Remote:
        return self if number == 1 else self._call("aclnnForeachMulScalarV2", self, number)


#: Tensors that such an operator takes at a time, at most, and their dtypes.
MOST_IN_LIST, TOGETHER = 16, ("float32", "float16", "bfloat16")


def in_lists(lists: Any) -> bool:
    """Return whether a 910B changes these tensors together: they have elements, no gaps, and one dtype."""
    kind = lists[0][0]._dtype
    return kind.name in TOGETHER and all(tensor._dtype is kind and tensor.is_contiguous() and tensor.numel()
                                         for tensors in lists for tensor in tensors)


def fused(rule: Callable[..., None], lists: Any, steps: Any, settings: dict[str, Any], maximize: bool,
          weight_decay: float) -> Iterator[Call]:
    """Yield the calls of a step, one parameter or list after the other; step counts are usually on the host."""
    made: list[Call] = []
    for i, tensors in enumerate(zip(*filter(None, lists), strict=True)):
        param, grad, *state = [(Remotes if tensor.__class__ is list else Remote)(tensor, made) for tensor in tensors]
        grad = optim.descent(param, grad, maximize, weight_decay)
        rule(param, grad, *state, **({"step": steps[i]} if steps else {}), **settings)
        yield from made
        made.clear()


def fused_sgd(params: Any, grads: Any, buffers: Any, weight_decay: float, momentum: float, lr: float, dampening: float,
              nesterov: bool, maximize: bool, is_first_step: bool, *scaling: Any) -> Iterator[Call]:
    settings = {"lr": lr, "momentum": momentum, "dampening": dampening, "nesterov": nesterov,
                "is_first_step": is_first_step}
    lists = [tensors for tensors in (params, grads, buffers) if tensors]
    if in_lists(lists):
        lists = [[tensors[i:i + MOST_IN_LIST] for i in range(0, len(params), MOST_IN_LIST)] for tensors in lists]
    return fused(optim.sgd, lists, (), settings, maximize, weight_decay)


def fused_adam(decoupled: bool) -> Callable[..., Iterator[Call]]:
    """Make ``_fused_adam(w)_``, an operator a parameter; coupled decay is added to the gradient."""

    def fused_adam(params: Any, grads: Any, averages: Any, squares: Any, peaks: Any, steps: Any, lr: float,
                   beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
                   *scaling: Any) -> Iterator[Call]:
        counts: dict[Any, Any] = {}  # one tensor for all parameters that have taken as many steps
        for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
            before = counts.get(key := id(steps[i]) if steps[i].device == param.device else steps[i].item())
            if before is None:
                before = counts[key] = param.new_empty((1,), dtype=float32)
                yield (("aclnnSubs", (steps[i].view(1), 1, 1, before)) if steps[i].device == param.device
                       else ("aclnnInplaceFillScalar", (before, key - 1)))
            decay = weight_decay if decoupled else 0
            if weight_decay and not decoupled:
                decayed = param.new_empty(param.shape)
                yield "aclnnAdd", (grad, param, -weight_decay if maximize else weight_decay, decayed)
                grad = decayed
            yield "aclnnApplyAdamWV2", (param, averages[i], squares[i], peaks[i] if peaks else None, grad, before, lr,
                                        beta1, beta2, decay, eps, amsgrad, maximize)

    return fused_adam


def fused_adagrad(params: Any, grads: Any, sums: Any, steps: Any, lr: float, lr_decay: float, weight_decay: float,
                  eps: float, maximize: bool, *scaling: Any) -> Iterator[Call]:
    return fused(optim.adagrad, (params, grads, sums), steps, {"lr": lr, "lr_decay": lr_decay, "eps": eps}, maximize,
                 weight_decay)


def plain(*args: Any) -> bool:
    """Return True without gradient scaling, which must read data to decide."""
    return args[-1] is None and args[-2] is None


ACLNN_CALLS.update({
    "_fused_sgd_": Each("", fused_sgd, when=plain),
    "_fused_adam_": Each("", fused_adam(decoupled=False), when=plain),
    "_fused_adamw_": Each("", fused_adam(decoupled=True), when=plain),
    "_fused_adagrad_": Each("", fused_adagrad, when=plain),
})


#: The norms of lists that a 910B takes.
ORDERS = (1, 2)


def listed(text: str) -> dict[str, Lists]:
    """Make rows of operators and their in-place forms from pairs of names; step counts stay on the host."""
    names = text.split()
    return {name: Lists("aclnnForeach" + theirs)
            for ours, theirs in zip(names[::2], names[1::2], strict=True)
            for packet, dot, overload in [ours.partition(".")] for form in ("", "_")
            if (name := f"_foreach_{packet}{form}{dot}{overload}") != "_foreach_add_.Scalar"}


ACLNN_CALLS.update({
    **listed("""
        add.List AddListV2           add.Scalar AddScalarV2         add.ScalarList AddScalarList
        sub.List SubListV2           sub.Scalar SubScalarV2         sub.ScalarList SubScalarList
        mul.List MulList             mul.Scalar MulScalarV2         mul.ScalarList MulScalarList
        div.List DivList             div.Scalar DivScalarV2         div.ScalarList DivScalarList
        maximum.List MaximumList     minimum.List MinimumList       addcmul.Scalar AddcmulScalarV2
        addcdiv.Scalar AddcdivScalarV2                              lerp.List LerpList
        lerp.Scalar LerpScalar       abs Abs                        exp Exp
        neg Neg                      reciprocal Reciprocal          sigmoid Sigmoid
        sqrt Sqrt                    tanh Tanh
    """),
    "_foreach_norm.Scalar": Lists("aclnnForeachNorm", lambda x, ord, dtype, out: (x, ord, out),
                                  when=lambda x, ord, dtype: dtype is None and ord in ORDERS, shape=()),
    "_foreach_copy_": Lists("aclnnForeachCopy", lambda out, x, non_blocking, same: (x, out)),
})
