"""Stands in for the extension module where that has several builds: Python prefers one that has this very name."""

from ._variants import import_core

import_core(__name__)
