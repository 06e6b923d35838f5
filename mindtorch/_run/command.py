"""``python -m mindtorch run script.py [args]`` runs a PyTorch program on mindtorch; ``python -m mindtorch tour`` opens
the tour; ``python -m mindtorch course`` makes the students' notebooks, slides and a guide, and grades;
``python -m mindtorch nbgrader`` runs nbgrader, even if its environment is not activated;
``python -m mindtorch launch -n 4 script.py`` runs a program in several processes (``torch.distributed``);
``python -m mindtorch npu`` says what of CANN is found, what is missing, and what to do;
``python -m mindtorch loops`` compiles the loops of kernels, which otherwise happens beside the first program.
"""
from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from .._base.loops import warming
from .install import install_as_torch
from .options import add_options


def run(script: str, arguments: list[str], module: bool = False) -> None:
    """Run a program as ``__main__``, with ``import torch`` meaning mindtorch: a file, or a module by its name."""
    install_as_torch()
    sys.argv = [script, *arguments]
    if module:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(script, run_name="__main__", alter_sys=True)
        return
    sys.path.insert(0, str(Path(script).resolve().parent))
    runpy.run_path(script, run_name="__main__")


def told(script: str, arguments: list[str], module: bool = False) -> int:
    """Run a program, and tell its error as Python does: from the program's first line on. Returns the exit status."""
    try:
        run(script, arguments, module)
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != script:
            frames = frames.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        return 1
    return 0


def compile_loops() -> int:
    """Compile the loops that the disk lacks, and show which is next. Returns the exit status."""
    try:
        names = sorted(warming.table())
    except ImportError as error:
        print(f"there is no numba to compile loops: {error}", file=sys.stderr)
        return 1
    failed = 0
    for number, (name, reason) in enumerate(warming.compile_missing(names), 1):
        failed += reason is not None
        print(f"{name}: {reason}" if reason is not None else f"\r{number} of {len(names)} loops: {name:<40}",
              end="\n" if reason is not None or number == len(names) else "", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="mindtorch", description="mindtorch: PyTorch's insides, seen.")
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="run a PyTorch program on mindtorch")
    runner.add_argument("-m", "--module", action="store_true", help="the program is a module")
    runner.add_argument("script")
    runner.add_argument("arguments", nargs=argparse.REMAINDER)
    guide = commands.add_parser("tour", help="open the tour notebook in JupyterLab")
    guide.add_argument("--html", metavar="FILE",
                       help="execute it to an HTML file instead (for machines without a screen)")
    guide.add_argument("arguments", nargs="*", metavar="-- ARGUMENTS",
                       help="what else JupyterLab is given, such as -- --allow-root")
    teacher = commands.add_parser("course", help="make the course's release, slides and guide, or grade submissions")
    teacher.add_argument("action", choices=("release", "grade", "slides", "guide"))
    teacher.add_argument("--lesson", default="", help="one lesson, by its number or name (grade)")
    teacher.add_argument("--jobs", type=int, default=1, help="how many notebooks run at a time (grade)")
    teacher.add_argument("--resume", action="store_true", help="leave out notebooks that the grades have (grade)")
    teacher.add_argument("--feedback", metavar="FOLDER", default="feedback",
                         help="where a page for each student goes (grade)")
    teacher.add_argument("folder", help="where release, slides or guide go; or a folder that has one for each "
                                        "student (grade)")
    teacher.add_argument("--masters", metavar="FOLDER", help="the masters, if they are not this repository's")
    teacher.add_argument("--key", default="", help="a word that shows students the solutions (release)")
    teacher.add_argument("--grades", metavar="FILE", default="grades.csv",
                         help="where the grades go, and a summary of the class beside them (grade)")
    teacher.add_argument("--reveal", metavar="PLACE", default="",
                         help="a folder with reveal.js, or its address: else slides load it from the network (slides)")
    teacher.add_argument("--seconds", type=float, default=120.0, help="that a notebook may take (grade)")
    grader = commands.add_parser("nbgrader", help="run nbgrader, even if its environment is not activated")
    grader.add_argument("arguments", nargs=argparse.REMAINDER)
    add_options(commands.add_parser("launch", aliases=["torchrun"], help="run a program in several processes "
                                    "(torch.distributed), with torchrun's options"))
    commands.add_parser("npu", help="say what of CANN is found, what is missing, and what to do")
    commands.add_parser("loops", help="compile the loops of kernels now, and not beside the first program")
    options = parser.parse_args()
    if options.command == "loops":
        return compile_loops()
    if options.command == "run":
        return told(options.script, options.arguments, options.module)
    if options.command == "npu":
        from .._backends.npu.report import report

        lines, is_usable = report()
        print("\n".join(lines))
        return 0 if is_usable else 1
    if options.command in ("launch", "torchrun"):
        from .launch import launch_as_told

        return launch_as_told(options)
    if options.command in ("course", "nbgrader"):
        from ..course.command import command, nbgrader  # slow, and of no use to the others

        return command(options) if options.command == "course" else nbgrader(options.arguments)
    from .tour import tour

    return tour(options.html, options.arguments)
