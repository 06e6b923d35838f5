"""Solutions of 'checkpoints.rebuild', right and wrong."""
import pickle


def right_by_a_stack_of_stacks(steps, allowed, load_storage):
    """Every mark begins a new stack, as Python's own pickle does it."""
    below, top, memo = [], [], {}

    def take(count):
        nonlocal top
        if count is None:
            values, top = top, below.pop()
        else:
            cut = len(top) - count
            values = top[cut:]
            top = top[:cut]
        return values

    for name, argument in steps:
        if name == "value":
            top.append(argument)
        elif name == "empty":
            top.append({} if argument == "dict" else [])
        elif name == "mark":
            below.append(top)
            top = []
        elif name == "tuple":
            values = take(argument)
            top.append(tuple(values))
        elif name == "append":
            values = take(argument)
            for value in values:
                top[-1].append(value)
        elif name == "set":
            values = take(argument)
            for i in range(0, len(values), 2):
                top[-1][values[i]] = values[i + 1]
        elif name == "put":
            memo[argument] = top[-1]
        elif name == "get":
            top.append(memo[argument])
        elif name == "global":
            try:
                top.append(allowed[argument])
            except KeyError:
                raise pickle.UnpicklingError(argument) from None
        elif name == "call":
            arguments = top.pop()
            function = top.pop()
            if not any(function is one for one in allowed.values()):
                raise pickle.UnpicklingError("no call of this")
            top.append(function(*arguments))
        elif name == "storage":
            top.append(load_storage(top.pop()))
        elif name == "state":
            state = top.pop()
            for key in state:
                setattr(top[-1], key, state[key])
        else:
            raise pickle.UnpicklingError(name)
    return top[-1]


class Machine:
    def __init__(self, allowed, load_storage):
        self.allowed, self.load_storage = allowed, load_storage
        self.stack, self.marks, self.memo = [], [], {}

    def take(self, count):
        at = self.marks.pop() if count is None else len(self.stack) - count
        values = self.stack[at:]
        self.stack[at:] = []
        return values

    def do_value(self, value):
        self.stack.append(value)

    def do_empty(self, kind):
        self.stack.append({"dict": dict, "list": list}[kind]())

    def do_mark(self, _):
        self.marks.append(len(self.stack))

    def do_tuple(self, count):
        self.stack.append(tuple(self.take(count)))

    def do_append(self, count):
        values = self.take(count)
        self.stack[-1] += values

    def do_set(self, count):
        values = iter(self.take(count))
        for key in values:
            self.stack[-1][key] = next(values)

    def do_put(self, number):
        self.memo[number] = self.stack[-1]

    def do_get(self, number):
        self.stack.append(self.memo[number])

    def do_global(self, name):
        if name not in self.allowed:
            raise pickle.UnpicklingError(name)
        self.stack.append(self.allowed[name])

    def do_call(self, _):
        function, arguments = self.take(2)
        if id(function) not in map(id, self.allowed.values()):
            raise pickle.UnpicklingError("not allowed")
        self.stack.append(function(*arguments))

    def do_storage(self, _):
        self.stack[-1] = self.load_storage(self.stack[-1])

    def do_state(self, _):
        [state] = self.take(1)
        vars(self.stack[-1]).update(state)


def right_by_methods(steps, allowed, load_storage):
    """A method for each step."""
    machine = Machine(allowed, load_storage)
    for name, argument in steps:
        method = getattr(machine, f"do_{name}", None)
        if method is None:
            raise pickle.UnpicklingError(name)
        method(argument)
    return machine.stack[-1]


def wrong_refuses_all(steps, allowed, load_storage):
    """run the steps of an honest file"""
    raise pickle.UnpicklingError("no")


def wrong_last(steps, allowed, load_storage):
    """Keep a stack"""
    for _, argument in steps:
        value = argument
    return value


EDITED = right_by_a_stack_of_stacks
EDITS = [
    ("not the stack", "return top[-1]", "return top"),
    ("A tuple is no list", "top.append(tuple(values))", "top.append(values)"),
    ("order in which they were pushed", "top.append(tuple(values))", "top.append(tuple(values[::-1]))"),
    ("extend, so that", "for value in values:\n                top[-1].append(value)", "top[-1].append(values)"),
    ("the key comes first", "top[-1][values[i]] = values[i + 1]", "top[-1][values[i + 1]] = values[i]"),
    ("put leaves the value", "memo[argument] = top[-1]", "memo[argument] = top.pop()"),
    ("not by KeyError", "raise pickle.UnpicklingError(argument) from None", "raise"),
    ("may return a function", "if not any(function is one for one in allowed.values()):", "if function is None:"),
    ("function(*arguments)", "function(*arguments)", "function(arguments)"),
    ("update its __dict__", "setattr(top[-1], key, state[key])", "top[-1][key] = state[key]"),
    ("do not leave it out", "setattr(top[-1], key, state[key])", "pass"),
    ("A step that you do not know is refused", "raise pickle.UnpicklingError(name)", "pass"),
    ("as its argument says", '{} if argument == "dict" else []', "{}"),
]
