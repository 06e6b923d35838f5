"""Time the grading of a class of right students: ``python -m tests.course.crowd [students] [jobs]``."""
from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mindtorch.course.masters import MASTERS, source as solution_text
from mindtorch.course.teaching import release

from .support import LESSONS
from .test_release import submission


def main(students: int = 100, jobs: int = 2) -> int:
    with tempfile.TemporaryDirectory() as place:
        released, submissions = Path(place) / "release", Path(place) / "submissions"
        release(MASTERS, released)
        for number in range(students):
            folder = submissions / f"student{number:03}"
            folder.mkdir(parents=True)
            for lesson in LESSONS:
                parts = {lab.function: solution_text(f"{lesson.name}.{lab.name}") for lab in lesson.labs}
                submission(lesson, released, parts, folder).rename(folder / f"{lesson.notebook}.ipynb")
        began = time.perf_counter()
        command = [sys.executable, "-m", "mindtorch", "course", "grade", str(submissions), "--jobs", str(jobs),
                   "--grades", f"{place}/grades.csv", "--feedback", f"{place}/feedback"]
        graded = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        of = sum(lab.points for lesson in LESSONS for lab in lesson.labs)
        full = graded.stdout.count(f"{of} of {of}")
        print(f"{students} students with {len(LESSONS)} lessons: {time.perf_counter() - began:.0f} s with {jobs} jobs; "
              f"{full} have all {of} points")
        return full != students


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
