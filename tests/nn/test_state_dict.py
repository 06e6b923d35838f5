"""``state_dict`` and ``load_state_dict``."""
from __future__ import annotations

from collections import OrderedDict

import pytest

from tests.nn.both import same
from tests.nn.test_module import Owner


def stateful(t, version=1):
    """A module with extra state, and a version."""

    class Counter(t.nn.Module):
        _version = version

        def __init__(self):
            super().__init__()
            self.count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    return Counter()


def test_keys_values_and_metadata():
    def program(t):
        model = t.nn.Sequential(Owner(t), stateful(t, 2))
        state = model.state_dict()
        return (state, state._metadata, type(state).__name__, model.state_dict(prefix="a."),
                model.state_dict(keep_vars=True),
                list(model.state_dict(destination={"x": 1})), state["0.weight"].data_ptr()
                == model[0].weight.data_ptr())

    same(program)


def test_positional_arguments_are_deprecated():
    def program(t):
        with pytest.warns(FutureWarning, match="Positional args"):
            return t.nn.Linear(1, 1).state_dict({}, "p.", True)

    same(program)


LOADED = {
    "all": lambda t, s: s,
    "a missing key": lambda t, s: {k: v for k, v in s.items() if k != "inner.bias"},
    "unexpected keys": lambda t, s: {**s, "other": t.ones(1), "inner.other": t.ones(1), "cache": t.ones(3)},
    "another shape": lambda t, s: {**s, "weight": t.ones(3)},
    "another dtype": lambda t, s: {**s, "weight": t.full((2,), 5, dtype=t.float64)},
    "no tensor": lambda t, s: {**s, "mean": 1},
    "what is registered as None": lambda t, s: {**s, "bias": t.ones(2)},
    "everything wrong": lambda t, s: {"weight": t.ones(3), "x": t.ones(1)},
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("assign", [True, False])
@pytest.mark.parametrize("name", LOADED)
def test_loading(name, strict, assign):
    def program(t):
        source, model = Owner(t), Owner(t)
        with t.no_grad():
            source.weight.fill_(7)
            source.mean.fill_(8)
        weight = model.weight
        keys = model.load_state_dict(LOADED[name](t, source.state_dict()), strict=strict, assign=assign)
        return keys, str(keys), model.weight, model.mean, model.weight is weight, type(model.weight)

    same(program)


def test_loading_extra_state():
    def program(t):
        model = stateful(t)
        keys = [model.load_state_dict({"_extra_state": {"count": 9}}),
                model.load_state_dict({}, strict=False)]
        return model.count, keys, t.nn.ReLU().load_state_dict({"_extra_state": 1}, strict=False)

    same(program)


def test_a_scalar_takes_a_vector_of_one():
    def program(t):
        model = t.nn.Module()
        model.x = t.nn.Parameter(t.zeros(()))
        model.load_state_dict({"x": t.ones(1)})
        return model.x

    same(program)


def test_loading_what_is_no_mapping():
    same(lambda t: t.nn.Linear(1, 1).load_state_dict([1]))


def test_loading_into_meta_warns_unless_assigned():
    def program(t):
        model = t.nn.Linear(1, 1, device="meta")
        state = t.nn.Linear(1, 1).state_dict()
        with pytest.warns(UserWarning, match="is a no-op"):
            model.load_state_dict(state)
        before = model.weight.device.type
        model.load_state_dict(state, assign=True)
        return before, model.weight.device.type, model.weight.requires_grad

    same(program)


def test_hooks_run_in_order_with_their_arguments():
    def program(t):
        seen = []
        model = t.nn.Sequential(t.nn.Linear(1, 1), t.nn.ReLU())
        model.register_state_dict_pre_hook(lambda m, *args: seen.append(("pre", m is model, *args)))
        model.register_state_dict_post_hook(lambda m, state, *args: seen.append(("post", list(state), *args)))
        model[0]._register_state_dict_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias"))
        state = model.state_dict(prefix="a.")

        def rename(m, state, prefix, meta, strict, missing, unexpected, errors):
            seen.append(("load", type(m).__name__, prefix, meta, strict, missing, unexpected, errors))
            for key in list(state):
                state[key.removeprefix("a.")] = state.pop(key)

        model.register_load_state_dict_pre_hook(rename)
        handle = model.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
        keys = model.load_state_dict(state)
        handle.remove()
        model.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(keys.missing_keys)))
        return seen, list(state), keys, model.load_state_dict(state, strict=False)

    same(program)


def test_hooks_that_return_something():
    def replaced(t):
        model = t.nn.Linear(1, 1)
        model._register_state_dict_hook(lambda m, state, prefix, meta: OrderedDict(other=1))
        return model.state_dict()

    def refused(t):
        model = t.nn.Linear(1, 1)
        model.register_state_dict_post_hook(lambda *args: 1)
        return model.state_dict()

    def refused_in_loading(t):
        model = t.nn.Linear(1, 1)
        model.register_load_state_dict_post_hook(lambda *args: 1)
        return model.load_state_dict(model.state_dict())

    same(replaced)
    same(refused)
    same(refused_in_loading)
