"""Running compiled programs: dispatch, effects, programs in flight, interruption."""
