"""Solutions of 'engines.all_reduce'. The hint has a wrong one's docstring, or the text in `WRONG`."""


def right_to_the_left(x, group):
    rank, size = group.rank(), group.size()
    parts = list(x.tensor_split(size))
    mine = rank
    for _ in range(size - 1):
        group.send(parts[mine], (rank - 1) % size)
        mine = (mine + 1) % size
        parts[mine] += group.recv((rank + 1) % size)
    for _ in range(size - 1):
        group.send(parts[mine], (rank - 1) % size)
        mine = (mine + 1) % size
        parts[mine][:] = group.recv((rank + 1) % size)


def right_in_one_loop(x, group):
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(2 * (size - 1)):
        group.send(parts[(rank - step) % size], (rank + 1) % size)
        got, part = group.recv((rank - 1) % size), parts[(rank - step - 1) % size]
        part.copy_(got + part if step < size - 1 else got)


def _two_rounds(x, group, steps, first, second, begin=1, moves=1):
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(steps):
        group.send(parts[(rank - moves * step) % size], (rank + 1) % size)
        first(parts[(rank - moves * step - 1) % size], group.recv((rank - 1) % size))
    for step in range(steps):
        group.send(parts[(rank + begin - step) % size], (rank + 1) % size)
        second(parts[(rank + begin - step - 1) % size], group.recv((rank - 1) % size))


def _add(part, got):
    part += got


def _write(part, got):
    part[:] = got


def wrong_receives_first(x, group):
    """send first, then receive"""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(size - 1):
        got = group.recv((rank - 1) % size)
        group.send(parts[(rank - step) % size], (rank + 1) % size)
        parts[(rank - step - 1) % size].add_(got)


def wrong_neighbour(x, group):
    """If you send to the right, receive from the left."""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(2 * (size - 1)):
        group.send(parts[(rank - step) % size], (rank + 1) % size)
        got, part = group.recv((rank + 1) % size), parts[(rank - step - 1) % size]
        part.copy_(got + part if step < size - 1 else got)


def wrong_index(x, group):
    """The parts form a ring, too: take their numbers modulo group.size()."""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(size - 1):
        group.send(parts[rank - step], (rank + 1) % size)
        parts[rank - step - 1].add_(group.recv((rank - 1) % size))
    for step in range(size - 1):
        group.send(parts[rank + 1 - step], (rank + 1) % size)
        parts[rank - step].copy_(group.recv((rank - 1) % size))


def wrong_parts_to_all(x, group):
    """The parts are right, but every rank talks to every other: send only to the neighbour."""
    parts = x.tensor_split(group.size())
    others = [other for other in range(group.size()) if other != group.rank()]
    for other in others:
        group.send(parts[other], other)
    for other in others:
        parts[group.rank()].add_(group.recv(other))
    for other in others:
        group.send(parts[group.rank()], other)
    for other in others:
        parts[other].copy_(group.recv(other))


WRONG = [
    ("A round has one step fewer than there are ranks: this is one step too few.",
     lambda x, group: _two_rounds(x, group, max(group.size() - 2, 0), _add, _write)),
    ("A round has one step fewer than there are ranks: this is one step too many.",
     lambda x, group: _two_rounds(x, group, group.size(), _add, _write)),
    ("The last rank's neighbour is rank 0",
     lambda x, group:
        group.send(x.tensor_split(group.size())[group.rank()], group.rank() + 1) if group.size() > 1 else None),
]
