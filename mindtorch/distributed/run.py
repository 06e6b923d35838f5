"""``torch.distributed.run``, which is ``torchrun``: ``python -m mindtorch launch``."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run a program in several processes by torchrun's arguments; leave with its exit status if it fails."""
    status = subprocess.call([sys.executable, "-m", "mindtorch", "launch", *(sys.argv[1:] if args is None else args)])
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
