"""Bodin and Schelén: drop strategies and loss-rate differentiation."""
