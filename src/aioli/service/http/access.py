"""Decides who may ask: access tokens by their hashes, what each may do, and how often.

A token has 256 random bits, so that a plain hash of it is as good as a slow one.
"""

import base64
import binascii
import hashlib
import secrets
import time
from collections.abc import Callable, Iterable

from aioli.service.refusals import Forbidden, TooMany, Unauthorised
from aioli.store.event_log import Store

__all__ = ["READ", "WRITE", "Access", "Bucket", "hash_of", "make_token"]

READ, WRITE = "read", "write"
PREFIX = "aioli_"
REFUSALS_A_SECOND = 50.0  # requests without a good token that are looked at, from one address
MOST_ADDRESSES = 10_000


def hash_of(token: str) -> str:
    """Return the hash by which a token is kept."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def make_token(store: Store, rights: str) -> str:
    """Make a token, keep its hash, and return it: nobody can find it again."""
    token = PREFIX + secrets.token_urlsafe(32)
    store.add_token(hash_of(token), rights, time.time())
    return token


class Bucket:
    """Lets so many requests through a second, and as many at once. O(1)."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._left, self._at = rate, clock()

    def take(self) -> bool:
        """Return whether one more may pass."""
        now = self._clock()
        self._left = min(self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Access:
    """Knows what the bearer of a token may do, and how often.

    Parameters
    ----------
    store
        Where the hashes of tokens are.
    rate
        How many requests a second one token may make.
    """

    def __init__(self, store: Store, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rights = dict(store.tokens())
        self._rate, self._clock = rate, clock
        self._buckets: dict[str, Bucket] = {}
        self._strangers: dict[str, Bucket] = {}
        self._hashes: dict[bytes, str] = {}  # of headers that were good, so that no request is hashed twice

    def check(self, header: bytes | None, writes: bool, address: str) -> str:
        """Return what the token may do, or refuse: 401 if unknown, 403 to write by a read token, 429 too often."""
        hashed = None if header is None else self._hashes.get(header) or self._known(header)
        if hashed is None:
            self._refuse(address, header is None)
        assert hashed is not None
        if not self._bucket(self._buckets, hashed, self._rate).take():
            raise TooMany(f"more than {self._rate:g} requests a second came with this token; send fewer, or batches")
        rights = self._rights[hashed]
        if writes and rights != WRITE:
            raise Forbidden("this token may read, not write; take a token made with the right to write")
        return rights

    def _known(self, header: bytes) -> str | None:
        for token in _tokens_in(header):
            if (hashed := hash_of(token)) in self._rights:
                self._hashes[header] = hashed
                return hashed
        return None

    def _refuse(self, address: str, absent: bool) -> None:
        if not self._bucket(self._strangers, address, REFUSALS_A_SECOND).take():
            raise TooMany("too many requests without a good token came from this address; wait a second")
        raise Unauthorised(
            "no token came; send the header Authorization: Bearer TOKEN"
            if absent
            else "the token is not known; take the one that `aioli serve` showed at its first start, or make one"
        )

    def _bucket(self, buckets: dict[str, Bucket], key: str, rate: float) -> Bucket:
        found = buckets.get(key)
        if found is None:
            if len(buckets) >= MOST_ADDRESSES:
                buckets.clear()
            found = buckets[key] = Bucket(rate, self._clock)
        return found


def _tokens_in(header: bytes) -> Iterable[str]:
    """Yield what may be a token: a bearer's, or the password of a browser."""
    kind, _, rest = header.partition(b" ")
    if kind.lower() == b"bearer":
        yield rest.strip().decode("latin-1")
    elif kind.lower() == b"basic":
        try:
            yield base64.b64decode(rest, validate=True).decode("latin-1").partition(":")[2]
        except binascii.Error:
            return
