"""Amicable strict priority queuing (ASPQ): figures 5 and 6, and table I."""
