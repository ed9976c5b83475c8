"""Results with several parts."""


class Record(dict):
    """A dict whose keys are attributes as well: `record["residual"]` is `record.residual`."""

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no part {name!r}; there are {known}") from None

    def __dir__(self):
        return [*super().__dir__(), *self]

    def __repr__(self):
        parts = ", ".join(f"{name}={_short(part)}" for name, part in self.items())
        return f"Record({parts})"


def _short(part):
    """An array by its shape, a list by its length, all else as it is."""
    if hasattr(part, "shape"):
        return f"<{part.dtype} {tuple(part.shape)}>"
    return f"<list of {len(part)}>" if isinstance(part, list) else repr(part)
