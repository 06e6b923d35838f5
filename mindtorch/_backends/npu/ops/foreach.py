"""NPU rows of operators on lists of tensors, where a 910B takes them: one dtype, shapes that agree, no gaps."""
from __future__ import annotations

from . import ACLNN_CALLS
from .row import Lists

#: The norms of lists that a 910B takes.
ORDERS = (1, 2)


def listed(text: str) -> dict[str, Lists]:
    """Rows of operators and of their forms in place: pairs of names. Counts of steps, which ``_foreach_add_.Scalar``
    is for, are mostly on the host.
    """
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
