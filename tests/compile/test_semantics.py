"""What a call of a program does beside computing: writes, aliases, gradients, modes that it leaves, errors."""
from __future__ import annotations

import cProfile

import pytest

import mindtorch as torch
from mindtorch import nn
from tests.compile.asking import entries, reason_of

# -- writes and aliases ------------------------------------------------------------------------------------------------

def test_inputs_that_are_written_are_written_at_every_call_and_count_it() -> None:
    def function(x, y):
        x.add_(1)
        return x, x.view(4) * y.sum()

    compiled = torch.compile(function, fullgraph=True)
    x, y = torch.zeros(2, 2), torch.ones(3)
    for call in range(1, 4):
        same, other = compiled(x, y)
        assert same is x and x.tolist() == [[call, call]] * 2 and x._version == call
        assert other.tolist() == [3 * call] * 4


def test_inputs_that_share_memory_are_written_as_they_would_be() -> None:
    def function(x, y):
        x.mul_(2)
        return x + y

    compiled, base = torch.compile(function), torch.arange(4.0)
    assert compiled(torch.arange(3.0), torch.arange(3.0)).tolist() == [0, 3, 6]
    shared = base.clone()
    assert compiled(base[:3], base[1:]).tolist() == function(shared[:3], shared[1:]).tolist()
    assert base.tolist() == shared.tolist()


def test_arguments_that_share_memory_have_one_program_unless_it_writes_there() -> None:
    compiled = torch.compile(nn.functional.scaled_dot_product_attention, fullgraph=True)
    joined = torch.randn(2, 3, 12)
    for _ in range(3):
        torch.testing.assert_close(compiled(*joined.chunk(3, -1)),
                                   nn.functional.scaled_dot_product_attention(*joined.chunk(3, -1)))
    compiled = torch.compile(lambda x, y: x * y.add_(1))
    for _ in range(3):
        x = torch.ones(3)
        assert compiled(x, x[:]).tolist() == [4, 4, 4] and x.tolist() == [2, 2, 2]
        assert compiled(x, torch.ones(3)).tolist() == [4, 4, 4] and x.tolist() == [2, 2, 2]


def test_what_data_returns_is_recorded_outside_of_the_graph_of_derivatives() -> None:
    def function(x, y):
        z = x * y
        z.data[0] = 5
        return z + x.data * y.T.data.T

    compiled = torch.compile(function, fullgraph=True)
    x, y = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0)
    for _ in range(3):
        result = compiled(x, y)
        assert result.tolist() == [[7, 7, 7], [4, 4, 4]]
        assert torch.autograd.grad(result.sum(), x)[0].tolist() == y.tolist()


def test_a_tensor_that_is_returned_twice_is_one() -> None:
    def function(x):
        part = (y := x * 2)[0]
        return part, y, {"again": part}, part[:1], x

    compiled, x = torch.compile(function, fullgraph=True), torch.ones(2, 3)
    for _ in range(3):
        part, y, again, first, given = compiled(x)
        assert part is again["again"] and part._base is y is first._base and given is x


def test_views_that_leave_share_memory_with_their_base() -> None:
    compiled, x = torch.compile(lambda x: (x.t(), (y := x + 1), y[0]), fullgraph=True), torch.zeros(2, 3)
    for _ in range(2):
        turned, y, row = compiled(x)
        turned[0, 0] += 5
        row.fill_(9)
        assert y[0].tolist() == [9, 9, 9] and turned._is_view() and turned._base is x and row._base is y
    assert x[0, 0] == 10


def test_detached_parts_keep_their_place_in_the_memory_of_what_they_are_parts_of() -> None:
    def function(x):
        y = x * 2
        part = y[1].detach()
        y[1:].mul_(3)
        return part, y[1:, 1], y[1, 1].data

    compiled = torch.compile(function, fullgraph=True)
    for _ in range(2):
        x = torch.ones(2, 3, requires_grad=True)
        part, column, number = compiled(x)
        assert part.storage_offset() == 3 and number.storage_offset() == 4 and part._base is None
        part.fill_(7)
        assert number == 7 and column.tolist() == [7] and not part.requires_grad and column.requires_grad
    assert torch.compile(lambda x: (x * 2)[1].detach(), fullgraph=True)(x).storage_offset() == 3


def test_a_tensor_keeps_its_layout_when_a_view_is_written_in_another_one() -> None:
    def function(x):
        y = x.tanh()
        y.t().cumsum_(0)
        return y, y.view(-1)

    x = torch.ones(4, 3)
    for result, expected in zip(torch.compile(function, fullgraph=True)(x), function(x), strict=True):
        assert result.stride() == expected.stride() and result.tolist() == expected.tolist()


def test_views_that_leave_count_writes_as_they_would() -> None:
    def function(x):
        moved = x[None]
        moved.t_()
        data = x.data
        data.unsqueeze_(0)
        return x.data, x.detach(), moved, data

    for call in (function, torch.compile(function, fullgraph=True)):
        x = torch.ones(3)
        data, detached, moved, moved_data = call(x)
        assert x._version == 1
        assert moved._base is x and moved_data._base is data._base is None
        before = x._version
        data.add_(1), moved_data.add_(1)
        assert x._version == before and x.tolist() == [3, 3, 3]
        detached.add_(1), moved.add_(1)
        assert x._version == before + 2 and x.tolist() == [5, 5, 5]


def test_an_input_that_is_detached_in_place_is_detached() -> None:
    def function(x):
        before = x * 2
        x.detach_()
        return before, x * 2

    for call in (function, torch.compile(function)):
        x = torch.ones(2, requires_grad=True) * 1
        before, after = call(x)
        assert before.requires_grad and not x.requires_grad and not after.requires_grad


def test_an_input_may_be_a_view_that_requires_grad_only_because_its_base_does() -> None:
    def function(x):
        view = x[1]
        x.requires_grad_()
        return view * x

    for call in (function, torch.compile(function)):
        x = torch.ones(2, 3)
        call(x).sum().backward()
        assert x.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_view_that_was_taken_before_a_write_gets_its_history_as_after_it() -> None:
    def written(x):
        view = x.reshape(2, -1)
        view.mul_(2)
        x.requires_grad_()
        return view

    def moved(x):
        turned, view = x.detach().t(), x[0, 0]
        turned.t_()
        return view

    for call in (written, torch.compile(written)):
        view = call(torch.ones(2, 2))
        assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    for call in (moved, torch.compile(moved)):
        leaf = torch.ones(2, 2).t().requires_grad_()  # the base of its views is the tensor that it is a view of
        assert torch.autograd.grad(call(leaf), leaf, allow_unused=True) == (None,)


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
def test_what_is_detached_and_then_written_with_a_history_keeps_it(backend) -> None:
    def function(x):
        y = x.detach() * 2
        first, second = y.data, y[:2].data
        second.add_(x[:2])
        return first, second

    for call in (function, torch.compile(function, backend=backend)):
        x = torch.ones(3, requires_grad=True)
        first, second = call(x)
        assert torch.autograd.grad(second.sum(), x)[0].tolist() == [1, 1, 0]
        first.add_(1)
        assert not first.requires_grad and second.tolist() == [4, 4]


def test_an_input_that_is_resized_in_place_is_resized() -> None:
    def function(x, y):
        x.resize_as_(y)
        return y.mT

    x, y = torch.ones(1, 4), torch.ones(2, 1)
    torch.compile(function)(x, y)
    assert x.shape == (2, 1)


def test_results_of_two_calls_share_no_memory() -> None:
    compiled, x = torch.compile(lambda x: ((x + 1) * 2).relu()), torch.arange(4.0)
    first = compiled(x)
    before = first.tolist()
    compiled(x + 5), compiled(x - 5)
    assert first.tolist() == before
    constant = torch.compile(lambda x: (torch.ones(3), x + 1))
    constant(x)[0].add_(1), constant(x)[0].add_(1)
    assert constant(x)[0].tolist() == [1, 1, 1]


# -- autograd ----------------------------------------------------------------------------------------------------------

def test_gradients_have_gradients() -> None:
    def function(x, y):
        return x.sin() * y, x.exp()

    compiled, leaf = torch.compile(function, fullgraph=True), torch.linspace(0.1, 1, 3).requires_grad_()
    found = []
    for call in (function, compiled, compiled, compiled):
        x = leaf * 2
        y = x * 3  # its history leads through the other input
        first, _ = call(x, y)
        gradients = torch.autograd.grad(first.sum(), [x, y, leaf], create_graph=True)
        found.append([*gradients, *torch.autograd.grad(gradients[2].sum() + gradients[1].sum(), [leaf])])
    assert type(first.grad_fn).__name__ == "CompiledFunctionBackward"
    eager, *compiled_ones = found
    for mine in compiled_ones:
        torch.testing.assert_close(mine, eager)
        assert [gradient.requires_grad for gradient in mine] == [True, True, True, False]


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
def test_random_numbers_that_no_result_needs_are_drawn(backend) -> None:
    def function(x):
        nn.functional.dropout(x, 0.5)
        torch.rand_like(x)
        torch.empty(3).normal_(), torch.empty(3).uniform_(), torch.empty(3).exponential_(), torch.empty(3).random_()
        torch.empty(3).bernoulli_(), torch.empty(3).geometric_(0.5)
        torch.empty(3).log_normal_(), torch.empty(3).cauchy_()
        return nn.functional.dropout(x, 0.5)

    for x in (torch.ones(5, 5), torch.ones(5, 5, requires_grad=True)):
        torch.manual_seed(1)
        expected = function(x).tolist()
        torch.manual_seed(1)
        assert torch.compile(function, fullgraph=True, backend=backend)(x).tolist() == expected


def test_gradients_of_random_programs_have_none_and_changed_inputs_are_noticed() -> None:
    x = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: nn.functional.dropout(x.sin()))
    compiled(x)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    compiled = torch.compile(lambda x, y: x * x + y)
    y = torch.ones(3)
    compiled(x, y)
    result = compiled(x, y)
    y.add_(1)
    assert torch.autograd.grad(result.sum(), x, retain_graph=True)[0].tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(result.sum(), x, create_graph=True)


@pytest.mark.parametrize("function", [lambda x: x.conj() * 2, lambda x: x @ x, lambda x: x / (x + 2),
                                      lambda x: x.t().conj() + x, lambda x: torch.polar(x.real, x.imag)])
def test_complex_numbers_are_conjugated_in_programs_and_in_their_gradients(function) -> None:
    x = torch.tensor([[1 + 2j, 0.5 - 1j], [0.25j, 2 - 1j]], requires_grad=True)
    compiled = torch.compile(function)
    for _ in range(2):
        expected, found = function(x), compiled(x)
        torch.testing.assert_close(found, expected)
        weights = torch.tensor([[1 + 1j, 2 - 1j], [3 + 0j, 4j]])
        losses = [(out * weights).sum().abs() for out in (found, expected)]
        torch.testing.assert_close(*[torch.autograd.grad(loss, x)[0] for loss in losses])


def test_hooks_pack_and_unpack_the_inputs_and_results_that_programs_save() -> None:
    x, w = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    compiled = torch.compile(lambda x, w: (x * w).exp())
    compiled(x, w)
    packed = []

    def pack(tensor: torch.Tensor) -> float:
        packed.append(tensor.tolist())
        return tensor[0].item()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda number: torch.full((3,), number * 10)):
        y = compiled(x, w)
    assert sorted({numbers[0] for numbers in packed}) == [1, 2, y[0].item()]
    with torch.no_grad():
        w.add_(1)  # what was packed is not looked at
    gradients = torch.autograd.grad(y.sum(), (x, w))
    assert [gradient[0].item() for gradient in gradients] == pytest.approx([200 * y[0].item(), 100 * y[0].item()])


def test_backward_twice_and_saved_tensors_that_were_written_raise() -> None:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x, w: (x * w).exp())
    compiled(x, w)
    y = compiled(x, w)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([2 * 2.718281828] * 3)
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    y = compiled(x, w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = compiled(x, w)
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradients_arrive_at_what_the_inputs_were_made_of() -> None:
    leaf = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x, y: (x * y, y.detach() * 2, x.sum()))
    for _ in range(2):
        leaf.grad = None
        _, b, c = compiled(leaf * 2, torch.full((3,), 3.0))
        assert not b.requires_grad
        c.backward()
        assert leaf.grad.tolist() == [2, 2, 2]


def test_a_write_without_grad_to_a_view_of_a_leaf_that_is_a_view_hides_the_leaf_from_the_view() -> None:
    def function(x):
        view = x[None]
        with torch.no_grad():
            view.unsqueeze_(0)
        return view - x

    x = torch.ones(3, 2)[:, 0].requires_grad_()
    for call in (function, torch.compile(function, fullgraph=True)):
        assert torch.autograd.grad(call(x).sum(), x)[0].tolist() == [-1, -1, -1]


def test_an_input_gets_no_gradient_from_results_that_get_none() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x, y: (x * 2, y * 3))
    for _ in range(2):
        first, _ = compiled(x, y)
        assert torch.autograd.grad(first.sum(), [x, y], allow_unused=True)[1] is None


def test_layouts_and_versions_after_writes_are_as_they_would_be() -> None:
    def function(x):
        y = x[torch.tensor([1, 0])]
        y.masked_fill_(y > 0, 0.5)
        x[::2].unsqueeze_(0)
        return y

    for call in (function, torch.compile(function), torch.compile(function)):
        x = torch.randn(3, 4).t().contiguous().t()
        assert call(x).stride() == function(x.clone()).stride() and x._version == 1


# -- observers, modes, errors ------------------------------------------------------------------------------------------

def test_a_call_is_recorded_under_a_profiler() -> None:
    compiled, x = torch.compile(lambda x: x * 2 + 1), torch.ones(2)
    profile = cProfile.Profile()
    results = profile.runcall(lambda: [compiled(x).tolist(), sorted([1]), compiled(x).tolist()])
    assert results[0] == results[2] == [3, 3]
    assert any("sorted" in entry.code for entry in profile.getstats() if isinstance(entry.code, str))


def test_an_observer_sees_what_a_fused_kernel_did() -> None:
    compiled, x = torch.compile(lambda x: ((x + 1) * 2).tanh().sum()), torch.ones(4)
    compiled(x)
    with torch.observe() as trace:
        compiled(x)
    names = [event.op for event in trace]
    assert names == ["fused(add.Tensor -> mul.Tensor -> tanh)", "sum"]
    fused = trace.events[0]
    assert fused.inputs[0].shape == fused.outputs[0].shape == (4,) and "torch.compile" in fused.file
    assert "numpy.tanh" in "".join(__import__("linecache").getlines(fused.file))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)],
                         ids=["no_grad", "inference_mode", "autocast"])
def test_a_mode_is_left_when_an_operator_in_its_block_raises(mode, backend) -> None:
    def function(x, index):
        with mode():
            y = x[index]
        return x * 2, y

    def modes():
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")

    before, x = modes(), torch.ones(3, requires_grad=True)
    compiled = torch.compile(function, backend=backend)
    compiled(x, torch.tensor([0]))
    assert modes() == before
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([7]))
    assert modes() == before


def test_a_mode_is_left_when_a_graph_gets_no_program() -> None:
    def function(x):
        with torch.inference_mode():
            x.add_(1)
            y = x * 2
        return y, x * 3

    shared = [torch.ones(5).as_strided((2, 2), (1, 1)) for _ in range(2)]  # no program writes what overlaps
    y, z = torch.compile(function)(shared[0])
    assert torch.equal(y, function(shared[1])[0]) and y.is_inference()
    assert not z.is_inference() and not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("twice", [
    lambda x: (x + 1, x + 1), lambda x: ((x + 1)[0:], (x + 1).view(-1)), lambda x: (x.t().flatten(), x.t().flatten()),
    lambda x: (x.t().reshape(-1), x.t().reshape(-1).view(3, 4)),
    lambda x: (x.expand(2, 4, 3).reshape(-1), x.expand(2, 4, 3).reshape(-1)), lambda x: (x.t().clone(), x.t().clone()),
])
def test_results_that_are_computed_alike_have_memory_of_their_own(twice) -> None:
    for requires_grad in (False, True):
        first, second = torch.compile(twice)(torch.ones(4, 3, requires_grad=requires_grad))
        assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()
        first.detach().zero_()
        assert torch.count_nonzero(second) == second.numel()


def test_errors_are_those_of_the_function() -> None:
    def function(x, w):
        x.add_(1)
        if w.ndim == 1:
            raise ValueError("mine")
        return x @ w

    compiled = torch.compile(function)
    x = torch.zeros(2, 2)
    with pytest.raises(ValueError, match="mine"):
        compiled(x, torch.ones(2))
    assert x.tolist() == [[1, 1], [1, 1]] and not x._keys & 64
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        compiled(x, torch.ones(3, 3))
    embed = torch.compile(lambda i: torch.ones(3, 2)[i])
    assert embed(torch.tensor([0, 2])).shape == embed(torch.tensor([0, 2])).shape == (2, 2)
    for _ in range(2):
        with pytest.raises(IndexError):
            embed(torch.tensor([0, 7]))


def test_an_operator_that_a_program_calls_raises_as_it_does_alone() -> None:
    """Its row runs without the dispatcher, which is asked again for what it says of the call."""
    def function(x, target):
        return nn.functional.nll_loss(x.log_softmax(1), target)

    compiled, x = torch.compile(function), torch.zeros(2, 3)
    compiled(x, torch.tensor([0, 2]))
    raised = []
    for call in (compiled, function):
        with pytest.raises(IndexError) as caught:
            call(x, torch.tensor([0, 7]))
        raised.append((str(caught.value), caught.value.__dict__.keys()))
    assert raised[0] == raised[1] and len(entries(compiled)) == 1


def test_results_lie_as_recorded_though_strides_along_single_elements_differ() -> None:
    """Which of two orders a product keeps depends on these strides, which arrays inside a program need not have."""
    def product(x, y):
        return x[:, :, None].permute(2, 0, 1)[:, :, :1] * y[:, :, None].permute(1, 2, 0)

    x, y = torch.arange(9.0).reshape(3, 3), torch.tensor([[1.0, 2.0, 3.0]])
    expected = product(x, y)
    made = torch.compile(product)(x, y)
    assert made.stride() == expected.stride() == (1, 3, 9)
    assert made.as_strided((9,), (1,)).tolist() == expected.as_strided((9,), (1,)).tolist()
    equation = torch.compile(lambda x, y: torch.einsum("ij,jk->ki", x, y))
    assert equation(x, y).tolist() == torch.einsum("ij,jk->ki", x, y).tolist()


def test_an_operator_has_a_name_for_each_layout_of_its_results() -> None:
    compiled = torch.compile(lambda x: (x.mean(0), x.mean(1), x.mean(), x.mean(0, True), (x + 1).mean(1)))
    x = torch.arange(6.).view(2, 3)
    for _ in range(2):
        assert [part.tolist() for part in compiled(x)] == [[1.5, 2.5, 3.5], [1, 4], 2.5, [[1.5, 2.5, 3.5]], [2, 5]]
    assert [line.split("aten.")[1].split("(")[0] for line in entries(compiled)[0].compiled.forward.source.splitlines()
            if "aten." in line] == ["mean", "mean_1", "mean_default", "mean_2", "mean_1"]


def test_a_kernel_that_a_library_has_put_in_its_place_runs_in_programs() -> None:
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("cumsum", lambda x, dim, dtype=None: torch.zeros_like(x), "CPU")
        compiled = torch.compile(lambda x: x.cumsum(0) + 1)
        assert [compiled(torch.ones(2)).tolist() for _ in range(2)] == [[1, 1], [1, 1]]


def test_gradients_of_parameters_go_to_nodes_that_are_found_again_after_they_changed() -> None:
    layer = nn.Linear(3, 3)
    compiled = torch.compile(lambda x: layer(x).sum())
    x = torch.ones(2, 3)
    for _ in range(3):
        layer.zero_grad()
        compiled(x).backward()
        torch.testing.assert_close(layer.weight.grad, torch.full((3, 3), 2.0))
    seen = []
    handle = layer.weight.register_hook(lambda grad: seen.append(grad.sum().item()))
    compiled(x).backward()
    handle.remove()
    assert seen == [18.0]
    layer.weight = nn.Parameter(torch.zeros(3, 3))
    compiled(x).backward()
    torch.testing.assert_close(layer.weight.grad, torch.full((3, 3), 2.0))


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_what_is_written_as_out_into_another_shape_is_written_as_it_stands() -> None:
    def function(out, x):
        torch.mul(x, 2, out=out)
        return out + 1

    compiled = torch.compile(function)
    for _ in range(3):
        out = torch.zeros(4)
        assert compiled(out, torch.ones(2, 3)).tolist() == [[3, 3, 3]] * 2 and out.shape == (2, 3)
    assert "passed as out= another shape" in reason_of(function, torch.zeros(4), torch.ones(2, 3))


def test_several_outputs_are_written_as_out() -> None:
    def function(x, values, places):
        torch.sort(x, 1, out=(values, places))
        return values + places

    compiled = torch.compile(function, fullgraph=True)
    for _ in range(3):
        values, places = torch.empty(2, 3), torch.empty(2, 3, dtype=torch.int64)
        assert compiled(torch.tensor([[3.0, 1.0, 2.0]] * 2), values, places).tolist() == [[2, 4, 3]] * 2
        assert values.tolist() == [[1, 2, 3]] * 2 and places.tolist() == [[1, 2, 0]] * 2


def test_a_view_that_is_moved_in_place_without_grad_has_a_history_of_its_new_layout() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        view = x[None]
        other = view.transpose(0, -1)
        with torch.no_grad():
            view.transpose_(0, -1)
        return view, other

    for run in (function, torch.compile(function), torch.compile(function, backend="aot_eager")):
        x = torch.randn(3, 3, requires_grad=True)
        view, other = run(x)
        (view.sum() + 2 * other.sum()).backward()
        assert view.shape == (3, 3, 1) and x.grad is not None and x.grad.tolist() == [[3.0] * 3] * 3


def test_comparisons_of_sums_are_saved_for_the_backward_pass() -> None:
    def function(x):
        total = (x * x).sum()
        return total.where(total > 0, -1.5), (x * x).sum(-1) > 60, total > 3

    x, y = (torch.arange(6000.0).reshape(60, 100).t().div(500).requires_grad_() for _ in range(2))
    ours, eager = torch.compile(function)(x), function(y)
    for made, expected in zip(ours, eager, strict=True):
        assert made.dtype is expected.dtype
        torch.testing.assert_close(made, expected)
    torch.testing.assert_close(*(torch.autograd.grad(made[0], leaf)[0] for made, leaf in ((ours, x), (eager, y))))
