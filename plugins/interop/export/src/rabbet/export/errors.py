"""What goes wrong when programs are exported or loaded."""


class ExportError(ValueError):
    """A program that cannot be exported, an artifact that cannot be read, or arguments that it does not
    take.

    Example:
      >>> from rabbet import export
      >>> try:
      ...     export.deserialize(b"something else")
      ... except export.ExportError as error:
      ...     print(str(error).partition(":")[0])
      deserialize
    """


__all__ = ["ExportError"]
