"""A module's hooks: forward, backward, and those of all modules."""
from __future__ import annotations

import pickle
import warnings
import weakref

import pytest

from tests.nn.both import plain, same


def pair(t):
    """A module of two inputs and three outputs, one of them not differentiable."""

    class Pair(t.nn.Module):
        def forward(self, x, y, k=2):
            return x * y * k, (x * 3).sum(), y.detach()

    return Pair()


def recorded(seen, name):
    def hook(*args):
        seen.append((name, plain(args[1:])))

    return hook


def test_forward_hooks_see_and_replace():
    def program(t):
        seen = []
        model = t.nn.ReLU()
        model.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        model.register_forward_pre_hook(lambda m, args: args[0] * 10)
        model.register_forward_pre_hook(recorded(seen, "pre"))
        model.register_forward_hook(lambda m, args, out: out - 1)
        handle = model.register_forward_hook(recorded(seen, "post"))
        first = model(t.ones(2))
        handle.remove()
        return first, model(t.zeros(1)), seen

    same(program)


def test_forward_hooks_with_keyword_arguments():
    def program(t):
        seen = []
        model = pair(t)
        model.register_forward_pre_hook(lambda m, args, kwargs: (args, {**kwargs, "k": 5}), with_kwargs=True)
        model.register_forward_hook(recorded(seen, "post"), with_kwargs=True)
        model.register_forward_hook(recorded(seen, "plain"))
        return model(t.ones(2), t.ones(2), k=3), seen

    same(program)


def test_prepended_hooks_run_first():
    def program(t):
        seen = []
        model = t.nn.ReLU()
        for name in "abc":
            model.register_forward_hook(recorded(seen, name), prepend=name == "c")
            model.register_forward_pre_hook(recorded(seen, "pre " + name), prepend=name == "b")
        model(t.ones(1))
        return seen

    same(program)


def test_a_pre_hook_that_returns_no_pair():
    def program(t):
        model = t.nn.ReLU()
        model.register_forward_pre_hook(lambda m, args, kwargs: 1, with_kwargs=True)
        return model(t.ones(1))

    same(program)


def test_hooks_always_called_run_when_forward_fails():
    def program(t):
        seen = []

        class Failing(t.nn.Module):
            def forward(self, x):
                raise ValueError("no")

        model = Failing()
        model.register_forward_hook(recorded(seen, "not"))
        model.register_forward_hook(recorded(seen, "always"), always_call=True)
        with pytest.raises(ValueError, match="no"):
            model(t.ones(1))
        model.register_forward_hook(lambda *args: 1 / 0, always_call=True)
        with pytest.raises(ValueError, match="no"), pytest.warns(UserWarning, match="was silenced"):
            model(t.ones(1))
        return seen

    same(program)


def test_a_hook_that_failed_after_forward_is_not_called_again():
    def program(t):
        seen = []

        def fails(*args):
            seen.append("failing")
            raise ValueError("no")

        model = t.nn.ReLU()
        model.register_forward_hook(recorded(seen, "first"), always_call=True)
        model.register_forward_hook(fails, always_call=True)
        model.register_forward_hook(recorded(seen, "last"), always_call=True)
        with pytest.raises(ValueError, match="no"):
            model(t.ones(1))
        return seen

    same(program)


def test_a_removed_hook_leaves_nothing_of_its_options():
    def program(t):
        model = t.nn.ReLU()
        handles = [model.register_forward_hook(print, with_kwargs=True, always_call=True),
                   model.register_forward_pre_hook(print, with_kwargs=True)]
        options = (model._forward_hooks_with_kwargs, model._forward_hooks_always_called,
                   model._forward_pre_hooks_with_kwargs)
        before = [len(option) for option in options]
        for handle in handles:
            handle.remove()
        return before, [len(option) for option in options]

    same(program)


@pytest.mark.parametrize("x_grad", [True, False])
@pytest.mark.parametrize("y_grad", [True, False])
@pytest.mark.parametrize("output", [0, 1])
def test_full_backward_hooks(x_grad, y_grad, output):
    def program(t):
        seen = []
        model = pair(t)
        model.register_full_backward_hook(recorded(seen, "hook"))
        model.register_full_backward_pre_hook(recorded(seen, "pre"))
        x, y = t.ones(2, requires_grad=x_grad), t.full((2,), 4.0, requires_grad=y_grad)
        outputs = model(x, y)
        if outputs[output].requires_grad:
            outputs[output].sum().backward()
        return [o.requires_grad for o in outputs], x.grad, y.grad, seen

    same(program)


def test_the_borders_of_a_module_in_the_graph():
    def program(t):
        model = t.nn.Linear(2, 2)
        model.register_full_backward_hook(lambda *args: None)
        out = model(t.ones(1, 2, requires_grad=True))
        node = out.grad_fn
        inside = node.next_functions[0][0]
        return node.name(), inside.name(), [n.name() for n, _ in inside.next_functions], out._is_view()

    same(program)


def test_full_backward_hooks_are_called_for_gradients_that_come_through_the_output():
    def program(t):
        seen, inside = [], []

        class Keeps(t.nn.Module):
            def forward(self, x):
                inside.append(x * 2)
                return inside[0] * 3

        model = Keeps()
        model.register_full_backward_hook(recorded(seen, "hook"))
        x = t.ones(2, requires_grad=True)
        model(x).sum().backward(retain_graph=True)
        inside[0].sum().backward()
        return seen, x.grad

    same(program)


def test_full_backward_hooks_replace_gradients():
    def program(t):
        model = t.nn.Linear(2, 2)
        model.register_full_backward_hook(lambda m, grad_in, grad_out: (grad_in[0] * 0 + 7,))
        model.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 2,))
        x = t.ones(1, 2, requires_grad=True)
        model(x).sum().backward()
        return x.grad, model.weight.grad

    same(program)


WRONG = {
    "too many": lambda m, grad_in, grad_out: (grad_in[0], grad_in[0]),
    "a tensor": lambda m, grad_in, grad_out: grad_in[0],
}


@pytest.mark.parametrize("case", WRONG)
def test_full_backward_hooks_that_return_the_wrong_number(case):
    def program(t):
        model = t.nn.Linear(2, 2)
        model.register_full_backward_hook(WRONG[case])
        model(t.ones(3, 2, requires_grad=True)).sum().backward()

    same(program)


def test_full_backward_hooks_without_inputs_that_require_grad():
    def program(t):
        seen = []
        model = t.nn.Linear(2, 2)
        model.register_full_backward_hook(recorded(seen, "hook"))
        with pytest.warns(UserWarning, match="no inputs require gradients"):
            model(t.ones(1, 2)).sum().backward()
        return seen

    same(program)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("requires_grad", [True, False])
def test_full_backward_hooks_keep_no_gradient_after_backward(requires_grad):
    def program(t):
        seen = []
        model = t.nn.Linear(2, 2)
        model.register_full_backward_hook(lambda module, inputs, outputs: seen.append(weakref.ref(outputs[0])))
        out = model(t.ones(1, 2, requires_grad=requires_grad))
        out.sum().backward(retain_graph=True)
        return [reference() is None for reference in seen], out.requires_grad

    same(program)


def test_in_place_work_at_a_border_is_refused():
    def program(t):
        model = t.nn.ReLU(inplace=True)
        model.register_full_backward_hook(lambda *args: None)
        return model(t.ones(2, requires_grad=True) * 2)

    same(program)


def test_the_old_backward_hooks():
    def program(t):
        seen = []
        model = t.nn.Tanh()
        model.register_backward_hook(recorded(seen, "old"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(t.ones(2, requires_grad=True)).sum().backward()
        return seen

    def mixed(t):
        model = t.nn.Tanh()
        model.register_backward_hook(lambda *args: None)
        model.register_full_backward_hook(lambda *args: None)

    def mixed_the_other_way(t):
        model = t.nn.Tanh()
        model.register_full_backward_hook(lambda *args: None)
        model.register_backward_hook(lambda *args: None)

    same(program)
    same(mixed)
    same(mixed_the_other_way)


def test_hooks_of_all_modules():
    def program(t):
        seen = []
        m = t.nn.modules.module
        handles = [
            m.register_module_forward_pre_hook(recorded(seen, "pre")),
            m.register_module_forward_hook(recorded(seen, "post")),
            m.register_module_full_backward_hook(recorded(seen, "backward")),
            m.register_module_full_backward_pre_hook(recorded(seen, "backward pre")),
            m.register_module_buffer_registration_hook(lambda *args: seen.append(("buffer", args[1]))),
            m.register_module_parameter_registration_hook(lambda *args: seen.append(("parameter", args[1]))),
            m.register_module_module_registration_hook(lambda *args: seen.append(("module", args[1]))),
        ]
        try:
            model = t.nn.Sequential(t.nn.Linear(1, 1, bias=False))
            model.register_buffer("x", None)
            model.other = t.nn.ReLU()
            with t.no_grad():
                model[0].weight.fill_(2)
            handles += [model[0].register_forward_pre_hook(recorded(seen, "own pre")),
                        model[0].register_forward_hook(recorded(seen, "own post")),
                        model[0].register_full_backward_hook(recorded(seen, "own backward")),
                        model[0].register_full_backward_pre_hook(recorded(seen, "own backward pre"))]
            model[0](t.ones(1, 1, requires_grad=True)).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        count = len(seen)
        model[0](t.ones(1, 1))
        return seen, len(seen) == count

    same(program)


def test_a_module_is_pickled_with_the_handles_of_its_hooks():
    def program(t):
        module = t.nn.Linear(2, 2)
        module.handle = module.register_forward_hook(t.nn.functional.relu, with_kwargs=True, always_call=True)
        copied = pickle.loads(pickle.dumps(module))
        tables = copied._forward_hooks, copied._forward_hooks_with_kwargs, copied._forward_hooks_always_called
        before = [len(table) for table in tables]
        copied.handle.remove()
        return before, [len(table) for table in tables], len(module._forward_hooks)

    assert same(program) == ([1, 1, 1], [0, 0, 0], 1)


def test_a_module_that_was_pickled_before_a_kind_of_hook_existed_has_none_of_it():
    def program(t):
        module = t.nn.Linear(2, 2)
        del module._state_dict_pre_hooks, module._load_state_dict_post_hooks
        old = pickle.loads(pickle.dumps(module))
        old.load_state_dict(old.state_dict())
        return len(old._state_dict_pre_hooks), len(old._load_state_dict_post_hooks)

    assert same(program) == (0, 0)
