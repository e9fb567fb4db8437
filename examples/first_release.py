"""A first release: who is asked about, what is promised, how to check it."""

import shoal

people = shoal.datasets.census(1000)
release = shoal.anonymize(
    people,
    qi=["age", "gender", "education"],
    sensitive="occupation",
    k=10,
    l=3,
    rest="drop",
    effort="instant",
)
path = release.write("release.csv")
print(release)
print(shoal.verify(path))
print(shoal.query(path, "SELECT count(*) FROM release WHERE age < 30 AND gender = 'Female'"))
print(shoal.query(path, "SELECT avg(age) FROM release WHERE education >= 13"))
