"""Text of any encoding as UTF-8, piece by piece."""

import codecs
from collections.abc import Callable
from typing import Protocol

from aioli.errors import FileRefused, ParameterRefused

__all__ = ["WESTERN", "AsUTF8", "Readable", "is_utf8", "seems_western", "unfinished"]

PIECE = 1 << 16  # bytes that are decoded at a time
WESTERN = "windows-1252"  # Latin-1 and more, what Windows and Excel write in Western Europe and America
# five bytes mean nothing in Windows-1252; browsers, too, take them for the control characters of Latin-1 (WHATWG)
WESTERN_LETTERS = "".join(bytes([code]).decode("cp1252", "replace").replace("\ufffd", chr(code)) for code in range(256))


class Readable(Protocol):
    """A file object that bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""

    def close(self) -> None:
        """Close the file."""


def is_utf8(encoding: str) -> bool:
    """Return whether a name, which Python must know, is one of UTF-8.

    >>> is_utf8("UTF8"), is_utf8("latin-1")
    (True, False)
    """
    try:
        found = codecs.lookup(encoding)
        b"".decode(encoding)
    except (LookupError, ValueError):
        raise ParameterRefused(
            f"there is no encoding of text called {encoding!r}; give one such as utf-8, latin-1, cp1252 or utf-16",
            parameter="encoding",
            value=encoding,
        ) from None
    return found.name in ("utf-8", "utf-8-sig")


def seems_western(text: bytes) -> bool:
    """Return whether bytes are text, and more of the characters beyond ASCII break the rules of UTF-8 than keep them.

    Letters of Latin-1 hardly ever follow each other so that they could be UTF-8.

    >>> seems_western("Malmö,1".encode("latin-1")), seems_western("Malmö,1".encode()), seems_western(b"\\xff\\xfe1\\0")
    (True, False, False)
    """
    replacement = "\ufffd"
    found = text.decode("utf-8", "replace")
    broken = found.count(replacement) - text.count(replacement.encode())
    beyond = len(found) - len(found.encode("ascii", "ignore"))
    return 2 * broken > beyond and b"\0" not in text


def unfinished(text: bytes) -> int:
    """Return how many bytes at the end could be the beginning of a character of UTF-8.

    >>> unfinished("a é".encode()[:-1]), unfinished("a é".encode())
    (1, 0)
    """
    return len(text) - codecs.utf_8_decode(text, "replace", False)[1]


class _Western(codecs.IncrementalDecoder):
    """Decodes Windows-1252, in which here every byte is a character."""

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]  # noqa: ARG002  (bytes are characters: none is left for later)
        """Return the characters of the bytes."""
        return codecs.charmap_decode(data, self.errors, WESTERN_LETTERS)[0]


class AsUTF8:
    """Text that is encoded otherwise, given as UTF-8.

    Parameters
    ----------
    read
        Returns the next bytes, at most so many; empty at the end.
    encoding, name
        How the text is encoded, and the file that messages name.
    live
        Whether to give what has come, and to wait for no more.
    begun
        Bytes that were read already.

    Examples
    --------
    >>> import io
    >>> AsUTF8(io.BytesIO("é,1".encode("latin-1")).read, "latin-1", "a.csv").read(10)
    b'\\xc3\\xa9,1'
    """

    def __init__(
        self, read: Callable[[int], bytes], encoding: str, name: str, live: bool = False, begun: bytes = b""
    ) -> None:
        self._read, self._encoding, self._name, self._live = read, encoding, name, live
        self._decoder = _Western() if encoding == WESTERN else codecs.getincrementaldecoder(encoding)()
        self._passed = 0  # bytes that were decoded
        self._text = bytearray(self._decoded(begun, last=False))

    def read(self, size: int, /) -> bytes:
        """Return the next bytes of UTF-8, at most `size`; empty at the end."""
        data = b" "
        while len(self._text) < (1 if self._live else size) and data:
            data = self._read(PIECE)
            self._text += self._decoded(data, last=not data)
        read = bytes(self._text[:size])
        del self._text[:size]
        return read

    def _decoded(self, data: bytes, last: bool) -> bytes:
        try:
            text = self._decoder.decode(data, last)
        except UnicodeError as error:
            raise FileRefused(
                f"{self._name}: is not {self._encoding} ({error.args[-1] if error.args else error}, behind byte "
                f"{self._passed:,}); say how it is encoded (--encoding), or convert it to UTF-8",
                path=self._name,
            ) from None
        self._passed += len(data)
        return text.encode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Do nothing: who opened the file closes it."""
