"""x"""

Need = None


def needs(): ...
