"""One case on one backend: lay out, dispatch, look at every byte, judge."""
