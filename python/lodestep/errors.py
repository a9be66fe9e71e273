"""Exceptions of Lodestep. They say the same words as the command line and the server."""

from __future__ import annotations


class Error(Exception):
    """An expected failure: `code`, `message`, `where` it happened and a `hint` what to do about it."""

    code = "error"

    def __init__(self, message: str, where: str = "", hint: str = "") -> None:
        super().__init__(message, where, hint)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f"\n{self.hint}" if self.hint else ""
        return f"{self.message}{place}{advice}"


class InvalidArgument(Error, ValueError):
    """The caller's words are wrong: an unknown option, a malformed task id."""

    code = "invalid_argument"


class NotFound(Error, LookupError):
    """A named thing does not exist: an environment, a file, a task, a split."""

    code = "not_found"


class BadData(Error, ValueError):
    """A file or message is malformed."""

    code = "bad_data"


class Unavailable(Error, RuntimeError):
    """The outside world failed: disk full, endpoint down, time limit."""

    code = "unavailable"


class Unsupported(Error, NotImplementedError):
    """Well-formed, but a construct that this version does not offer."""

    code = "unsupported"


class InternalError(RuntimeError):
    """A mistake of Lodestep itself; the message names the place."""


_BY_CODE: dict[str, type[Error]] = {
    kind.code: kind for kind in (InvalidArgument, NotFound, BadData, Unavailable, Unsupported)
}


def from_core(code: str, message: str, where: str = "", hint: str = "") -> Error:
    """The exception for an error code of the core or of a server."""
    return _BY_CODE.get(code, Error)(message, where, hint)
