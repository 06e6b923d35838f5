"""Averages of weights beside PyTorch's."""
from __future__ import annotations

import importlib

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import assert_same, torch


def averages(t):
    return importlib.import_module(f"{t.__name__}.optim.swa_utils")


def model_of(t):
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))
    with t.no_grad():
        for i, param in enumerate(model.parameters()):
            param.copy_(t.arange(float(param.numel())).view_as(param).sin() + i)
    return model


WAYS = {
    "equal weights": lambda s: {},
    "equal weights, buffers too": lambda s: {"use_buffers": True},
    "ema": lambda s: {"avg_fn": s.get_ema_avg_fn(0.9)},
    "ema of lists": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9)},
    "ema of lists, buffers too": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "equal weights of lists": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "own": lambda s: {"avg_fn": lambda average, param, number: (average + param * number) / (number + 1)},
}


@pytest.mark.parametrize("way", WAYS)
def test_averaged_models(way):
    def program(t):
        model = model_of(t)
        average = averages(t).AveragedModel(model, **WAYS[way](averages(t)))
        for step in range(4):
            with t.no_grad():
                for param in model.parameters():
                    param.mul_(0.5).add_(step)
                model[1].running_mean.add_(step)
            average.update_parameters(model)
        average.eval()
        return dict(average.state_dict()), average(t.ones(2, 3))

    ours, theirs = program(mindtorch), program(torch)
    assert_same(ours, theirs, rtol=1e-5, atol=1e-6)


def test_running_statistics_computed_anew():
    def program(t):
        model = model_of(t)
        batches = [t.arange(12.0).view(4, 3) * i for i in range(1, 4)]
        averages(t).update_bn([[batch, None] for batch in batches], model)
        model[1].eval()
        averages(t).update_bn(batches[:2], model)
        assert model.training
        return dict(model.state_dict()), model[1].momentum

    ours, theirs = program(mindtorch), program(torch)
    assert_same(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
    assert ours[1] == theirs[1]


def test_what_is_refused():
    same(lambda t: averages(t).get_ema_avg_fn(2.0))
    same(lambda t: averages(t).get_ema_multi_avg_fn(-1.0))
    same(lambda t: averages(t).AveragedModel(t.nn.Linear(1, 1), avg_fn=min, multi_avg_fn=max))
    for wrong in ({"anneal_strategy": "sine"}, {"anneal_epochs": -1}, {"swa_lr": [1, 2]}):
        same(lambda t, wrong=wrong: averages(t).SWALR(t.optim.SGD([t.nn.Parameter(t.ones(1))]),
                                                      **{"swa_lr": 0.1, **wrong}))
