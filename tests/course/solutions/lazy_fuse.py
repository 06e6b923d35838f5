"""Solutions of 'lazy.fuse'. The hint has a wrong one's docstring, or the text in `WRONG`."""


def touches(a, b):
    return a.writes in (*b.reads, b.writes) or b.writes in a.reads


def right_by_levels(steps):
    """For each step the earliest group that may hold it, by what it must not go past; groups are made at the end."""
    groups, kinds = [], []
    for i, step in enumerate(steps):
        kind = (step.shape,) if step.pointwise else i
        place = len(groups)
        while place > 0:
            if kinds[place - 1] == kind or any(touches(step, steps[j]) for j in groups[place - 1]):
                break
            place -= 1
        if place > 0 and kinds[place - 1] == kind:
            groups[place - 1].append(i)
        else:
            groups.append([i])
            kinds.append(kind)
    return groups


def right_by_merging(steps):
    """Begin with a group for each step, and merge two while there are some that may be."""
    groups = [(i,) for i in range(len(steps))]

    def fusible(first, second):
        one, other = steps[first[0]], steps[second[0]]
        return one.pointwise and other.pointwise and one.shape == other.shape

    def free(mine, others):
        return not any(touches(steps[i], steps[j]) for i in mine for group in others for j in group)

    again = True
    while again:
        again = False
        for b in range(1, len(groups)):
            for a in range(b - 1, -1, -1):
                if fusible(groups[a], groups[b]) and free(groups[b], groups[a + 1:b]):
                    groups[a] = groups[a] + groups[b]
                    del groups[b]
                    again = True
                    break
            if again:
                break
    return [list(group) for group in groups]


def joining(steps, may_join, must_stop):
    groups = []
    for i, step in enumerate(steps):
        for group in groups[::-1]:
            if may_join(step, [steps[j] for j in group]):
                group.append(i)
                break
            if must_stop(step, [steps[j] for j in group]):
                groups.append([i])
                break
        else:
            groups.append([i])
    return groups


def alike(step, group):
    return step.pointwise and group[0].pointwise and group[0].shape == step.shape


def any_conflict(step, group):
    return any(touches(step, other) for other in group)


def wrong_in_place_left_out(steps):
    """In-place steps can be fused, too, if they are pointwise."""
    def may(step, group):
        return alike(step, group) and "_" not in step.op and "_" not in group[0].op

    return joining(steps, may, any_conflict)


def wrong_twice(steps):
    """Each step runs once: a step that has joined a group does not get one of its own."""
    groups = right_by_levels(steps)
    return groups + [[group[-1]] for group in groups if len(group) > 1]


WRONG = [
    ("a sum is complete after the last element", lambda steps: [[i for i, _ in enumerate(steps)]]),
    ("A step must not overtake one that writes what it reads.",
     lambda steps: joining(steps, alike, lambda step, group: any(step.writes in (*o.reads, o.writes) for o in group))),
    ("Every step must be in a group, even if it is alone there.",
     lambda steps: [group for group in right_by_merging(steps) if len(group) >= 2]),
    ("each group is a list", lambda steps: [i for group in right_by_levels(steps) for i in group]),
    ("in the order in which you return them", lambda steps: list(reversed(right_by_levels(steps)))),
]
