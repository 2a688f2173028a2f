"""One case on one backend: lay out, dispatch, check every byte, judge."""
