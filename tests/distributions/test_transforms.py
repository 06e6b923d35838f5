"""Transforms, their inverses and log determinants, and the transforms of constraints, are PyTorch's."""
from __future__ import annotations

import pickle
from typing import Any

import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program

from .both import LIBRARIES, assert_agree

#: Transforms by their domain: numbers, positive numbers, vectors, matrices.
TRANSFORMS = {
    "real": ("d.AbsTransform()", "d.AffineTransform(2.0, -3.0)", "d.AffineTransform(t(1.0), t(2.0), event_dim=1)",
             "d.ExpTransform()", "d.SigmoidTransform()", "d.SoftplusTransform()", "d.TanhTransform()",
             "d.ReshapeTransform((4, 3), (6, 2))", "d.identity_transform",
             "d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.SigmoidTransform()])",
             "d.IndependentTransform(d.ExpTransform(), 1)", "d.StackTransform([d.ExpTransform()] * 3, dim=1)",
             "d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=1, lengths=[1, 2])",
             "d.CumulativeDistributionTransform(d.Normal(t(0.5), t(2.0)))", "d.SoftmaxTransform()",
             "d.StickBreakingTransform()", "d.CorrCholeskyTransform()"),
    "positive": ("d.PowerTransform(t(2.5))", "d.PowerTransform(-1.0)", "d.ExpTransform().inv"),
    "square": ("d.LowerCholeskyTransform()", "d.PositiveDefiniteTransform()"),
}
CONSTRAINTS = (
    "real", "positive", "nonnegative", "greater_than(2.0)", "greater_than_eq(2.0)", "less_than(-1.0)",
    "unit_interval", "interval(-1.0, 3.0)", "half_open_interval(0.0, 2.0)", "simplex", "lower_cholesky",
    "positive_definite", "positive_semidefinite", "corr_cholesky", "independent(constraints.positive, 1)", "boolean",
    "real_vector", "one_hot", "nonnegative_integer", "integer_interval(0, 3)", "multinomial(3)", "square", "symmetric",
    "lower_triangular", "cat([constraints.real, constraints.positive], -1, [1, 2])",
    "stack([constraints.real, constraints.positive, constraints.unit_interval], -1)",
)


def sources(lib: Any) -> dict[str, Any]:
    return {"d": lib.distributions, "constraints": lib.distributions.constraints,
            "t": lambda value: lib.tensor(value, dtype=lib.float64)}


def argument(lib: Any, domain: str) -> Any:
    x = lib.linspace(-1.5, 1.7, 12 if domain != "square" else 9, dtype=lib.float64)
    return x.exp() if domain == "positive" else x.view(3, 3) if domain == "square" else x.view(4, 3)


@pytest.mark.parametrize(("domain", "code"), [(k, code) for k, codes in TRANSFORMS.items() for code in codes])
def test_values_inverses_and_determinants(domain: str, code: str) -> None:
    def program(lib: Any) -> Any:
        transform, x = eval(code, sources(lib)), argument(lib, domain)
        y = transform(x)
        return [repr(transform), y, transform.inv(y), transform.bijective, transform.domain, transform.codomain,
                transform.forward_shape(x.shape), transform.inverse_shape(y.shape), transform.inv.inv is transform]

    assert_agree(program, 1e-8, 1e-10)
    assert_agree(lambda lib: eval(code, sources(lib)).sign)

    def determinant(lib: Any) -> Any:
        transform, x = eval(code, sources(lib)), argument(lib, domain).requires_grad_()
        result = transform.log_abs_det_jacobian(x, transform(x))
        result.sum().backward() if result.requires_grad else None
        return [result, lib.zeros(()) if x.grad is None else x.grad]

    assert_agree(determinant, 1e-8, 1e-10)


def test_equality() -> None:
    codes = [code for codes in TRANSFORMS.values() for code in codes]
    for a in codes:
        theirs, ours = ([eval(a, sources(lib)) == eval(b, sources(lib)) for b in codes] for lib in LIBRARIES)
        assert ours == theirs


def test_a_cache_returns_what_went_in() -> None:
    d = mindtorch.distributions
    for transform in (d.ExpTransform(cache_size=1), d.AffineTransform(1.0, 2.0).with_cache(1)):
        x = mindtorch.ones(3)
        y = transform(x)
        assert transform(x) is y and transform.inv(y) is x
        assert pickle.loads(pickle.dumps(transform)) == transform
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        d.ExpTransform(cache_size=2)


@pytest.mark.parametrize("code", CONSTRAINTS)
def test_constraints_and_their_transforms(code: str) -> None:
    code = f"constraints.{code}"
    for domain in TRANSFORMS:
        assert_agree(lambda lib, domain=domain: eval(code, sources(lib)).check(argument(lib, domain)))
    assert_agree(lambda lib: [eval(code, sources(lib)), eval(code, sources(lib)).event_dim,
                              eval(code, sources(lib)).is_discrete])
    for registry in ("biject_to", "transform_to"):
        def program(lib: Any, registry: str = registry) -> Any:
            transform = getattr(lib.distributions, registry)(eval(code, sources(lib)))
            x = argument(lib, "square")
            return [repr(transform), transform(x), transform.inv(transform(x))]

        assert_agree(program, 1e-8, 1e-10)


@each_program(*[lambda t, shape=shape, events=events, transform=transform: [  # type: ignore[misc]
    (made.batch_shape, made.event_shape, made.rsample((2,)).shape) for d in [t.distributions]
    for base in [d.Normal(t.zeros(shape), 1.0)]
    for made in [d.TransformedDistribution(d.Independent(base, events) if events else base, transform(t, d))]]
    for shape, events, transform in (
        ((3, 4), 0, lambda t, d: []), ((3, 4), 0, lambda t, d: d.ExpTransform()),
        ((3, 4), 1, lambda t, d: d.ExpTransform()), ((3, 4), 0, lambda t, d: d.StickBreakingTransform()),
        ((3, 4), 2, lambda t, d: d.StickBreakingTransform()), ((2, 3), 0, lambda t, d: d.CorrCholeskyTransform()),
        ((5, 2, 3), 2, lambda t, d: d.CorrCholeskyTransform()),
        ((2, 3, 4), 0, lambda t, d: d.ReshapeTransform((3, 4), (12,))),
        ((2, 3, 4), 3, lambda t, d: d.ReshapeTransform((3, 4), (12,))),
        ((2, 12), 0, lambda t, d: d.ReshapeTransform((12,), (3, 2, 2))),
        ((3, 1), 0, lambda t, d: d.AffineTransform(t.zeros(2), 1.0)),
        ((3,), 0, lambda t, d: d.ReshapeTransform((3, 4), (12,))),
    )])
def test_shapes_are_cut_where_the_transforms_need_it(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.distributions.IndependentTransform(t.distributions.ExpTransform(), 2)(t.ones(3)),
    lambda t: t.distributions.IndependentTransform(t.distributions.ExpTransform(), 2).inv(t.ones(3)),
    lambda t: t.distributions.IndependentTransform(t.distributions.ExpTransform(), 2)(t.ones(2, 3)),
)
def test_a_transform_of_whole_dimensions_takes_no_fewer(program: Program) -> None:
    assert_same_outcome(program)
