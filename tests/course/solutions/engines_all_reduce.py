"""Solutions of 'engines.all_reduce'. A wrong one's docstring is what the hint has to say."""


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


def wrong_mean(x, group):
    """Return the sum: DistributedDataParallel divides it to get the mean."""
    right_in_one_loop(x, group)
    x /= group.size()


def wrong_half(x, group):
    """The second round is missing"""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(size - 1):
        group.send(parts[(rank - step) % size], (rank + 1) % size)
        parts[(rank - step - 1) % size].add_(group.recv((rank - 1) % size))


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


def wrong_overwrites(x, group):
    """In the first round add the part that arrives to your own; the second round begins with the part completed last,
    whose number is the rank's plus 1."""
    _two_rounds(x, group, group.size() - 1, _write, _write)


def wrong_adds_twice(x, group):
    """In the second round the part that arrives is complete: overwrite your own with it."""
    _two_rounds(x, group, group.size() - 1, _add, _add)


def wrong_too_few_steps(x, group):
    """A round has one step fewer than there are ranks: this is one step too few."""
    _two_rounds(x, group, max(group.size() - 2, 0), _add, _write)


def wrong_too_many_steps(x, group):
    """A round has one step fewer than there are ranks: this is one step too many."""
    _two_rounds(x, group, group.size(), _add, _write)


def wrong_sends_its_own_again(x, group):
    """In each step send the part that has just arrived: it is a different one each time."""
    _two_rounds(x, group, group.size() - 1, _add, _write, moves=0)


def wrong_begins_with_its_own(x, group):
    """In the first round add the part that arrives to your own; the second round begins with the part completed last,
    whose number is the rank's plus 1."""
    _two_rounds(x, group, group.size() - 1, _add, _write, begin=0)


def wrong_copies(x, group):
    """Change x itself: a part must be a view of it, not a copy."""
    y = x.clone()
    right_in_one_loop(y, group)
    return y


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


def wrong_line(x, group):
    """The last rank's neighbour is rank 0"""
    group.send(x.tensor_split(group.size())[group.rank()], group.rank() + 1) if group.size() > 1 else None


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


def wrong_star(x, group):
    """All of x goes to rank 0 and back"""
    if group.rank() == 0:
        for other in range(1, group.size()):
            x += group.recv(other)
        for other in range(1, group.size()):
            group.send(x, other)
    else:
        group.send(x, 0)
        x[:] = group.recv(0)


def wrong_everybody(x, group):
    """Every rank sends all of x to every other: send parts, to the neighbour."""
    for other in range(group.size()):
        if other != group.rank():
            group.send(x, other)
    for other in range(group.size()):
        if other != group.rank():
            x += group.recv(other)


def wrong_all_round(x, group):
    """but all of x goes round"""
    rank, size = group.rank(), group.size()
    got = x.clone()
    for _ in range(size - 1):
        group.send(got, (rank + 1) % size)
        got = group.recv((rank - 1) % size)
        x += got


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
