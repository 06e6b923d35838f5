"""Changes of the library, each of which a lesson's notebook has to notice, by an assert or a check.

By default one of them is tried; with ``MINDTORCH_REQUIRE_ALL=1``, or ``MINDTORCH_COURSE=all``, all of them are.
"""
from __future__ import annotations

import pytest

from mindtorch.course.masters import MASTERS

from .mutations import MUTATIONS
from .support import ALL, LESSONS, run

TRIED = [(notebook, name) for notebook, found in MUTATIONS.items() for name in found]


@pytest.mark.parametrize(("notebook", "name"), TRIED if ALL else TRIED[:1])
def test_a_mutation_of_the_library_is_noticed(notebook: str, name: str) -> None:
    noticed = "AssertionError", "NotYet", "Refused"
    reports = run(MASTERS / f"{notebook}.ipynb", MUTATIONS[notebook][name], noticed)
    assert reports and reports[-1].error.startswith(noticed)


def test_every_lesson_has_mutations() -> None:
    assert set(MUTATIONS) == {lesson.notebook for lesson in LESSONS}
    assert len(TRIED) >= 25
