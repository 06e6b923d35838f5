"""The command line: ``python -m mindtorch``."""
import sys

from ._run.command import main

if __name__ == "__main__":
    sys.exit(main())
