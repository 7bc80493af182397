"""Capability tables in other people's documentation: extensions for Sphinx and for MkDocs."""
