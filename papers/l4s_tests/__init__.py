"""Heist and Morton's tests of L4S: two transfers through one queue, of CUBIC, Reno and Prague."""
