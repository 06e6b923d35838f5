"""Mistakes that readers of lesson 20 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "functionalization.write_back")
FIRST = "part = write_back(first(base), rest, value)"


def _in_place(base, views, value):
    part = base
    for view in views:
        part = view(part)
    part.copy_(value)
    return base


def _in_place_of_a_copy_of_the_view(base, views, value):
    whole = base.clone()
    part = whole
    for view in views:
        part = view(part).clone()
    part.copy_(value)
    return whole


MISTAKES = (
    Mistake("Return the new value of the whole, not that of the view.", lambda base, views, value: value),
    Mistake("Return the new value of the whole, not the old one; without steps it is value.",
            lambda base, views, value: base),
    Mistake("Write into nothing: base may be in use elsewhere. select_scatter and its kin return new tensors.",
            _in_place),
    Mistake("clone() of a view is not a view: what is written into it does not arrive in the whole.",
            _in_place_of_a_copy_of_the_view),
    changed("There may be several steps: the way back takes each of them, the last one first.",
            (FIRST, "part = value")),
    changed("There may be several steps: begin with the first one, which starts from base, and let the rest follow.",
            ("first, *rest = views", "*rest, first = views")),
    changed("The rest of the steps starts from first(base), not from base.",
            (FIRST, "part = write_back(base, rest, value)")),
    changed("select: put the part into a copy of base by base.select_scatter(part, dim, index).",
            ("return base.select_scatter(part, *first.args)", "return part.expand(base.shape)")),
    changed("select: its dimension counts. Pass all of the step's arguments on to select_scatter.",
            ("select_scatter(part, *first.args)", "select_scatter(part, 0, first.args[1] % base.shape[0])")),
    changed("slice: its dimension counts. Pass all of the step's arguments on to slice_scatter.",
            ("slice_scatter(part, *first.args)", "slice_scatter(part, 0, *first.args[1:])")),
    changed("slice: its step counts, too. Pass all of its arguments on to slice_scatter.",
            ("slice_scatter(part, *first.args)", "slice_scatter(part, *first.args[:3])")),
    changed("diagonal: its offset counts. Pass the step's arguments on to diagonal_scatter.",
            ("diagonal_scatter(part, *first.args)", "diagonal_scatter(part)")),
    changed("transpose: swap the dimensions back. reshape would keep the elements in the wrong order.",
            ("return part.transpose(*first.args)", "return part.reshape(base.shape)")),
    changed("permute: undo it by the inverse permutation, which has at place d the place of d in the order.",
            ("part.permute([order.index(d) for d in range(base.dim())])", "part.permute(order)")),
    changed("permute: undo it by the inverse permutation. reshape would keep the elements in the wrong order.",
            ("return part.permute([order.index(d) for d in range(base.dim())])", "return part.reshape(base.shape)")),
    changed("view, unsqueeze, squeeze: give the part the shape of base again.",
            ("return part.reshape(base.shape)", "return part")),
    changed("view: the part may have another number of dimensions than base: reshape it to base.shape.",
            ("return part.reshape(base.shape)", "return part.squeeze()")),
    changed("Every step that has only a part of the elements needs base: diagonal, too.",
            ('    if first.name == "diagonal":\n        return base.diagonal_scatter(part, *first.args)\n', "")),
    changed("The elements that the view does not have keep their values: put the part into base, not into zeros.",
            ("return base.select_scatter", "return torch.zeros_like(base).select_scatter")),
    changed("The elements that the view does not have keep their values: put the part into base, not into zeros.",
            ("return base.slice_scatter", "return torch.zeros_like(base).slice_scatter")),
    changed("Write value, as it is; do not add it to what is there.",
            ("return base.select_scatter(part,", "return base.select_scatter(part + first(base),")),
)

MISTAKES_OF = {"write_back": MISTAKES}
HIDDEN = {"write_back": (
    ("x.view(3, 2, 2)[:, 1].t()[0, ::2].add_(1); return x.sum(0)",),
    ("x.view(2, 3, 2).permute(1, 2, 0)[2].t().diagonal().mul_(5); return x.t() + 1",),
    ("y = x.view(1, 12).squeeze(0)[2:10].view(2, 4)[1]; y.copy_(x[0]); return x * y",))}
