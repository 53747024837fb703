"""Amicable strict priority queuing (ASPQ): figures 5 and 6, table I, and what lies beyond."""
