"""Tables 1 to 8 of Thakur and Choudhary, *An Extended Two-Phase Method for Accessing Sections of Out-of-Core Arrays*.

Every row with its section as printed, and the seconds that it took on the Intel Touchstone Delta. Arrays are square,
of single precision, in column-major order. ETP: the extended two-phase method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from penstock import Section

ELEMENT = 4  #: bytes: single precision

# No. | section | direct, ETP with static partitioning, ETP with dynamic partitioning; 16 processors.
_SIXTEEN = {
    (1, "reading common sections", "read"): """
I    | (1:100:1, 1:100:1)                         | 1.632  1.027  0.431
II   | (200:300:1, 200:300:1)                     | 1.867  0.883  0.363
III  | (400:800:1, 400:800:1)                     | 6.265  3.692  1.056
IV   | (32:64:1, 128:1024:1)                      | 9.995  2.780  1.318
V    | (1:16:1, 1:4096:1)                         | 52.06  3.241  3.241
VI   | (1:4096:1, 1:16:1)                         | 1.216  2.024  0.420""",
    (2, "reading overlapping sections", "read"): """
I    | (1:100:1, 1+10p:100+10p:1)                 | 2.000  1.830  0.693
II   | (1:100:1, 1+50p:100+50p:1)                 | 4.627  1.859  0.875
III  | (400:800:1, 400+100p:800+100p:1)           | 8.097  3.348  2.477
IV   | (1:4096:1, 1+8p:16+8p:1)                   | 1.152  3.374  0.826
V    | (1+50p:100+50p:1, 1:100:1)                 | 1.579  1.994  0.524
VI   | (400+100p:800+100p:1, 400:800:1)           | 7.442  11.84  1.361
VII  | (1+8p:16+8p:1, 1:4096:1)                   | 50.32  2.992  2.992
VIII | (200+100p:400+100p:1, 200+100p:400+100p:1) | 3.104  2.986  1.739""",
    (3, "reading distinct sections", "read"): """
I    | (1:100:1, 1+100p:100+100p:1)               | 1.976  2.254  1.976
II   | (1+100p:100+100p:1, 1:100:1)               | 1.633  2.182  0.548
III  | (200+200p:400+200p:1, 512:1024:1)          | 8.016  5.680  1.725
IV   | (1+32p:16+32p:1, 1:4096:1)                 | 51.63  4.823  4.823
V    | (200+200p:400+200p:1, 1+200p:512+200p:1)   | 5.466  4.524  3.912
VI   | (1+32p:32+32p:1, 1+100p:1024+100p:1)       | 12.02  2.991  2.371""",
    (4, "writing distinct sections", "write"): """
I    | (1:100:1, 1+100p:100+100p:1)               | 1.944  2.166  1.944
II   | (1+100p:100+100p:1, 1:100:1)               | 1.182  2.034  0.494
III  | (200+200p:400+200p:1, 512:1024:1)          | 4.202  5.445  1.669
IV   | (1+32p:16+32p:1, 1:4096:1)                 | 24.85  10.25  10.25
V    | (200+200p:400+200p:1, 1+200p:512+200p:1)   | 5.155  5.461  4.401
VI   | (1+32p:32+32p:1, 1+100p:1024+100p:1)       | 8.233  4.994  4.274""",
    (5, "reading sections with non-unit strides", "read"): """
I    | (p+1:4096:nprocs, p+1:4096:nprocs)         | 210.8  9.330  9.330
II   | (1+250p:250+250p:2, 1+250p:250+250p:2)     | 53.13  3.610  2.842
III  | (1+200p:500+200p:3, 1+200p:500+200p:3)     | 87.19  4.394  4.387
IV   | (1+64p:64+64p:2, 500:2500:3)               | 96.20  4.759  3.848
V    | (500:2500:3, 1+64p:64+64p:2)               | 130.7  4.574  2.340""",
    (6, "writing sections with non-unit strides", "write"): """
I    | (p+1:4096:nprocs, p+1:4096:nprocs)         | 53.28  22.77  22.77
II   | (1+250p:250+250p:2, 1+250p:250+250p:2)     | 25.22  6.438  3.775
III  | (1+200p:500+200p:3, 1+200p:500+200p:3)     | 44.64  8.696  7.516
IV   | (1+64p:64+64p:2, 500:2500:3)               | 71.35  8.858  7.279
V    | (500:2500:3, 1+64p:64+64p:2)               | 79.24  7.724  4.405""",
}

_RANKS = (4, 8, 16, 32, 64, 128)
# No. | operation | section | direct and ETP (dynamic) for each of these numbers of processors.
_SCALING = {
    (7, "scalability", 4096): """
I    | read  | (400:800:1, 400:800:1)               | 2.620 1.282 3.184 1.040 4.421 1.056 8.734 1.169 16.28 1.436 32.64 2.130
II   | read  | (1:16:1, 1:4096:1)                   | 12.16 4.315 13.95 3.099 19.65 3.241 32.96 2.647 60.11 3.432 116.7 3.219
III  | read  | (400:800:1, 400+25p:800+25p:1)       | 3.079 1.748 5.208 1.699 6.850 1.991 13.61 2.798 24.98 3.801 47.95 4.602
IV   | read  | (1+8p:16+8p:1, 1:4096:1)             | 13.75 4.450 13.77 3.391 19.63 2.992 32.70 3.696 60.58 4.791 115.9 7.401
V    | read  | (1+25p:16+25p:1, 1:4096:1)           | 12.37 4.791 13.57 3.929 19.76 4.149 32.38 6.109 46.12 7.276 54.82 8.161
VI   | read  | (1+32p:32+32p:1, 1+24p:1024+24p:1)   | 3.704 1.893 2.396 1.585 4.125 1.638 7.806 2.418 19.77 2.970 26.23 4.110
V    | write | (1+25p:16+25p:1, 1:4096:1)           | 3.129 7.900 6.971 6.861 12.45 8.554 27.52 12.74 37.70 18.52 52.41 24.74
VI   | write | (1+32p:32+32p:1, 1+24p:1024+24p:1)   | 0.982 1.937 1.803 2.218 3.954 3.058 6.436 5.028 7.139 6.234 21.20 9.403
VII  | read  | (p+1:4096:nprocs, p+1:4096:nprocs)   | 799.2 22.82 216.6 15.83 210.8 9.331 103.1 10.89 54.94 8.307 50.60 9.657
VIII | read  | (500:2500:3, 1+32p:32+32p:2)         | 56.44 1.342 77.78 1.440 83.87 1.870 163.1 3.123 331.5 5.062 867.4 7.711
VII  | write | (p+1:4096:nprocs, p+1:4096:nprocs)   | 668.7 42.75 147.3 39.11 84.54 31.40 64.53 26.42 35.35 28.40 51.38 31.16
VIII | write | (500:2500:3, 1+32p:32+32p:2)         | 9.041 1.612 18.83 1.603 35.17 2.972 75.95 4.812 163.6 7.915 341.8 21.75""",
    (8, "large requests", 16384): """
I    | read  | (5000:6000:1, 5000:6000:1)           | 23.65 7.880 43.43 7.795 78.99 7.935 151.3 9.085 302.7 9.368 605.1 11.86
II   | read  | (1+100p:300+100p:1, 4000:8000:1)     | 53.30 26.51 103.3 28.10 132.3 28.50 157.6 32.49 162.3 40.03 182.4 52.08
III  | read  | (1+100p:400+100p:1, 2000+20p:2800+20p:1) | 13.31 5.061 24.11 6.489 31.49 7.400 39.81 9.253 41.28 10.12 44.29 13.23
IV   | read  | (4000:8000:1, 1+4p:8+4p:1)           | 0.683 0.699 0.841 0.939 1.343 1.173 2.189 1.663 4.149 2.850 8.486 4.994
V    | read  | (1+100p:100+100p:1, 1+100p:1024+100p:1) | 10.97 5.380 19.31 8.475 26.52 10.58 35.06 12.69 52.81 14.10 124.2 22.06
VI   | read  | (1+20p:16+20p:1, 4000:12000:1)       | 57.29 21.94 74.05 23.05 127.3 32.88 240.8 51.26 500.2 112.2 799.7 98.68
V    | write | (1+100p:100+100p:1, 1+100p:1024+100p:1) | 7.108 12.01 15.21 18.98 32.20 23.37 35.99 30.17 53.10 35.76 98.90 32.54
VI   | write | (1+20p:16+20p:1, 4000:12000:1)       | 48.35 44.18 71.85 52.07 151.4 73.34 272.8 122.3 548.1 174.1 746.6 164.2""",
}


@dataclass(frozen=True)
class Seconds:
    """Measurements of the paper."""

    direct: float
    dynamic: float
    static: Optional[float] = None  #: where it was measured

    @property
    def ratio(self) -> float:
        """How many times as long as with dynamic partitioning the direct method took."""
        return self.direct / self.dynamic


@dataclass(frozen=True)
class Row:
    """A row of a table: which section each processor reads or writes."""

    table: int
    title: str  #: of the table
    name: str  #: Roman number
    operation: str
    section: str  #: as printed
    size: int  #: of the array in each dimension, as printed
    seconds: dict[int, Seconds]  #: by number of processors

    @property
    def cited(self) -> str:
        """Its place in the paper, for tables and messages."""
        write = ", write" if self.table > 6 and self.operation == "write" else ""
        return f"Table {self.table}, {self.name}{write}"

    def section_of(self, rank: int, ranks: int) -> Section:
        """In the order of the file: columns, then rows."""
        return Section._of(Section.paper(self.section, p=rank, nprocs=ranks).dimensions[::-1])

    def extent(self, ranks: int) -> int:
        """The least size of an array that has the sections of so many ranks."""
        return max(upper for rank in range(ranks) for _, upper, _, _ in self.section_of(rank, ranks).dimensions)

    def requests(self, rank: int, ranks: int, size: int) -> int:
        """How many runs of neighbouring bytes a rank's section has in the file: what it asks for one by one."""
        columns, rows = self.section_of(rank, ranks).dimensions
        count = [-(-(upper - lower) // stride) for lower, upper, stride, _ in (columns, rows)]
        if rows[2] != 1:
            return count[0] * count[1]
        return 1 if rows[:2] == (0, size) and columns[2] == 1 else count[0]


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _rows() -> Iterator[Row]:
    for (table, title, operation), text in _SIXTEEN.items():
        for line in text.strip().splitlines():
            name, section, times = (part.strip() for part in line.split("|"))
            direct, static, dynamic = _numbers(times)
            yield Row(table, title, name, operation, section, 4096, {16: Seconds(direct, dynamic, static)})
    for (table, title, size), text in _SCALING.items():
        for line in text.strip().splitlines():
            name, operation, section, times = (part.strip() for part in line.split("|"))
            pairs = _numbers(times)
            seconds = {n: Seconds(*pair) for n, pair in zip(_RANKS, zip(pairs[::2], pairs[1::2]))}
            yield Row(table, title, name, operation, section, size, seconds)


ROWS = list(_rows())
TABLES = list(dict.fromkeys(row.table for row in ROWS))
