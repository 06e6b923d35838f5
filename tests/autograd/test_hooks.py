"""Hooks of tensors and nodes: when they run, with what, and what becomes of their results."""

from __future__ import annotations

import types
from typing import Any

import pytest

from tests.autograd.both import Case, assert_same


def start(t: types.ModuleType) -> tuple[Any, Any]:
    x = t.ones(3, requires_grad=True)
    return x, x * 2


def order(t: types.ModuleType) -> Any:
    log: list[Any] = []
    x, a = start(t)
    a.register_hook(lambda g: log.append("tensor 1"))
    a.grad_fn.register_prehook(lambda g: log.append(("pre 1", g)))
    a.retain_grad()
    a.register_hook(lambda g: log.append(("tensor 2", a.grad)))
    a.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)))
    a.grad_fn.register_prehook(lambda g: log.append(("pre 2", a.grad)))
    x.register_hook(lambda g: log.append(("leaf", x.grad)))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p is x, p.grad)))
    accumulator = a.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda g: log.append(("leaf's node", g)))
    accumulator.register_hook(lambda gi, go: log.append(("after it", gi, go)))
    a.sum().backward()
    return log


def replacing(t: types.ModuleType) -> Any:
    x, a = start(t)
    a.retain_grad()
    a.register_hook(lambda g: g * 10)
    a.grad_fn.register_prehook(lambda g: (g[0] + 1,))
    a.grad_fn.register_hook(lambda gi, go: (gi[0] * 100, None))
    x.register_hook(lambda g: g + 0.5)
    a.sum().backward()
    return a.grad, x.grad


def captured(*wanted: str) -> Case:
    """Hooks run before a gradient is handed out by `grad`: those of the tensor, not those of its node."""

    def case(t: types.ModuleType) -> Any:
        log: list[str] = []
        x, a = start(t)
        a.register_hook(lambda g: (log.append("a"), g * 10)[1])
        a.grad_fn.register_prehook(lambda g: (log.append("node of a"), (g[0] * 7,))[1])
        x.register_hook(lambda g: (log.append("x"), g * 100)[1])
        x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
        a.grad_fn.next_functions[0][0].register_prehook(lambda g: log.append("node of x"))
        return t.autograd.grad((a * 3).sum(), [{"a": a, "x": x}[name] for name in wanted]), log

    return case


def inputs(*wanted: str) -> Case:
    """`backward(inputs=...)` runs what these need, and the node of an input that is no leaf."""

    def case(t: types.ModuleType) -> Any:
        log: list[str] = []
        x, a = start(t)
        b = a * 3
        for name, tensor in (("a", a), ("b", b)):
            tensor.grad_fn.register_hook(lambda gi, go, name=name: log.append(name))
        for _ in range(2):
            b.sum().backward(inputs=[{"a": a, "x": x}[name] for name in wanted], retain_graph=True)
        return x.grad, a.grad if a.retains_grad else None, log

    return case


def undefined(t: types.ModuleType) -> Any:
    """Where no gradient comes, hooks are called with None."""
    log: list[Any] = []

    class Nothing(t.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2, a * 3

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return None

    x, a = start(t)
    b, c = Nothing.apply(a)
    c.register_hook(lambda g: log.append(("c", g)))
    a.register_hook(lambda g: log.append(("a", g)))
    a.grad_fn.register_prehook(lambda g: log.append(("node of a", g)))
    a.grad_fn.register_hook(lambda gi, go: log.append(("after it", gi, go)))
    x.register_hook(lambda g: log.append(("x", g)))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    b.sum().backward()
    return log, x.grad


def written_in_place(t: types.ModuleType) -> Any:
    """Check that a write moves the retained gradient to the new history, and that hooks stay where they were."""
    log: list[str] = []
    x, a = start(t)
    a.register_hook(lambda g: log.append("before"))
    a.retain_grad()
    a.mul_(3)
    a.register_hook(lambda g: log.append("after"))
    a.sum().backward()
    return log, a.grad, x.grad


def retained_apart(t: types.ModuleType) -> Any:
    """Check that the retained gradient is a copy: a write to the gradient that passed by does not change it."""
    seen: list[Any] = []
    _, a = start(t)
    a.register_hook(seen.append)
    a.retain_grad()
    a.sum().backward()
    return a.grad, a.grad is seen[0], a.grad.data_ptr() == seen[0].data_ptr()


def removed(t: types.ModuleType) -> Any:
    log: list[str] = []
    _, a = start(t)

    def first(g: Any) -> None:
        log.append("first")
        second.remove()

    a.register_hook(first)
    second = a.register_hook(lambda g: log.append("second"))
    with a.register_hook(lambda g: log.append("in the block")):
        a.sum().backward(retain_graph=True)
    a.sum().backward()
    return log


def grad_mode(create_graph: bool) -> Case:
    def case(t: types.ModuleType) -> Any:
        log: list[bool] = []
        x, a = start(t)
        a.register_hook(lambda g: (log.append(t.is_grad_enabled()), t.set_grad_enabled(not create_graph), None)[2])
        x.register_hook(lambda g: log.append(t.is_grad_enabled()))
        a.sum().backward(create_graph=create_graph)
        return log, t.is_grad_enabled()

    return case


def seeing_every_gradient_of_a_stack(t: types.ModuleType) -> Any:
    log: list[Any] = []
    leaves = [t.ones((), requires_grad=True) for _ in range(3)]
    for i, leaf in enumerate(leaves):
        leaf.register_hook(lambda g, i=i: log.append(i))
    a, b = leaves[0] * leaves[1], leaves[1] * leaves[2]
    a.register_hook(lambda g: log.append("a"))
    b.register_hook(lambda g: log.append("b"))
    (a + b).backward()
    return log


CASES: dict[str, Case] = {
    "order": order,
    "replacing": replacing,
    "captured of a tensor": captured("a"),
    "captured of a leaf": captured("x"),
    "captured of both": captured("a", "x"),
    "inputs: a tensor": inputs("a"),
    "inputs: a leaf": inputs("x"),
    "inputs: both": inputs("x", "a"),
    "undefined gradients": undefined,
    "written in place": written_in_place,
    "retained apart": retained_apart,
    "removed while they run": removed,
    "grad mode": grad_mode(False),
    "grad mode with a graph": grad_mode(True),
    "leaves before what is left": seeing_every_gradient_of_a_stack,
}


@pytest.mark.parametrize("name", CASES)
def test_hooks_run_as_in_pytorch(name: str) -> None:
    assert_same(CASES[name])


RESULTS: dict[str, Case] = {
    "a number": lambda t: 3,
    "a tensor": lambda t: t.full((3,), 5.0),
    "a tuple": lambda t: (t.full((3,), 5.0),),
    "a tuple of two": lambda t: (t.full((3,), 5.0), None),
    "two tensors": lambda t: (t.full((3,), 5.0), t.ones(3)),
    "a list": lambda t: [t.ones(3)],
    "None in a tuple": lambda t: (None,),
    "nothing in a tuple": lambda t: (),
    "another shape": lambda t: t.ones(4),
    "another shape in a tuple": lambda t: (t.ones(1),),
    "another dtype": lambda t: t.ones(3, dtype=t.float64),
    "another dtype in a tuple": lambda t: (t.ones(3, dtype=t.int64),),
    "another device": lambda t: t.ones(3, device="meta"),
}


@pytest.mark.parametrize("place", ["tensor", "leaf", "prehook", "hook", "post accumulate"])
@pytest.mark.parametrize("result", RESULTS)
def test_results_are_taken_or_refused_as_in_pytorch(place: str, result: str) -> None:
    def case(t: types.ModuleType) -> Any:
        x, a = start(t)
        value = RESULTS[result](t)
        register = {
            "tensor": a.register_hook, "leaf": x.register_hook, "prehook": a.grad_fn.register_prehook,
            "hook": a.grad_fn.register_hook, "post accumulate": x.register_post_accumulate_grad_hook,
        }[place]
        register(lambda *args: value)
        a.sum().backward()
        return x.grad

    assert_same(case)


def test_a_hook_after_accumulation_may_return_its_leaf() -> None:
    def case(t: types.ModuleType) -> Any:
        x = t.zeros(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda leaf: leaf.sub_(leaf.grad, alpha=0.1))
        (x * 2).sum().backward()
        return x

    assert_same(case)


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook", "retain_grad"])
def test_tensors_that_can_have_no_hooks_refuse_them(register: str) -> None:
    def on(made: Case) -> Case:
        return lambda t: getattr(made(t), register)(*[print] * (register != "retain_grad")) is None

    assert_same(on(lambda t: t.ones(3)))
    if register == "register_post_accumulate_grad_hook":
        assert_same(on(lambda t: t.ones(3, requires_grad=True) * 2))


@pytest.mark.parametrize("mode", ["all", "any"])
@pytest.mark.parametrize("run", ["one", "one input", "both twice", "removed", "grad of a tensor"])
def test_multi_grad_hooks_wait_for_what_is_reached(mode: str, run: str) -> None:
    def case(t: types.ModuleType) -> Any:
        a, b = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        c, d = a * b, a * b
        log: list[Any] = []
        handle = t.autograd.graph.register_multi_grad_hook((a, b, c, d), lambda g: log.append(
            [one is not None for one in g] if mode == "all" else g.tolist()), mode=mode)
        if run == "one":
            c.sum().backward()
        elif run == "one input":
            c.sum().backward(inputs=[a])
        elif run == "both twice":
            for _ in range(2):
                (c + d).sum().backward(retain_graph=True)
        elif run == "removed":
            handle.remove()
            c.sum().backward()
        else:
            t.autograd.grad((c * 2).sum(), [c])
        return log

    assert_same(case)


def test_a_hook_may_go_backward_itself() -> None:
    def case(t: types.ModuleType) -> Any:
        x, a = start(t)
        other, rounds = t.ones(2, requires_grad=True), []

        def hook(g: Any) -> None:
            if len(rounds) < 3:
                rounds.append(t.is_grad_enabled())
                (other * other).sum().backward()
                a.sum().backward(retain_graph=True)

        a.register_hook(hook)
        a.sum().backward(retain_graph=True)
        return x.grad, other.grad, rounds

    assert_same(case)


def test_what_hooks_hold_is_freed_with_the_tensor() -> None:
    import gc
    import weakref

    import mindtorch

    class Held:
        pass

    gc.disable()
    try:
        held = Held()
        reference = weakref.ref(held)
        x, a = start(mindtorch)
        handles = [a.register_hook(lambda g, held=held: None), x.register_hook(lambda g, held=held: None)]
        del held, x, a
        assert reference() is None
        for handle in handles:
            handle.remove()
    finally:
        gc.enable()
