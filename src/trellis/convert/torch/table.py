"""The table of rules for torch. Names are those of the operations without their overload, or with
it where one of them means something else."""

from ..rules import Rules

rule = Rules()
