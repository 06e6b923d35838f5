"""Containers: sequences and dictionaries of modules and parameters."""
from __future__ import annotations

from collections import OrderedDict

import pytest

from tests.nn.both import same


def sequence(t, kind="Sequential"):
    modules = [t.nn.Linear(2, 2), t.nn.ReLU(), t.nn.Tanh()]
    return t.nn.Sequential(*modules) if kind == "Sequential" else t.nn.ModuleList(modules)


def inserted(index):
    def program(s, t):
        return s.insert(index, t.nn.Sigmoid()), s

    return program


def deleted(index):
    def program(s, t):
        del s[index]
        return s, list(s._modules)

    return program


def replaced(index):
    def program(s, t):
        s[index] = t.nn.ELU()
        return s

    return program


def added_in_place(s, t):
    s += sequence(t, type(s).__name__)
    return s


def multiplied_in_place(s, t):
    s *= 2
    return s


SEQUENCES = {
    "repr": lambda s, t: s,
    "length": lambda s, t: len(s),
    "iteration": lambda s, t: [type(m).__name__ for m in s],
    "item": lambda s, t: s[1],
    "last item": lambda s, t: s[-1],
    "item out of range": lambda s, t: s[3],
    "item by a string": lambda s, t: s["0"],
    "slice": lambda s, t: s[1:],
    "slice with a step": lambda s, t: (s[::2], list(s[::2]._modules)),
    "append": lambda s, t: (s.append(t.nn.ELU()) is s, s),
    "append a number": lambda s, t: s.append(1),
    "extend": lambda s, t: s.extend([t.nn.ELU(), t.nn.GELU()]),
    "extend by a number": lambda s, t: s.extend(1),
    "insert": inserted(1),
    "insert at the end": inserted(3),
    "pop": lambda s, t: (s.pop(0), s, list(s._modules)),
    "pop out of range": lambda s, t: s.pop(5),
    "delete": deleted(1),
    "delete the last": deleted(-1),
    "delete a slice": deleted(slice(0, 2)),
    "replace": replaced(-1),
    "replace out of range": replaced(4),
    "add": lambda s, t: s + sequence(t, type(s).__name__),
    "add in place": added_in_place,
    "names": lambda s, t: [name for name, _ in s.named_parameters()],
    "dir": lambda s, t: [name for name in dir(s) if name.isdigit()],
}
ONLY_SEQUENTIAL = {
    "multiply": lambda s, t: (s * 2, 2 * s),
    "multiply by zero": lambda s, t: s * 0,
    "multiply by a float": lambda s, t: s * 1.5,
    "multiply in place": multiplied_in_place,
    "add a list": lambda s, t: s + [t.nn.ReLU()],
    "insert before the first": inserted(-3),
    "insert out of range": inserted(9),
    "call": lambda s, t: s(t.ones(1, 2)),
}


@pytest.mark.parametrize("kind", ["Sequential", "ModuleList"])
@pytest.mark.parametrize("case", SEQUENCES)
def test_sequences(case, kind):
    same(lambda t: SEQUENCES[case](sequence(t, kind), t), message="string" not in case)


@pytest.mark.parametrize("case", ONLY_SEQUENTIAL)
def test_sequential(case):
    same(lambda t: ONLY_SEQUENTIAL[case](sequence(t), t))


def test_sequential_of_named_modules():
    def program(t):
        model = t.nn.Sequential(OrderedDict(first=t.nn.Linear(2, 3), second=t.nn.ReLU()))
        model[0] = t.nn.Linear(2, 4)
        empty = t.nn.Sequential()
        return model, model.first is model[0], model[:1], list(model.state_dict()), empty, empty(7)

    same(program)


def test_equal_modules_of_a_list_are_shown_together():
    def program(t):
        modules = t.nn.ModuleList([t.nn.Linear(2, 2) for _ in range(3)] + [t.nn.ReLU()] + [t.nn.Linear(2, 2)])
        return modules, t.nn.ModuleList([t.nn.ModuleList([t.nn.ReLU(), t.nn.ReLU()])] * 2), t.nn.ModuleList()

    same(program)


def test_a_list_cannot_be_called():
    same(lambda t: t.nn.ModuleList()(1))


def dictionary(t):
    return t.nn.ModuleDict({"a": t.nn.ReLU(), "b": t.nn.Linear(2, 2)})


DICTIONARIES = {
    "repr": lambda d, t: d,
    "keys": lambda d, t: (list(d.keys()), len(d), "a" in d, "c" in d, list(d)),
    "items": lambda d, t: [(k, type(m).__name__) for k, m in d.items()],
    "values": lambda d, t: list(d.values()),
    "item": lambda d, t: (d["a"], d.b),
    "missing item": lambda d, t: d["c"],
    "set": lambda d, t: (d.__setitem__("c", t.nn.Tanh()), d),
    "set a number": lambda d, t: d.__setitem__("c", 1),
    "set a taken name": lambda d, t: d.__setitem__("keys", t.nn.Tanh()),
    "delete": lambda d, t: (d.__delitem__("a"), d),
    "pop": lambda d, t: (d.pop("a"), d),
    "pop missing": lambda d, t: d.pop("c"),
    "clear": lambda d, t: (d.clear(), d),
    "update from pairs": lambda d, t: (d.update([["z", t.nn.Tanh()], ("a", t.nn.ELU())]), d),
    "update from a dictionary": lambda d, t: (d.update({"z": t.nn.Tanh(), "c": t.nn.ELU()}), d),
    "update from another": lambda d, t: (d.update(t.nn.ModuleDict({"z": t.nn.Tanh()})), d),
    "update from a number": lambda d, t: d.update(1),
    "update from numbers": lambda d, t: d.update([1]),
    "update from triples": lambda d, t: d.update([(1, 2, 3)]),
}


@pytest.mark.parametrize("case", DICTIONARIES)
def test_module_dict(case):
    same(lambda t: DICTIONARIES[case](dictionary(t), t))


def parameters(t):
    return t.nn.ParameterList([t.nn.Parameter(t.zeros(2)), t.ones(2, 3), "text", t.nn.Parameter(t.ones(()))])


def set_first(p, value):
    p[0] = value
    return p


PARAMETER_LISTS = {
    "repr": lambda p, t: p,
    "one": lambda p, t: t.nn.ParameterList([t.ones(1)]),
    "members": lambda p, t: (len(p), list(p), [name for name, _ in p.named_parameters()], p[-1], p[2]),
    "slice": lambda p, t: (p[1:3], len(p[::2])),
    "out of range": lambda p, t: p[4],
    "append": lambda p, t: (p.append(t.zeros(1)) is p, p, type(p[-1])),
    "extend": lambda p, t: p.extend([t.zeros(1), 3]),
    "extend by a tensor": lambda p, t: p.extend(t.ones(2)),
    "extend by a number": lambda p, t: p.extend(1),
    "set a tensor": lambda p, t: (set_first(p, t.ones(5)), type(p[0])),
    "set a number where a parameter is": lambda p, t: set_first(p, 3),
    "state": lambda p, t: p.state_dict(),
    "call": lambda p, t: p(1),
    "dir": lambda p, t: [name for name in dir(p) if name.isdigit()],
}


@pytest.mark.parametrize("case", PARAMETER_LISTS)
def test_parameter_list(case):
    same(lambda t: PARAMETER_LISTS[case](parameters(t), t))


def parameter_dictionary(t):
    return t.nn.ParameterDict({"b": t.nn.Parameter(t.zeros(2)), "a": t.ones(1), "text": "x"})


PARAMETER_DICTIONARIES = {
    "repr": lambda p, t: p,
    "keys in order": lambda p, t: (list(p), list(reversed(p)), list(p.keys()), len(p), "a" in p, "z" in p),
    "values": lambda p, t: (list(p.values()), dict(p.items()), p["a"], p.text),
    "kept order": lambda p, t: list(t.nn.ParameterDict(OrderedDict(b=t.ones(1), a=t.ones(1)))),
    "names": lambda p, t: [name for name, _ in p.named_parameters()],
    "get": lambda p, t: (p.get("z"), p.get("z", 3), p.get("a")),
    "setdefault": lambda p, t: (p.setdefault("a", 1), p.setdefault("n", t.ones(1)), type(p["n"]),
                                p.setdefault("none")),
    "pop": lambda p, t: (p.pop("a"), list(p)),
    "pop missing": lambda p, t: p.pop("z"),
    "popitem": lambda p, t: (p.popitem(), list(p)),
    "clear": lambda p, t: (p.clear(), p, len(list(p.parameters()))),
    "copy": lambda p, t: (p.copy(), p.copy()["a"] is p["a"]),
    "fromkeys": lambda p, t: p.fromkeys(["x", "y"], 5),
    "or": lambda p, t: (list(p | t.nn.ParameterDict({"z": t.ones(1)})), list(p)),
    "in place or": lambda p, t: (p.__ior__(t.nn.ParameterDict({"z": t.ones(1)})) is p, list(p)),
    "update from pairs": lambda p, t: (p.update([("z", t.ones(1))]), list(p)),
    "update from a number": lambda p, t: p.update(1),
    "update from numbers": lambda p, t: p.update([1]),
    "update from triples": lambda p, t: p.update([(1, 2, 3)]),
    "state": lambda p, t: p.state_dict(),
    "call": lambda p, t: p(1),
}


@pytest.mark.parametrize("case", PARAMETER_DICTIONARIES)
def test_parameter_dict(case):
    same(lambda t: PARAMETER_DICTIONARIES[case](parameter_dictionary(t), t),
         message="from a number" not in case)
