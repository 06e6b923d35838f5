"""Texts sealed with a teacher's key: a release carries solutions that only the key opens."""
from __future__ import annotations

import base64
import hashlib
import os

ROUNDS, SALT, PROOF = 200_000, 16, 16  #: rounds of key derivation; bytes of salt, and of the proof that a key is right


def seal(text: str, key: str) -> str:
    """Return a text sealed with a key. A short key can be guessed."""
    salt, plain = os.urandom(SALT), text.encode()
    return base64.b64encode(salt + _mixed(hashlib.sha256(plain).digest()[:PROOF] + plain, key, salt)).decode()


def unseal(sealed: str, key: str) -> str | None:
    """Return the sealed text, or None if the key is wrong."""
    found = base64.b64decode(sealed)
    opened = _mixed(found[SALT:], key, found[:SALT])
    proof, plain = opened[:PROOF], opened[PROOF:]
    return plain.decode() if hashlib.sha256(plain).digest()[:PROOF] == proof else None


def _mixed(content: bytes, key: str, salt: bytes) -> bytes:
    """Combine bytes with a stream of as many that is derived from a key; a second time undoes it."""
    derived = hashlib.pbkdf2_hmac("sha256", key.encode(), salt, ROUNDS)
    stream = hashlib.shake_256(derived).digest(len(content))
    return bytes(a ^ b for a, b in zip(content, stream, strict=True))
