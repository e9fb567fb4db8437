"""Signatures of manifests: who says what a release promises.

A manifest holds the hashes of the released files, so whoever signs it signs
the release. Signed is its content, as JSON in one canonical form, not the bytes
of its file. The signature (Ed25519) is one line of text beside the manifest:
``r.csv.manifest.json``, ``r.csv.manifest.sig``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError, PolicyError
from shoal.io.together import atomic_file

__all__ = ["check_signature", "new_key", "public_path", "sign_manifest", "signature_path"]

SCHEME = "ed25519"
PURPOSE = b"shoal manifest\n"
"""Signed before the content, so that no signature of something else passes for one of ours."""


def signature_path(manifest: Path) -> Path:
    """Where the signature of a manifest lies."""
    return manifest.with_suffix(".sig")


def public_path(private: Path) -> Path:
    """Where the public key of a new pair goes: ``key.pem``, ``key.pub.pem``."""
    return private.with_name(f"{private.stem}.pub{private.suffix}")


def new_key(private: Path) -> Path:
    """Make a pair of keys; the private one for its owner's eyes only. Gives the public path."""
    keys, serialization = _cryptography()
    public = public_path(private)
    for path in (private, public):
        if path.exists():
            raise OutputError(f"{path}: exists already; a key is never replaced")
    key = keys.Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    shown = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        for path, text, mode in ((private, secret, 0o600), (public, shown, 0o644)):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(text)
    except OSError as error:
        raise OutputError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return public


def sign_manifest(manifest: Path, content: Mapping[str, Any], key: Path) -> Path:
    """Write the signature of a manifest's content beside it."""
    keys, serialization = _cryptography()
    text = _key_text(key)
    try:
        private = serialization.load_pem_private_key(text, password=None)
    except Exception:  # whatever is wrong with a key, its text stays unseen
        private = None
    if not isinstance(private, keys.Ed25519PrivateKey):
        raise InputError(f"{key}: not a private Ed25519 key in PEM; shoal sign --new-key makes one")
    target = signature_path(manifest)
    with atomic_file(target) as temporary:
        temporary.write_text(f"{SCHEME} {private.sign(_signed(content)).hex()}\n", "ascii")
    return target


def check_signature(manifest: Path, content: Mapping[str, Any], key: Path) -> list[str]:
    """One line if a manifest is not signed with the key's private twin; nothing if it is."""
    keys, serialization = _cryptography()
    text = _key_text(key)
    try:
        public = serialization.load_pem_public_key(text)
    except Exception:
        public = None
    if not isinstance(public, keys.Ed25519PublicKey):
        raise InputError(f"{key}: not a public Ed25519 key in PEM")
    path = signature_path(manifest)
    try:
        line = path.read_bytes()
    except OSError:
        return [f"{path}: there is no signature; shoal sign makes one"]
    signature = _signature_in(line)
    try:
        if signature is not None:
            public.verify(signature, _signed(content))
            return []
    except Exception:  # cryptography's InvalidSignature, and nothing else is better
        pass
    return [f"{path}: is no signature of this manifest by this key; one of the three was changed"]


def _signature_in(line: bytes) -> bytes | None:
    """The signature in a file that says nothing else; None if it is written in another form."""
    try:
        signature = bytes.fromhex(line.decode("ascii").split()[1])
    except (UnicodeDecodeError, IndexError, ValueError):
        return None
    return signature if line == f"{SCHEME} {signature.hex()}\n".encode() else None


def _signed(content: Mapping[str, Any]) -> bytes:
    """What is signed: equal for equal manifests, however their files are laid out."""
    return PURPOSE + json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


def _key_text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise PolicyError(
            "signing needs the package cryptography; install it with pip install 'shoal[sign]'"
        ) from None
    return ed25519, serialization
