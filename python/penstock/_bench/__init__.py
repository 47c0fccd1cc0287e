"""`penstock bench`: what the engine costs, measured against a rod and against MPI-IO."""
