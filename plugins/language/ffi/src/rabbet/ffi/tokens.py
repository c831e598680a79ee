"""The type of a result that has no content, but says that the call has happened."""


class AbstractToken:
    """The type of ``abstract_token``, of which there is one."""

    def __repr__(self):
        return "AbstractToken()"


abstract_token = AbstractToken()

__all__ = ["AbstractToken", "abstract_token"]
