"""CQ-AQM beyond its paper: more queues and precedences, other schedulers, thresholds."""
