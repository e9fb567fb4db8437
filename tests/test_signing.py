"""Signed releases: a changed byte of release, manifest, signature or key is noticed."""

from __future__ import annotations

import builtins
import json
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.errors import InputError, OutputError, PolicyError, VerificationError
from shoal.io.write import sha256_of
from shoal.verification.files import sign
from shoal.verification.signing import new_key, public_path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    assert command("sign", "--new-key", tmp_path / "key.pem").code == 0
    return tmp_path / "key.pem"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    table = shoal.datasets.census(40).select(["age", "gender"])
    made = shoal.anonymize(table, qi=["age", "gender"], k=4, method="hilbert", rest="plain")
    return made.write(tmp_path / "r.csv")


@pytest.fixture
def signed(release: Path, key: Path) -> Path:
    shown = command("sign", release, "--key", key)
    assert (shown.code, shown.out.strip()) == (0, f"signed: {release}.manifest.sig")
    return release


def test_a_signed_release_verifies(signed: Path, key: Path) -> None:
    shown = command("verify", signed, "--key", public_path(key))
    assert shown.code == 0
    assert "signed by the key" in shown.out
    found = shoal.verify(signed, key=public_path(key))
    assert (found.ok, found.signed) == (True, True)
    assert not shoal.verify(signed).signed


def test_the_private_key_is_its_owners_and_never_replaced(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(OutputError, match="never replaced"):
        new_key(key)
    assert key.read_bytes() == before


def test_every_byte_of_the_signature_counts(signed: Path, key: Path) -> None:
    path = Path(f"{signed}.manifest.sig")
    right = path.read_bytes()
    manifest = json.loads(Path(f"{signed}.manifest.json").read_text("utf-8"))
    from shoal.verification.signing import check_signature

    for place in range(len(right)):
        path.write_bytes(right[:place] + bytes([right[place] ^ 1]) + right[place + 1 :])
        assert check_signature(Path(f"{signed}.manifest.json"), manifest, public_path(key))
    assert command("verify", signed, "--key", public_path(key)).code == 1
    path.unlink()
    shown = command("verify", signed, "--key", public_path(key))
    assert shown.code == 1
    assert "there is no signature" in shown.out


def test_a_changed_manifest_is_noticed(signed: Path, key: Path) -> None:
    """Also where release, hash and policy were changed to fit each other."""
    path = Path(f"{signed}.manifest.json")
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(manifest, indent=7), "utf-8")  # the same content in another layout
    assert shoal.verify(signed, key=public_path(key)).ok
    manifest["policy"]["k"] = 3
    manifest["models"][0]["asked"] = "k = 3"
    path.write_text(json.dumps(manifest), "utf-8")
    assert shoal.verify(signed).ok
    found = shoal.verify(signed, key=public_path(key))
    assert (found.ok, found.signed) == (False, False)
    assert "no signature of this manifest" in found.mismatches[0]


def test_a_changed_release_is_noticed(signed: Path, key: Path) -> None:
    text = signed.read_bytes()
    signed.write_bytes(text[:-1] + b"x")
    assert command("verify", signed, "--key", public_path(key)).code == 1
    path = Path(f"{signed}.manifest.json")
    manifest = json.loads(path.read_text("utf-8"))
    manifest["release"]["sha256"] = sha256_of(signed)
    path.write_text(json.dumps(manifest), "utf-8")
    assert command("verify", signed, "--key", public_path(key)).code == 1


def test_another_key_is_another_signer(signed: Path, tmp_path: Path) -> None:
    other = new_key(tmp_path / "other.pem")
    assert not shoal.verify(signed, key=other).ok
    with pytest.raises(InputError, match="not a public"):
        shoal.verify(signed, key=tmp_path / "other.pem")
    with pytest.raises(InputError, match="not a private"):
        sign(signed, other)
    with pytest.raises(InputError, match="cannot be read"):
        sign(signed, tmp_path / "none.pem")


def test_what_does_not_verify_is_not_signed(release: Path, key: Path) -> None:
    release.write_text(release.read_text("utf-8").replace("gender", "sex"), "utf-8")
    with pytest.raises(VerificationError, match="SHA-256"):
        sign(release, key)
    assert not Path(f"{release}.manifest.sig").exists()


def test_without_the_library_it_is_one_line(
    release: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any) -> Any:
        if name.startswith("cryptography"):
            raise ModuleNotFoundError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(PolicyError, match=r"pip install 'shoal\[sign\]'"):
        sign(release, key)
    with pytest.raises(PolicyError, match=r"shoal\[sign\]"):
        shoal.verify(release, key=public_path(key))


def test_usage(release: Path, key: Path) -> None:
    for arguments in ((), (release,), ("--key", key), (release, "--new-key", "x.pem")):
        shown = command("sign", *arguments)
        assert (shown.code, shown.err.count("\n")) == (2, 1)
    with pytest.raises(PolicyError, match="key"):
        shoal.verify(release, key=public_path(key), qi=["age"], k=2)


def test_a_table_in_memory_cannot_be_signed_for(tmp_path: Path) -> None:
    """Nothing would tie it to the hash that the signature is of."""
    table = pa.table({"age": [1, 1]})
    with pytest.raises(PolicyError, match="a signature is of a released file"):
        shoal.verify(table, tmp_path / "r.csv.manifest.json", key=tmp_path / "public.pem")
