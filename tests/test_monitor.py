"""``torch.monitor``: handlers receive events, and the statistics of a window as one event."""
from __future__ import annotations

import importlib
from datetime import datetime, timedelta

import pytest

from mindtorch import monitor
from tests.both import assert_same_outcome, each_program


def _logged(lib, aggregations, values, **kwargs) -> list:
    """Return the events of a ``Stat``: names and data."""
    kit = importlib.import_module(f"{lib.__name__}.monitor")
    events: list = []
    handle = kit.register_event_handler(lambda event: events.append((event.name, sorted(event.data.items()))))
    stat = kit.Stat("loss", [getattr(kit.Aggregation, name) for name in aggregations], **kwargs)
    for value in values:
        stat.add(value)
    shown = stat.count, sorted((each.name, value) for each, value in stat.get().items())
    del stat
    kit.unregister_event_handler(handle)
    kit.log_event(kit.Event("after", datetime.now(), {}))
    return [events, shown]


@each_program(
    lambda lib: _logged(lib, ["SUM", "MEAN", "COUNT", "MIN", "MAX"], [3, 1, 2.5], window_size=timedelta(hours=1)),
    lambda lib: _logged(lib, ["SUM", "MAX"], [1, 2, 3, 4, 5], window_size=timedelta(hours=1), max_samples=3),
    lambda lib: _logged(lib, ["MEAN"], [], window_size=timedelta(hours=1)),
    lambda lib: list(lib.monitor.Aggregation.__members__),
)
def test_statistics_are_pytorchs(program) -> None:
    assert_same_outcome(program)


def test_a_handler_writes_statistics_as_scalars_and_data_of_other_types_are_refused() -> None:
    written = []

    class Writer:
        def add_scalar(self, name: str, value: float, walltime: float) -> None:
            written.append((name, value))

    handler = monitor.TensorboardEventHandler(Writer())
    handler(monitor.Event(monitor.STAT_EVENT, datetime.now(), {"loss.mean": 0.5}))
    handler(monitor.Event("epoch", datetime.now(), {"loss": 0.25}))
    assert written == [("loss.mean", 0.5)]
    with pytest.raises(TypeError, match=r"data\['sizes'\] is a list, and must be a str, float, int or bool"):
        monitor.Event("epoch", datetime.now(), {"sizes": [1]})  # type: ignore[dict-item]
