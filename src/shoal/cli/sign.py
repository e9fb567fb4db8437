"""``shoal sign``: say who wrote a release."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.places import OnlyFile
from shoal.errors import PolicyError

NO_PLACE = "a signature is a file beside a manifest; write the release to a file and sign that"


@click.command(short_help="Sign a release, or make keys for it.")
@click.argument("release", type=OnlyFile(NO_PLACE), required=False)
@click.option("--manifest", type=click.Path(path_type=Path), help="[RELEASE.manifest.json]")
@click.option("--key", type=click.Path(path_type=Path), help="Private key, PEM.")
@click.option(
    "--new-key", type=click.Path(path_type=Path), metavar="FILE", help="Make a pair of keys."
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="A report of the release, to sign with it."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def sign(
    release: Path | None,
    manifest: Path | None,
    key: Path | None,
    new_key: Path | None,
    report: Path | None,
    quiet: bool,
) -> None:
    """Sign the manifest of RELEASE, and with it the files whose hashes it holds.

    \b
    shoal sign --new-key key.pem              key.pem (keep it), key.pub.pem (give it away)
    shoal sign release.csv --key key.pem      release.csv.manifest.sig
    shoal sign release.csv --key key.pem --report report.html
    shoal verify release.csv --key key.pub.pem --report report.html

    What does not verify is not signed. Needs the package cryptography
    (pip install 'shoal[sign]').
    """
    from shoal.verification.files import sign as sign_release
    from shoal.verification.signing import new_key as make_keys

    if (release is None) == (new_key is None) or (release is None) != (key is None):
        raise PolicyError("give a release and --key, or --new-key alone")
    if new_key is not None:
        public = make_keys(new_key)
        said = f"private key {new_key}: keep it to yourself\npublic key {public}: give it away"
    elif release is not None and key is not None:
        written = sign_release(release, key, manifest, report)
        said = f"signed: {' and '.join(map(str, written))}"
    if not quiet:
        click.echo(said)
