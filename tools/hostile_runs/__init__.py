"""Hostile runs of the command line."""
