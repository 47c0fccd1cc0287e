"""When a program takes snapshots. Apart from the programs: these start MPI."""


def snapshot_steps(iterations: int, snapshots: int) -> set[int]:
    """After which iterations, evenly; the last is the last."""
    return {iterations * (k + 1) // snapshots for k in range(snapshots)}
