"""When a program takes snapshots, and whose turn it is. Apart from the programs: these start MPI."""


def snapshot_steps(iterations: int, snapshots: int) -> set[int]:
    """After which iterations, evenly; the last is the last."""
    return {iterations * (k + 1) // snapshots for k in range(snapshots)}


def turns(repetition: int, methods: int) -> list[int]:
    """The order of a round: the next method begins, and every other time around it goes backwards."""
    order = [(repetition + i) % methods for i in range(methods)]
    return order[::-1] if repetition // methods % 2 else order
