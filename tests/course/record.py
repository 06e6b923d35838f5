"""``python -m tests.course.record [LESSON ...]`` records the outcomes of lessons: what right parts and mistakes do."""
from __future__ import annotations

import json
import sys
from typing import Any

from mindtorch.course.limits import Outcome
from mindtorch.course.masters import mistakes, solution
from mindtorch.course.recorded import FOLDER, from_json, to_json
from mindtorch.course.tasks import Lab, all_lessons


def outcomes(lab: Lab, function: Any) -> list[Outcome]:
    """Run a function on a lab's cases."""
    return [lab.observe(function, case) for case in lab.cases]


def short(outcome: Outcome) -> Any:
    """Return an outcome as JSON, with numbers rounded to ten digits."""
    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.10g}")
        if isinstance(value, list):
            return [rounded(item) for item in value]
        return {name: rounded(item) for name, item in value.items()} if isinstance(value, dict) else value

    return rounded(to_json(outcome))


def record(lesson: Any) -> dict[str, Any]:
    """Return what is recorded of a lesson, as JSON."""
    found: dict[str, Any] = {}
    for lab in lesson.labs:
        task = f"{lesson.name}.{lab.name}"
        right = [short(outcome) for outcome in outcomes(lab, solution(task))]
        assert all("value" in one for one in right), (task, right)
        wrong = []
        for mistake in mistakes(task):
            made = [short(outcome) for outcome in outcomes(lab, mistake.function)]
            wrong.append([mistake.hint, [None if one == as_right else one
                                         for one, as_right in zip(made, right, strict=True)]])
        found[lab.name] = {"right": right, "mistakes": wrong}
        assert [from_json(one) for one in right]
    return found


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for lesson in all_lessons():
        if not names or lesson.name in names:
            (FOLDER / f"{lesson.name}.json").write_text(json.dumps(record(lesson), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
