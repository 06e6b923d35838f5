"""Solutions of 'functionalization.write_back', right and wrong."""
import mindtorch as torch


def right_by_numbers(base, views, value):
    """Number the elements of base, walk the steps with the numbers, and put the value where they lead."""
    places = torch.arange(base.numel()).reshape(base.shape)
    for view in views:
        places = view(places)
    return base.reshape(-1).index_put((places.reshape(-1),), value.reshape(-1)).reshape(base.shape)


def right_by_a_mask(base, views, value):
    """Let a copy of base be written: it belongs to no one else."""
    whole = base.clone(memory_format=torch.contiguous_format)
    part = whole
    for view in views:
        part = view(part)
    part.copy_(value)
    return whole


def right_by_a_table(base, views, value):
    """A loop from the last step to the first, with an inverse for each name."""
    inverses = {
        "select": lambda whole, part, *args: whole.select_scatter(part, *args),
        "slice": lambda whole, part, *args: whole.slice_scatter(part, *args),
        "diagonal": lambda whole, part, *args: whole.diagonal_scatter(part, *args),
        "transpose": lambda whole, part, one, other: part.transpose(one, other),
        "permute": lambda whole, part, order: part.permute(sorted(range(len(order)), key=lambda d: order[d])),
        "view": lambda whole, part, shape: part.reshape(whole.shape),
        "unsqueeze": lambda whole, part, dim: part.squeeze(dim),
        "squeeze": lambda whole, part, *dims: part.reshape(whole.shape),
    }
    wholes = [base]
    for view in views[:-1]:
        wholes.append(view(wholes[-1]))
    for whole, view in zip(reversed(wholes), reversed(views)):
        value = inverses[view.name](whole, value, *view.args)
    return value


def wrong_in_place(base, views, value):
    """Write into nothing"""
    part = base
    for view in views:
        part = view(part)
    part.copy_(value)
    return base


def wrong_view(base, views, value):
    """Return the new value of the whole, not that of the view"""
    return value


def wrong_base(base, views, value):
    """not the old one"""
    return base.clone()


EDITED = right_by_a_table
EDITS = [
    ("The rest of the steps starts from first(base)", "for view in views[:-1]:", "for view in views[:0]:"),
    ("undo it by the inverse permutation", "sorted(range(len(order)), key=lambda d: order[d])", "order"),
    ("swap the dimensions back", "part.transpose(one, other)", "part.reshape(whole.shape)"),
    ("its offset counts", "whole.diagonal_scatter(part, *args)", "whole.diagonal_scatter(part)"),
    ("slice: its dimension counts", "whole.slice_scatter(part, *args)", "whole.slice_scatter(part, 0, *args[1:])"),
    ("its step counts", "whole.slice_scatter(part, *args)", "whole.slice_scatter(part, *args[:3])"),
    ("select: its dimension counts", "whole.select_scatter(part, *args)",
     "whole.select_scatter(part, 0, args[1] % len(whole))"),
    ("put the part into base, not into zeros", "whole.select_scatter(part, *args)",
     "torch.zeros_like(whole).select_scatter(part, *args)"),
    ("Write value, as it is", "whole.select_scatter(part, *args)",
     "whole.select_scatter(part + whole.select(*args), *args)"),
]
