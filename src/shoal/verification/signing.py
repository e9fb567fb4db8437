"""Signatures of manifests: who says what a release promises.

A manifest holds the hashes of the released files, so whoever signs it signs
the release. Signed is its content, as JSON in one canonical form, not the bytes
of its file. The signature (Ed25519) is one line of text beside the manifest:
``r.csv.manifest.json``, ``r.csv.manifest.sig``. A report is signed together with
the manifest that it is about, in a file of its own: ``report.html.sig``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError, PolicyError
from shoal.io.together import atomic_file
from shoal.io.write import sha256_of

__all__ = [
    "check_report_signature",
    "check_signature",
    "new_key",
    "public_path",
    "sign_manifest",
    "sign_report",
    "signature_path",
]

SCHEME = "ed25519"
PURPOSE = b"shoal manifest\n"
REPORT_PURPOSE = b"shoal report\n"
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
    return _sign(signature_path(manifest), _signed(content), key)


def sign_report(report: Path, content: Mapping[str, Any], key: Path) -> Path:
    """Write the signature of a report, and of the manifest that it is about, beside it."""
    return _sign(_beside(report), _signed_report(report, content), key)


def check_signature(manifest: Path, content: Mapping[str, Any], key: Path) -> list[str]:
    """One line if a manifest is not signed with the key's private twin; nothing if it is."""
    return _check(signature_path(manifest), _signed(content), key, "manifest")


def check_report_signature(report: Path, content: Mapping[str, Any], key: Path) -> list[str]:
    """One line if a report of a manifest is not signed by the key; nothing if it is."""
    return _check(_beside(report), _signed_report(report, content), key, "report and manifest")


def _beside(report: Path) -> Path:
    return report.with_name(report.name + ".sig")


def _sign(target: Path, signed: bytes, key: Path) -> Path:
    keys, serialization = _cryptography()
    text = _key_text(key)
    try:
        private = serialization.load_pem_private_key(text, password=None)
    except Exception:  # whatever is wrong with a key, its text stays unseen
        private = None
    if not isinstance(private, keys.Ed25519PrivateKey):
        raise InputError(f"{key}: not a private Ed25519 key in PEM; shoal sign --new-key makes one")
    with atomic_file(target) as temporary:
        temporary.write_text(f"{SCHEME} {private.sign(signed).hex()}\n", "ascii")
    return target


def _check(path: Path, signed: bytes, key: Path, what: str) -> list[str]:
    keys, serialization = _cryptography()
    text = _key_text(key)
    try:
        public = serialization.load_pem_public_key(text)
    except Exception:
        public = None
    if not isinstance(public, keys.Ed25519PublicKey):
        raise InputError(f"{key}: not a public Ed25519 key in PEM")
    try:
        line = path.read_bytes()
    except OSError:
        return [f"{path}: there is no signature; shoal sign makes one"]
    signature = _signature_in(line)
    try:
        if signature is not None:
            public.verify(signature, signed)
            return []
    except Exception:  # cryptography's InvalidSignature, and nothing else is better
        pass
    return [f"{path}: is no signature of this {what} by this key; one of them was changed"]


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


def _signed_report(report: Path, content: Mapping[str, Any]) -> bytes:
    """What is signed of a report: its bytes, and the manifest that it is about."""
    try:
        digest = sha256_of(report)
    except OSError as error:
        raise InputError(f"{report}: cannot be read: {error.strerror}") from None
    return REPORT_PURPOSE + digest.encode("ascii") + b"\n" + _signed(content)


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
