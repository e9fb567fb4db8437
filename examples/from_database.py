"""From a table of a database to a release in it: whole, or not there at all."""

import duckdb

import shoal

with duckdb.connect("clinic.duckdb") as database:
    database.register("people", shoal.datasets.census(1000))
    database.execute("CREATE OR REPLACE TABLE patients AS SELECT * FROM people")

source = "duckdb:///clinic.duckdb?table=patients"
target = "duckdb:///clinic.duckdb?table=published"
release = shoal.anonymize(
    source, qi=["age", "gender"], sensitive="occupation", k=5, rest="drop", method="hilbert"
)
release.write(target)
print(shoal.verify(target))
print(shoal.query(target, "SELECT gender, avg(age) FROM r GROUP BY gender"))
