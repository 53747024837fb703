"""Tests of `forebay explore`."""
