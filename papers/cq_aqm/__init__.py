"""CQ-AQM: figures 2 to 9 and claims CQ-1 to CQ-10."""
