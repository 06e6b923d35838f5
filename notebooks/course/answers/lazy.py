"""Mistakes that readers of lesson 10 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.masters import Mistake, solution

fuse = solution("lazy.fuse")


def _reads_what_it_writes(one, other):
    return other.writes in one.reads


def _writes_what_it_reads(one, other):
    return one.writes in other.reads or one.writes == other.writes


def _fuse(*, conflict=lambda one, other: _reads_what_it_writes(one, other) or _writes_what_it_reads(one, other),
          shapes=True, kinds=True, past=99, inside=False, in_place=True):
    """A fusion pass that is right, but for what is said."""

    def mine(steps):
        groups = []
        for position, step in enumerate(steps):
            home = None
            able = step.pointwise and (in_place or not step.op.endswith("_"))
            for back, group in enumerate(reversed(groups) if able or not kinds else ()):
                first = steps[group[0]]
                fits = (first.pointwise and (in_place or not first.op.endswith("_"))) or not kinds
                hit = any(conflict(step, steps[i]) for i in group)
                if back > past or (inside and hit):
                    break
                if fits and (not shapes or first.shape == step.shape):
                    home = group
                    break
                if hit:
                    break
            if home is None:
                groups.append([position])
            else:
                home.append(position)
        return groups

    return mine


def _pointwise_first(steps):
    groups = [[i for i, step in enumerate(steps) if step.pointwise]]
    return groups[:bool(groups[0])] + [[i] for i, step in enumerate(steps) if not step.pointwise]


def _joins_any(steps):
    """Looks whether the step is pointwise, and not whether the group is."""
    groups = []
    for position, step in enumerate(steps):
        for group in reversed(groups) if step.pointwise else ():
            if steps[group[0]].shape == step.shape:
                group.append(position)
                break
            if any(_reads_what_it_writes(step, steps[i]) or _writes_what_it_reads(step, steps[i]) for i in group):
                groups.append([position])
                break
        else:
            groups.append([position])
    return groups


MISTAKES = (
    Mistake("Nothing is fused yet: a pointwise step joins a group of pointwise steps of its shape.",
            lambda steps: [[i] for i in range(len(steps))]),
    Mistake("A step may overtake groups that do not match it, as long as there is no conflict: look further back than "
            "the last group.", _fuse(past=0)),
    Mistake("Only pointwise steps run together: a sum is complete after the last element, not before.",
            _fuse(kinds=False, shapes=False)),
    Mistake("Only pointwise steps run together: a sum is complete after the last element, not before.",
            lambda steps: [list(range(len(steps)))]),
    Mistake("Only pointwise steps run together; one shape is not enough: a sum is complete after the last element, not "
            "before.", _fuse(kinds=False)),
    Mistake("The group must be pointwise, too, not only the step that joins it.", _joins_any),
    Mistake("A step joins a group at its end: it may read what the steps before it there have written.",
            lambda steps: [group[::-1] for group in fuse(steps)]),
    Mistake("The steps of a group go through the same elements: they need one shape.", _fuse(shapes=False)),
    Mistake("A step must not overtake one that writes what it reads.", _fuse(conflict=_writes_what_it_reads)),
    Mistake("An in-place step must not overtake one that reads what it writes: that one needs the old values.",
            _fuse(conflict=_reads_what_it_writes)),
    Mistake("A step must not overtake every other: go back from the last group, and stop at a conflict.",
            _fuse(conflict=lambda one, other: False)),
    Mistake("A step must not overtake every other: go back from the last group, and stop at a conflict.",
            _pointwise_first),
    Mistake("In-place steps can be fused, too, if they are pointwise.", _fuse(in_place=False)),
    Mistake("Inside a group the steps keep their order, block by block: there a conflict is no obstacle.",
            _fuse(inside=True)),
    Mistake("Return positions in the list, not the steps themselves.",
            lambda steps: [[steps[i] for i in group] for group in fuse(steps)]),
    Mistake("Every step must be in a group, even if it is alone there.",
            lambda steps: [group for group in fuse(steps) if len(group) > 1]),
    Mistake("Every step must be in a group, even if it is alone there.",
            lambda steps: [group for group in fuse(steps) if steps[group[0]].pointwise]),
    Mistake("Each step runs once: a step that has joined a group does not get one of its own.",
            lambda steps: [*fuse(steps), *([group[-1]] for group in fuse(steps) if len(group) > 1)]),
    Mistake("Return a list of groups; each group is a list.",
            lambda steps: [i for group in fuse(steps) for i in group]),
    Mistake("Return a list of groups, each a list of positions, not a number for each step.",
            lambda steps: [g for i in range(len(steps)) for g, group in enumerate(fuse(steps)) if i in group]),
    Mistake("Return a list of groups; each group is a list.", lambda steps: len(fuse(steps))),
    Mistake("The groups run in the order in which you return them.", lambda steps: fuse(steps)[::-1]),
)

MISTAKES_OF = {"fuse": MISTAKES}
HIDDEN = {"fuse": (
    ((("relu", ("x",), "a", (4, 3)), ("exp", ("z",), "b", (2, 5)), ("sum", ("z",), "s", ()),
      ("mul", ("a", 3), "c", (4, 3)), ("add_", ("z", 1), "z", (2, 5)), ("neg", ("c",), "d", (4, 3))),),
    ((("sum", ("y",), "s", ()), ("mul", ("x", "s"), "a", (4, 3)), ("tanh", ("y",), "b", (4, 3)),
      ("mul_", ("y", 2), "y", (4, 3)), ("sum", ("y",), "t", ()), ("add", ("b", "t"), "c", (4, 3))),))}
