"""``nn.utils``: gradients clipped, parameters as a vector."""
from __future__ import annotations

import pytest

import mindtorch
from tests.both import assert_same_outcome, each_program
from tests.nn.both import same


def with_gradients(t):
    params = [t.nn.Parameter(t.zeros(2, 2)), t.nn.Parameter(t.zeros(3)), t.nn.Parameter(t.zeros(1))]
    params[0].grad, params[1].grad = t.tensor([[3.0, -4.0], [1.0, 0.5]]), t.tensor([2.0, -7.0, 0.1])
    return params


@pytest.mark.parametrize("norm", [2.0, 1, float("inf"), 3.5, 0])
@pytest.mark.parametrize("limit", [1.0, 100.0])
def test_clipping_the_norm(norm, limit):
    def program(t):
        params = with_gradients(t)
        total = t.nn.utils.clip_grad_norm_(params, limit, norm)
        return total, [p.grad for p in params], t.nn.utils.get_total_norm([p.grad for p in params[:2]], norm)

    same(program)


def test_clipping_the_norm_of_one_none_and_no_tensors():
    def program(t):
        params = with_gradients(t)
        return (t.nn.utils.clip_grad_norm_(params[0], 1.0), params[0].grad,
                t.nn.utils.clip_grad_norm_(params[2], 1.0), t.nn.utils.clip_grad_norm_([], 1.0))

    same(program)


def test_clipping_a_norm_that_is_not_finite():
    def program(t):
        params = with_gradients(t)
        params[1].grad[0] = float("nan")
        return t.nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)

    same(program)


def test_clipping_an_empty_generator_warns():
    def program(t):
        with pytest.warns(UserWarning, match="empty generator"):
            return t.nn.utils.clip_grad_norm_((p for p in []), 1.0)

    same(program)


def test_clipping_values():
    def program(t):
        params = with_gradients(t)
        t.nn.utils.clip_grad_value_(params, 2)
        t.nn.utils.clip_grad_value_(params[0], 0.75)
        return [p.grad for p in params]

    same(program)


def test_parameters_as_a_vector_and_back():
    def program(t):
        model = t.nn.Linear(2, 3)
        vector = t.nn.utils.parameters_to_vector(model.parameters())
        other = t.arange(9.0)
        t.nn.utils.vector_to_parameters(other, model.parameters())
        shared = model.weight.data_ptr() == other.data_ptr()
        again = t.nn.utils.parameters_to_vector(model.parameters())
        return vector, model.weight, model.bias, shared, again.grad_fn is not None

    same(program)


def test_what_is_no_vector():
    same(lambda t: t.nn.utils.vector_to_parameters([1.0], []))


def test_a_module_that_stands_twice_gets_its_parameters_back() -> None:
    layer = mindtorch.nn.BatchNorm1d(2)
    twice, weight = mindtorch.nn.Sequential(layer, layer), layer.weight
    given = {"0.weight": mindtorch.full((2,), 3.), "0.running_mean": mindtorch.zeros(2)}
    mindtorch.func.functional_call(twice, given, mindtorch.tensor([[1., 2.], [3., 6.]]))
    assert layer.weight is weight and layer.running_mean.tolist() == [0., 0.] and given["0.running_mean"].any()


def test_a_prefix_is_taken_off_the_names_of_a_state_and_of_its_metadata():
    def program(t):
        state = t.nn.ModuleDict({"module": t.nn.Sequential(t.nn.Linear(1, 1))}).state_dict()
        t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return sorted(state), sorted(state._metadata)

    same(program)


@each_program(
    lambda t: t.nn.utils.rnn.PackedSequence((t.ones(3), t.tensor([2, 1]))),
    lambda t: t.nn.utils.rnn.PackedSequence(t.ones(3), t.tensor([2, 1]), t.tensor([1, 0])),
    lambda t: t.nn.utils.rnn.PackedSequence([t.ones(3)]), lambda t: t.nn.utils.rnn.PackedSequence(t.ones(3)),
    lambda t: t.nn.utils.rnn.PackedSequence(t.ones(3), t.tensor([2, 1], device="meta")),
)
def test_a_packed_sequence_is_made_of_its_parts(program):
    assert_same_outcome(program)


def test_values_are_scattered_and_gathered_along_the_first_dimension():
    from mindtorch.nn.parallel.scatter_gather import gather, scatter

    x = mindtorch.arange(12.0).reshape(4, 3)
    parts = scatter({"x": x, "n": 2}, ["cpu", "cpu"])
    assert [part["x"].tolist() for part in parts] == [x[:2].tolist(), x[2:].tolist()] and parts[0]["n"] == 2
    assert gather(parts, "cpu")["x"].equal(x) and gather([x, x], "cpu", 1).shape == (4, 6)
    assert gather([x.sum(), x.sum()], "cpu").tolist() == [66, 66]
