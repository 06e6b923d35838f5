"""Solutions of 'lazy.fuse', right and wrong."""



def conflict(a, b):
    return a.writes in (*b.reads, b.writes) or b.writes in a.reads


def right_from_levels(steps):
    """For each step the first group that it may join, kept as facts about groups."""
    groups = []
    for i, step in enumerate(steps):
        place = None
        if step.pointwise:
            for g in range(len(groups) - 1, -1, -1):
                members = [steps[j] for j in groups[g]]
                if members[0].pointwise and members[0].shape == step.shape:
                    place = g
                    break
                if any(conflict(step, member) for member in members):
                    break
        if place is None:
            groups.append([i])
        else:
            groups[place].append(i)
    return groups


def right_with_sets(steps):
    found = []
    for i, step in enumerate(steps):
        touched = {*step.reads, step.writes}
        for group in reversed(found if step.pointwise else []):
            if group["shape"] == step.shape:
                break
            if group["writes"] & touched or step.writes in group["reads"]:
                group = None
                break
        else:
            group = None
        if group is None:
            group = {"at": [], "reads": set(), "writes": set(), "shape": step.shape if step.pointwise else None}
            found.append(group)
        group["at"].append(i)
        group["reads"] |= set(step.reads)
        group["writes"].add(step.writes)
    return [group["at"] for group in found]


def grouped(steps, clash=conflict, fits=None, forward=False, look=True):
    """Groups by a rule of conflicts, and one of what may be together."""
    fits = fits or (lambda a, b: a.pointwise and b.pointwise and a.shape == b.shape)
    groups = []
    for i, step in enumerate(steps):
        for g in groups if forward else reversed(groups):
            if fits(steps[g[0]], step):
                g.append(i)
                break
            if look and any(clash(steps[j], step) for j in g):
                groups.append([i])
                break
        else:
            groups.append([i])
    return groups


def right_without_write_after_write(steps):
    """What writes in place reads, too, so two writes conflict in any case."""
    return grouped(steps, clash=lambda earlier, step: earlier.writes in step.reads or step.writes in earlier.reads)


def wrong_neighbours_only(steps):
    """A step may overtake groups that do not match it, as long as there is no conflict: look further back than the
    last group."""
    groups = []
    for i, step in enumerate(steps):
        last = steps[groups[-1][0]] if groups else None
        if last is not None and last.pointwise and step.pointwise and last.shape == step.shape:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def wrong_conflict_inside_a_group_separates(steps):
    """Inside a group the steps keep their order, block by block: there a conflict is no obstacle"""
    groups = []
    for i, step in enumerate(steps):
        for g in reversed(groups):
            if any(conflict(steps[j], step) for j in g):
                groups.append([i])
                break
            if steps[g[0]].pointwise and step.pointwise and steps[g[0]].shape == step.shape:
                g.append(i)
                break
        else:
            groups.append([i])
    return groups


def wrong_numbers_of_groups(steps):
    """Return a list of groups, each a list of positions, not a number for each step."""
    found = {i: g for g, group in enumerate(right_from_levels(steps)) for i in group}
    return [found[i] for i in range(len(steps))]


def wrong_put_in_front(steps):
    """A step joins a group at its end: it may read what the steps before it there have written."""
    groups = []
    for i, step in enumerate(steps):
        for g in reversed(groups):
            if steps[g[0]].pointwise and step.pointwise and steps[g[0]].shape == step.shape:
                g.insert(0, i)
                break
            if any(conflict(steps[j], step) for j in g):
                groups.append([i])
                break
        else:
            groups.append([i])
    return groups


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


WRONG = [
    ("Nothing is fused yet: a pointwise step joins a group of pointwise steps of its shape",
     lambda steps: [[i] for i in range(len(steps))]),
    ("A step must not overtake every other: go back from the last group, and stop at a conflict.",
     lambda steps: grouped(steps, look=False)),
    ("An in-place step must not overtake one that reads what it writes: that one needs the old values.",
     lambda steps: grouped(steps, clash=lambda earlier, step: earlier.writes in step.reads)),
    ("An in-place step must not overtake one that reads what it writes: that one needs the old values.",
     lambda steps: grouped(steps, clash=lambda earlier, step: earlier.writes in (*step.reads, step.writes))),
    ("The steps of a group go through the same elements: they need one shape",
     lambda steps: grouped(steps, fits=lambda a, b: a.pointwise and b.pointwise)),
    ("Only pointwise steps run together; one shape is not enough: a sum is complete after the last element, not "
     "before.",
     lambda steps: grouped(steps, fits=lambda a, b: a.shape == b.shape)),
    ("The group must be pointwise, too, not only the step that joins it.",
     lambda steps: grouped(steps, fits=lambda a, b: b.pointwise and a.shape == b.shape)),
    ("A step must not overtake every other: go back from the last group, and stop at a conflict.",
     lambda steps: grouped(steps, forward=True)),
    ("Return positions in the list, not the steps themselves.",
     lambda steps: [[steps[i] for i in group] for group in right_from_levels(steps)]),
    ("Every step must be in a group, even if it is alone there.",
     lambda steps: [group for group in right_from_levels(steps) if steps[group[0]].pointwise]),
]
