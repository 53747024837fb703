"""CP-AQM: congestion-policing active queue management."""
