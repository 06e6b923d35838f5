"""Solutions of 'dynamo.guard', right and wrong."""
import mindtorch as torch


def right_by_tests(args):
    """A list of tests, each of which looks at one place."""
    tests, places = [], []

    def add(path, test):
        tests.append((path, test))

    def walk(value, path):
        kind = type(value)
        add(path, lambda later: type(later) is kind)
        if isinstance(value, torch.Tensor):
            places.append((path, id(value)))
            for name in ("dtype", "device", "shape", "requires_grad"):
                found = getattr(value, name)
                add(path, lambda later, name=name, found=found: getattr(later, name) == found)
            stride = value.stride()
            add(path, lambda later: later.stride() == stride)
        elif isinstance(value, dict):
            keys = list(value)
            add(path, lambda later: list(later) == keys)
            for key in keys:
                walk(value[key], (*path, key))
        elif isinstance(value, (tuple, list)):
            length = len(value)
            add(path, lambda later: len(later) == length)
            for i, item in enumerate(value):
                walk(item, (*path, i))
        elif value is None or isinstance(value, (int, float, str)):
            add(path, lambda later: later == value)
        else:
            add(path, lambda later: later is value)

    walk(args, ())
    twins = {(one, other): a == b for one, a in places for other, b in places}
    mode = torch.is_grad_enabled()

    def at(value, path):
        for step in path:
            value = value[step]
        return value

    def holds(later):
        if torch.is_grad_enabled() != mode:
            return False
        for path, test in tests:
            if not test(at(later, path)):
                return False
        return all((at(later, one) is at(later, other)) == same for (one, other), same in twins.items())

    holds.tests = None
    return holds


def right_by_a_text(args):
    """A description as a list of texts and objects."""
    def describe(args):
        found, names = [torch.is_grad_enabled()], {}

        def visit(value):
            found.append(type(value))
            if isinstance(value, torch.Tensor):
                number = names.setdefault(id(value), len(names))
                found.append(f"{value.dtype} {value.device} {list(value.shape)} {value.stride()} "
                             f"{value.requires_grad} {number}")
            elif isinstance(value, (list, tuple)):
                found.append(len(value))
                for item in value:
                    visit(item)
            elif isinstance(value, dict):
                found.append(tuple(value))
                for item in value.values():
                    visit(item)
            else:
                found.append(value)

        visit(args)
        return found

    first = describe(args)
    return lambda later: describe(later) == first


def wrong_equality(args):
    """== of tensors is a tensor, and compares values"""
    return lambda later: args == later


def wrong_no_function(args):
    """Return a function"""
    return [getattr(value, "shape", value) for value in args]


EDITED = right_by_a_text
EDITS = [
    ("compare the types of numbers", "found.append(type(value))",
     "found.append(type(value) if isinstance(value, (torch.Tensor, list, tuple, dict)) else None)"),
    ("x.t() has the shape of x", "{value.stride()} ", ""),
    ("A program is made for one dtype", "{value.dtype} ", ""),
    ("compare the shapes", "{list(value.shape)} {value.stride()}", "{value.dim()} {value.is_contiguous()}"),
    ("Whether a tensor requires grad", "{value.requires_grad} ", ""),
    ("A program is made for one device", "{value.device} ", ""),
    ("which arguments are one tensor", " {number}", ""),
    ("no reason to compile again", "names.setdefault(id(value), len(names))", "id(value)"),
    ("Grad mode decides what is recorded", "[torch.is_grad_enabled()], {}", "[], {}"),
    ("Values of tensors do not matter", "{value.dtype} ", "{value.dtype} {value.tolist()} "),
    ("Look into lists and tuples", "for item in value:", "for item in value[:0]:"),
    ("Compare the values of dictionaries", "for item in value.values():", "for item in ():"),
    ("Describe the arguments at once", "== first", "== describe(args)"),
    ("always holds", "describe(later) == first", "True"),
]
