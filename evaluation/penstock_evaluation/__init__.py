"""The experiments of five papers, run with Penstock: `python -m penstock_evaluation`. Not part of the package penstock."""
