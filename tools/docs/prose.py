"""Plain text as Markdown."""


def escaped(text: str) -> str:
    """Prose in which a star is a star; code in backticks and indented lines stay as they are.

    >>> print(escaped("sqrt(x1**2) and `a * b`"))
    sqrt(x1\\*\\*2) and `a * b`
    """
    lines = []
    for line in text.split("\n"):
        if not line.startswith(" "):
            parts = line.split("`")
            parts[::2] = [part.replace("*", "\\*") for part in parts[::2]]
            line = "`".join(parts)
        lines.append(line)
    return "\n".join(lines)
