def read(path):
    from ..description import Description
    return Description(str(path), "x", 0)
