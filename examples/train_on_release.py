"""A model that is trained on a release, and tested on people who are not in it."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shoal
import shoal.sklearn

QI = ["age", "gender", "education", "marital"]
people = shoal.datasets.census(3000)
train, test = people.slice(0, 2000), people.slice(2000).to_pandas()
release = shoal.anonymize(train, qi=QI, plain="salary", k=10, rest="drop", method="hilbert")
frame = release.to_pandas()
rich = float(np.median(train["salary"].to_numpy()))

model = make_pipeline(
    shoal.sklearn.expand("shares", policy=release.policy),
    StandardScaler(),
    LogisticRegression(max_iter=1000),
)
model.fit(frame[QI], frame["salary"] > rich)
print(f"right in {model.score(test[QI], test['salary'] > rich):.0%} of the others")
