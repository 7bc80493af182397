"""Tests of the conformance board."""
