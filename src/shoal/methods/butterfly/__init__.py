"""Method `butterfly`: one release for several readers."""
