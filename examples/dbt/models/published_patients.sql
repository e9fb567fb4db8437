-- The release, as `shoal anonymize ... -o 'duckdb:///patients.duckdb?table=release'` wrote it.
select * from release
