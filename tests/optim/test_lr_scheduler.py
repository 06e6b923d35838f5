"""Schedules of the learning rate beside PyTorch's: the same numbers to the last bit, the same state, the same words."""
from __future__ import annotations

import importlib
import pickle
import warnings

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import torch


class Decay:
    """A function that has a state."""

    def __init__(self):
        self.start = 3

    def __call__(self, step):
        return 1 / (step + self.start)


def decay(step):
    return 0.95**step


def schedules(t):
    return importlib.import_module(f"{t.__name__}.optim.lr_scheduler")


#: By name, a schedule of an optimizer with two groups, made with the module of schedules.
CASES = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [decay, lambda step: step * 0.1 + 0.3]),
    "LambdaLR of an object": lambda s, o: s.LambdaLR(o, Decay()),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, decay),
    "StepLR": lambda s, o: s.StepLR(o, 3),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.7, 7),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 9, 1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 7, 0.003),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 5)], [3, 8]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=2, cooldown=1),
    "ReduceLROnPlateau, abs": lambda s, o: s.ReduceLROnPlateau(o, "max", patience=1, threshold_mode="abs"),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, 6),
    "CyclicLR, triangular2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.1, 4, mode="triangular2"),
    "CyclicLR, exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "CyclicLR of an object": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, scale_fn=Decay(), scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.1, 25),
    "OneCycleLR, three phases": lambda s, o: s.OneCycleLR(
        o, [0.1, 0.2], epochs=5, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"),
    "SWALR": lambda s, o: importlib.import_module(s.__name__.replace("lr_scheduler", "swa_utils")).SWALR(o, 0.05, 4),
}


def optimizer_of(t, name="SGD", lr=0.5):
    params = [t.nn.Parameter(t.ones(1)) for _ in range(2)]
    kwargs = {"momentum": 0.9} if name == "SGD" else {}
    return getattr(t.optim, name)([{"params": [params[0]], "lr": 0.05}, {"params": [params[1]]}], lr=lr, **kwargs)


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def follow(t, name, optimizer, with_epoch=False):
    """What the groups have after each of 24 steps, the schedule's state, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        schedule, seen = CASES[name](schedules(t), optimizer), []
        for i in range(24):
            optimizer.step()
            if "Plateau" in name:
                schedule.step(1 / (i + 1) if i < 4 else i % 5)
            elif with_epoch:
                schedule.step(i * 2 % 17)
            else:
                schedule.step()
            seen += [plain([group["lr"], group.get("momentum"), group.get("betas")])
                     for group in optimizer.param_groups] + plain(schedule.get_last_lr())
    return seen, plain(schedule.state_dict()), sorted({str(warning.message) for warning in said})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_learning_rates_momentum_and_state(name, optimizer):
    ours, theirs = (follow(t, name, optimizer_of(t, optimizer)) for t in (mindtorch, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_a_learning_rate_that_is_a_tensor(name):
    ours, theirs = (follow(t, name, optimizer_of(t, lr=t.tensor(0.5))) for t in (mindtorch, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("Sequ", "Chained"))])
def test_the_closed_form_of_a_given_step(name):
    ours, theirs = (follow(t, name, optimizer_of(t), with_epoch=True) for t in (mindtorch, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_a_state_dict_of_pytorch_goes_on_here(name):
    def program(t):
        first, second = (CASES[name](schedules(t), optimizer_of(t)) for _ in range(2))
        step = (lambda schedule: schedule.step(1.0)) if "Plateau" in name else (lambda schedule: schedule.step())
        for _ in range(5):
            step(first)
        state = {key: value for key, value in first.state_dict().items() if key != "milestones"}
        second.load_state_dict(pickle.loads(pickle.dumps(state)))
        second.optimizer.load_state_dict(first.optimizer.state_dict())
        for _ in range(3):
            step(second)
        return second.get_last_lr()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(mindtorch) == program(torch)


WRONG = {
    "no optimizer": lambda s, o: s.StepLR([1], 3),
    "no first learning rate": lambda s, o: s.StepLR(o, 3, last_epoch=2),
    "too many functions": lambda s, o: s.LambdaLR(o, [decay] * 3),
    "no function": lambda s, o: s.MultiplicativeLR(o, 3),
    "a factor above 1": lambda s, o: s.ConstantLR(o, 2.0),
    "a first factor of 0": lambda s, o: s.LinearLR(o, 0.0),
    "a last factor below 0": lambda s, o: s.LinearLR(o, 0.5, -1.0),
    "a period of 0": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "a fraction of a period": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1.5),
    "no minimum": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1, "0"),
    "nothing in sequence": lambda s, o: s.SequentialLR(o, [], []),
    "too few milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3)] * 2, []),
    "a plateau in sequence": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "nothing in a chain": lambda s, o: s.ChainedScheduler([]),
    "no schedule in a chain": lambda s, o: s.ChainedScheduler([s.StepLR(o, 3), decay]),
    "a reduction that enlarges": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "an unknown mode": lambda s, o: s.ReduceLROnPlateau(o, "least"),
    "too many minima": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0, 0, 0]),
    "an unknown cycle": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "too many bounds": lambda s, o: s.CyclicLR(o, [0.1] * 3, 0.2),
    "no steps": lambda s, o: s.OneCycleLR(o, 0.1),
    "a negative number of steps": lambda s, o: s.OneCycleLR(o, 0.1, -2),
    "a share above 1": lambda s, o: s.OneCycleLR(o, 0.1, 5, pct_start=1.5),
    "an unknown curve": lambda s, o: s.OneCycleLR(o, 0.1, 5, anneal_strategy="sine"),
    "a step too many": lambda s, o: [one.step() for one in [s.OneCycleLR(o, 0.1, 3)] for _ in range(5)],
    "a step before the start": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.filterwarnings("ignore")
def test_what_is_refused(what):
    same(lambda t: WRONG[what](schedules(t), optimizer_of(t)))


def test_a_momentum_that_is_not_there_cannot_be_cycled():
    same(lambda t: schedules(t).CyclicLR(t.optim.Adagrad([t.nn.Parameter(t.ones(1))]), 0.1, 0.2))


def test_the_order_of_steps_is_watched():
    for t in (mindtorch, torch):
        optimizer = optimizer_of(t)
        schedule = schedules(t).StepLR(optimizer, 3)
        with pytest.warns(UserWarning, match="before `optimizer.step"):
            schedule.step()
        schedule = schedules(t).StepLR(optimizer, 3)
        optimizer.step = lambda: None
        with pytest.warns(UserWarning, match="has been overridden"):
            schedule.step()
        with pytest.warns(UserWarning, match="please use `get_last_lr"):
            schedule.get_lr()


def test_a_new_group_needs_its_own_minimum():
    def program(t):
        optimizer = optimizer_of(t)
        schedule = schedules(t).ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.01, 0.01])
        optimizer.add_param_group({"params": [t.nn.Parameter(t.ones(1))]})
        for _ in range(3):
            schedule.step(1.0)

    same(program)
