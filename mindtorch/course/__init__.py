"""The course: the reader predicts, builds parts of the library, and is checked at once.

A lesson is a notebook, a text in ``lessons`` (questions, answers with reasons, hints), and beside it a module with its
labs' cases. In the notebook

    course.predict("strides.t", (1, 4))       # commits an answer
    course.explain("strides.t")               # after the picture: the right answer, and why
    course.puzzle("strides.step", 4)          # a small step before the lab: a picture, and a hint or the reason
    course.hint("strides.position")           # the next of a few hints
    course.check("strides.position", mine)    # runs ``mine`` on the lab's cases, each within a limit of time
    course.solution("strides.position")       # after passing, or with the teacher's key
    course.part("engine.engine")              # the reader's part from an earlier lesson's notebook
    course.progress()                         # predictions and passed labs, kept in a file beside the notebook

``check`` compares ``mine`` with recorded outcomes of a right part, case by case. Where they differ it compares with
recorded outcomes of usual mistakes, and the hint names the one that agrees. The library itself has no solutions. A part
that is wrong raises ``NotYet``, which a notebook shows as one line, with a picture of the difference above it.

A part that works can be put into the running library, for a block and in its thread alone:

    with course.replace("add.Tensor", "cpu", my_add), course.replace_engine(my_engine):
        (a + b).sum().backward()

``replace``, ``replace_engine``, ``replace_allocator`` and ``add_key`` refuse, with a sentence, a part that would break
the library. Teachers make a release, slides and a guide, and grade submissions, with ``python -m mindtorch course``.
"""
from .desk import (
    check as check, explain as explain, hint as hint, predict as predict, progress as progress, puzzle as puzzle,
    solution as solution,
)
from .own import part as part
from .parts import (
    add_key as add_key, excluded as excluded, replace as replace, replace_allocator as replace_allocator,
    replace_engine as replace_engine,
)
from .said import NotYet as NotYet, Refused as Refused

__all__ = ["NotYet", "Refused", "add_key", "check", "excluded", "explain", "hint", "part", "predict", "progress",
           "puzzle", "replace", "replace_allocator", "replace_engine", "solution"]
