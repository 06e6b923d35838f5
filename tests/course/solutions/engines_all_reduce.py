"""Solutions of 'engines.all_reduce', right and wrong."""



def right_as_in_the_table(x, group):
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        group.send(parts[(rank - step) % size], right)
        parts[(rank - step - 1) % size].add_(group.recv(left))
    for step in range(size - 1):
        group.send(parts[(rank + 1 - step) % size], right)
        parts[(rank - step) % size].copy_(group.recv(left))


def right_by_slices_in_one_loop(x, group):
    n, me = group.size(), group.rank()
    cuts = [0]
    for i in range(n):
        cuts.append(cuts[-1] + len(x) // n + (i < len(x) % n))
    for step in range(2 * (n - 1)):
        out, came = (me - step) % n, (me - step - 1) % n
        group.send(x[cuts[out]:cuts[out + 1]], (me + 1) % n)
        part = group.recv((me - 1) % n)
        if step < n - 1:
            x[cuts[came]:cuts[came + 1]] += part
        else:
            x[cuts[came]:cuts[came + 1]] = part


def ring(x, group, first=None, second=None, parts=None, keep=None, add=None, last=True):
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size) if parts is None else parts
    for step in range(size - 1 if first is None else first):
        group.send(parts[(rank - step) % size], (rank + 1) % size)
        came = group.recv((rank - 1) % size)
        (add or (lambda part, came: part.add_(came)))(parts[(rank - step - 1) % size], came)
    for step in range(size - 1 if second is None else second):
        group.send(parts[(rank + 1 - step) % size], (rank + 1) % size)
        came = group.recv((rank - 1) % size)
        (keep or (lambda part, came: part.copy_(came)))(parts[(rank - step) % size], came)


def wrong_whole_tensors(x, group):
    """The sum is right, but all of x goes round: send parts."""
    size, rank = group.size(), group.rank()
    passing = x.clone()
    for _ in range(size - 1):
        group.send(passing, (rank + 1) % size)
        passing = group.recv((rank - 1) % size)
        x += passing


def wrong_everybody_to_rank_0(x, group):
    """All of x goes to rank 0 and back, so rank 0 sends as much as all others together: go round the ring."""
    size, rank = group.size(), group.rank()
    if rank == 0:
        for other in range(1, size):
            x += group.recv(other)
        for other in range(1, size):
            group.send(x, other)
    else:
        group.send(x, 0)
        x.copy_(group.recv(0))


def wrong_everybody_to_everybody(x, group):
    """Every rank sends all of x to every other: send parts, to the neighbour."""
    size, rank = group.size(), group.rank()
    own = x.clone()
    for other in range(size):
        if other != rank:
            group.send(own, other)
    for other in range(size):
        if other != rank:
            x += group.recv(other)


def wrong_mean(x, group):
    """Return the sum: DistributedDataParallel divides it to get the mean."""
    ring(x, group)
    x /= group.size()


def wrong_receives_first(x, group):
    """Every rank waits, and none has sent: send first, then receive."""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(size - 1):
        came = group.recv((rank - 1) % size)
        group.send(parts[(rank - step) % size], (rank + 1) % size)
        parts[(rank - step - 1) % size].add_(came)


def right_to_the_left(x, group):
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(size - 1):
        group.send(parts[(rank + step) % size], (rank - 1) % size)
        parts[(rank + step + 1) % size].add_(group.recv((rank + 1) % size))
    for step in range(size - 1):
        group.send(parts[(rank - 1 + step) % size], (rank - 1) % size)
        parts[(rank + step) % size].copy_(group.recv((rank + 1) % size))


def wrong_modulo_forgotten(x, group):
    """The last rank's neighbour is rank 0: take the number modulo group.size()."""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for step in range(size - 1):
        group.send(parts[(rank - step) % size], rank + 1)
        parts[(rank - step - 1) % size].add_(group.recv(rank - 1))


def wrong_same_part_each_step(x, group):
    """In each step send the part that has just arrived: it is a different one each time."""
    rank, size = group.rank(), group.size()
    parts = x.tensor_split(size)
    for _ in range(size - 1):
        group.send(parts[rank], (rank + 1) % size)
        parts[(rank - 1) % size].add_(group.recv((rank - 1) % size))
    for step in range(size - 1):
        group.send(parts[(rank + 1 - step) % size], (rank + 1) % size)
        parts[(rank - step) % size].copy_(group.recv((rank - 1) % size))


def wrong_remainder_left_out(x, group):
    """The remainder of the division belongs to a part, too: x.tensor_split(size) leaves nothing out."""
    size = group.size()
    length = len(x) // size
    ring(x, group, parts=[x[i * length:(i + 1) * length] for i in range(size)])


def right_to_the_left_too(x, group):
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


WRONG = [
    ("The second round is missing: each rank has the sum of one part now, and has to pass it on.",
     lambda x, group: ring(x, group, second=0)),
    ("The first round has one step fewer than there are ranks: this is one step too few.",
     lambda x, group: ring(x, group, first=group.size() - 2)),
    ("The first round has one step fewer than there are ranks: this is one step too many.",
     lambda x, group: ring(x, group, first=group.size())),
    ("In the second round the part that arrives is complete: overwrite your own with it.",
     lambda x, group: ring(x, group, keep=lambda part, came: part.add_(came))),
    ("In the first round add the part that arrives to your own; the second round begins with the part completed "
     "last, whose number is the rank's plus 1.",
     lambda x, group: ring(x, group, add=lambda part, came: part.copy_(came))),
    ("Change x itself: a part must be a view of it, not a copy.",
     lambda x, group: ring(x, group, parts=[part.clone() for part in x.tensor_split(group.size())])),
    ("The number of elements need not be a multiple of the number of ranks",
     lambda x, group: ring(x, group, parts=x.view(group.size(), -1).unbind(0))),
]
