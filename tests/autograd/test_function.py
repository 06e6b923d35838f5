"""``autograd.Function``: the same programs on mindtorch and on PyTorch."""
from __future__ import annotations

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
BOTH = pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])


def cube(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.scale = scale
            ctx.save_for_backward(x)
            return x**3 * scale

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad * ctx.scale, None

    return Cube


@BOTH
def test_values_gradients_names_and_edges(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = cube(t).apply(x, 2)
    assert y.tolist() == [2.0, 16.0] and y.grad_fn.name() == "CubeBackward"
    assert (
        y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
        and len(y.grad_fn.next_functions) == 1
    )
    assert y.grad_fn.needs_input_grad == (True, False) and y.grad_fn.scale == 2
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 24.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


@BOTH
def test_double_backward_goes_through_backward(t):
    x = t.tensor(2.0, requires_grad=True)
    (g,) = t.autograd.grad(cube(t).apply(x, 1), x, create_graph=True)
    (gg,) = t.autograd.grad(g, x)
    assert g.item() == 12.0 and gg.item() == 12.0


@BOTH
def test_setup_context_style_and_several_outputs(t):
    class Split(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x + 1, x * 2, "text"

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(output[0])

        @staticmethod
        def backward(ctx, first, second, third):
            assert first is None and third is None
            return second * 2

    x = t.ones(2, requires_grad=True)
    a, b, text = Split.apply(x)
    assert not a.requires_grad and b.requires_grad and text == "text" and b.output_nr == 1
    b.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@BOTH
def test_gradients_that_did_not_arrive_are_zeros_unless_told_otherwise(t):
    class Two(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone(), x.clone()

        @staticmethod
        def backward(ctx, a, b):
            return a + 10 * b

    x = t.ones(2, requires_grad=True)
    Two.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@BOTH
def test_dirty_inputs_get_the_history(t):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    leaf = t.ones(3, requires_grad=True)
    x = leaf * 1
    y = Double.apply(x)
    assert y is x and x._version == 2 and x.grad_fn.name() == "DoubleBackward"
    x.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        Double.apply(t.ones(3, requires_grad=True))


@BOTH
def test_an_input_returned_as_it_is_becomes_a_view_that_must_not_be_written(t):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    x = t.ones(2, requires_grad=True)
    y = Same.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.grad_fn.name() == "SameBackward"
    with pytest.raises(RuntimeError, match="custom Function"):
        y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


@BOTH
def test_saved_outputs_make_no_cycle_and_saved_tensors_are_watched(t):
    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

    x = t.zeros(2, requires_grad=True)
    y = Exp.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    z = Exp.apply(x * 1)
    with t.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@BOTH
def test_wrong_numbers_and_kinds_of_gradients_are_refused(t):
    def returning(result):
        class Wrong(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                return x * k

            @staticmethod
            def backward(ctx, grad):
                return result(grad)

        return Wrong

    x = t.ones(2, requires_grad=True)
    for result, words in [
        (lambda g: g, "incorrect number of gradients"),
        (lambda g: (g, g), "different than None at position 2"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            returning(result).apply(x, 2).sum().backward()
    returning(lambda g: (g, None, None)).apply(x, 2).sum().backward()
    with pytest.raises(NotImplementedError):
        type("NoBackward", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 1)}).apply(
            x
        ).sum().backward()


@BOTH
def test_once_differentiable_refuses_to_be_differentiated_twice(t):
    class Once(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    x = t.ones(2, requires_grad=True)
    (g,) = t.autograd.grad(Once.apply(x), x, t.ones(2, requires_grad=True), create_graph=True)
    assert g.tolist() == [2.0, 2.0]
    (below, _), = g.grad_fn.next_functions
    assert below.name() == "torch::autograd::AccumulateGrad"
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


@BOTH
def test_an_input_returned_as_it_is_keeps_its_class(t):
    class Kept(t.Tensor):
        pass

    class AsItIs(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = t.ones(2).as_subclass(Kept)
    assert type(AsItIs.apply(x)) is Kept
    y = AsItIs.apply(x.requires_grad_())
    assert type(y) is Kept and y is not x and y.grad_fn.name() == "AsItIsBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@BOTH
def test_apply_asks_the_handler_of_a_subclass_for_nothing(t):
    asked = []

    class Asked(t.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            asked.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    Double.apply(t.ones(2).as_subclass(Asked))
    assert asked == ["mul"]


@BOTH
def test_nothing_is_recorded_without_need(t):
    with t.no_grad():
        assert cube(t).apply(t.ones(2, requires_grad=True), 1).grad_fn is None
    assert not cube(t).apply(t.ones(2), 1).requires_grad


@BOTH
def test_backward_inside_backward(t):
    class Reentrant(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            with t.enable_grad():
                inner = ctx.saved_tensors[0].detach().requires_grad_()
                (inner * inner).sum().backward()
            return inner.grad * grad

    x = t.tensor([3.0], requires_grad=True)
    Reentrant.apply(x * 1).sum().backward()
    assert x.grad.tolist() == [6.0]


@BOTH
def test_saved_tensors_hooks_pack_and_unpack(t):
    packed = []
    x = t.ones(3, requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(lambda v: packed.append(v.shape) or v.detach() * 5, lambda v: v):
        y = x * x
    y.sum().backward()
    assert len(packed) == 2 and x.grad.tolist() == [10.0, 10.0, 10.0]
    with t.autograd.graph.save_on_cpu():
        (x * x).sum().backward()
    with (t.autograd.graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"),
          t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v)):
        pass


@BOTH
def test_multi_grad_hooks_and_gradient_edges(t):
    a, b = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    seen = []
    loss = (a * 2 + b * 3).sum()
    edge = t.autograd.graph.get_gradient_edge(a)
    (g,) = t.autograd.grad(loss, [edge], retain_graph=True)
    assert g.tolist() == [2.0, 2.0]
    handle = t.autograd.graph.register_multi_grad_hook([a, b], lambda grads: seen.append([g.tolist() for g in grads]))
    loss.backward()
    assert [[2.0, 2.0], [3.0, 3.0]] in seen
    handle.remove()


@BOTH
def test_anomaly_mode_names_the_operator_that_made_nan(t):
    x = t.tensor([-1.0], requires_grad=True)
    with pytest.warns(UserWarning), t.autograd.detect_anomaly():
        y = x.sqrt().sum()
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.backward()


@BOTH
def test_a_function_that_writes_a_view_is_its_history(t):
    a = t.ones(1, requires_grad=True)

    class Doubles(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    Doubles.apply(a.clone()[:]).backward()
    assert a.grad.item() == 2


@BOTH
def test_a_view_that_forward_made_and_wrote_has_the_function_for_history(t):
    class Function(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            view = x.clone()[:3]
            view += 2
            return view

        @staticmethod
        def backward(ctx, grad):
            return grad

    assert type(Function.apply(t.ones(10, requires_grad=True)).grad_fn).__name__ == "FunctionBackward"


@BOTH
@pytest.mark.parametrize(("forward", "jvp", "said"), [
    (lambda ctx, x: x.narrow(0, 0, 2), lambda ctx, v: v.narrow(0, 0, 2).clone(), "jvp is not returning a view"),
    (lambda ctx, x: x.narrow(0, 0, 2), lambda ctx, v: v.clone().narrow(0, 0, 2), "not returning a view of the"),
    (lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, v: 2 * v, "must modify the corresponding gradient"),
    (lambda ctx, x: (y := x.clone(), ctx.mark_non_differentiable(y))[0], lambda ctx, v: v,
     "You should return None at that position instead"),
])
def test_tangents_are_aliased_as_their_tensors_are(t, forward, jvp, said):
    forward_ad = t.autograd.forward_ad
    function = type("F", (t.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match=said):
        function.apply(forward_ad.make_dual(t.ones(4), t.ones(4)))


@BOTH
def test_dual_tensors_show_their_tangents_and_are_not_made_twice(t):
    forward_ad = t.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(t.ones(2), t.zeros(2))
        assert str(dual) == "tensor([1., 1.], tangent=tensor([0., 0.]))"
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            forward_ad.make_dual(t.ones(2), dual)
        with pytest.raises(RuntimeError, match=r"Tensor is of size \[2\] while the given forward gradient is of size"):
            forward_ad.make_dual(t.ones(2), t.ones(3))
        dual = dual.clone()
        dual.detach_()
        assert forward_ad.unpack_dual(dual).tangent is None


@BOTH
def test_views_of_inference_tensors_require_no_grad_and_resize_there(t):
    with t.inference_mode():
        x = t.ones(1, 2, 3, requires_grad=True)
        view = x.view(-1)
        assert view.is_inference() and not view.requires_grad
        x.resize_(1, 2)
    y = x.view(-1)
    assert y.is_inference() and not y.requires_grad and y.is_leaf and not y._is_view()


@BOTH
def test_what_belongs_to_a_tensor_is_not_deleted(t):
    x = t.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data
    with pytest.raises(RuntimeError):
        del x.requires_grad


@BOTH
def test_blocks_that_allow_mutation_do_not_nest_and_multithreading_can_be_asked_for(t):
    graph = t.autograd.graph
    with graph.allow_mutation_on_saved_tensors(), pytest.raises(RuntimeError, match="cannot be nested"), \
            graph.allow_mutation_on_saved_tensors():
        pass
    with t.autograd.set_multithreading_enabled(False):
        assert not t.autograd.is_multithreading_enabled()
    assert t.autograd.is_multithreading_enabled()
