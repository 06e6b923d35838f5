"""The parts of loading: fetching, collating, workers, and messages to and from them."""
MP_STATUS_CHECK_INTERVAL = 5.0  #: seconds between two looks at whether the other process lives
