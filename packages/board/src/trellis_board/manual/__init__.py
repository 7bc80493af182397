"""The manual and the recipes, as files of the package."""
