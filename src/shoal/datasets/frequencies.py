"""The numbers behind `shoal.datasets.census`: names, and how often what goes with what.

All weights are integers, and so is all arithmetic on them: the generated table
then depends on no floating-point library. Shapes are invented, with the United
States' labour force of about 2010 in mind; no record of a person was used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AGES",
    "COUNTRIES",
    "EDUCATION_LEVELS",
    "GENDERS",
    "MARITAL",
    "OCCUPATIONS",
    "ORIGIN_OF_COUNTRY",
    "RACES",
    "REGIONS",
    "SALARY_CLASSES",
    "SECTOR_OF_WORKCLASS",
    "WORKCLASSES",
    "age_weights",
    "country_weights",
    "education_weights",
    "marital_weights",
    "occupation_weights",
    "pay_scores",
    "race_weights",
    "salary_weights",
    "workclass_weights",
]

Ints = NDArray[np.int64]

AGES = np.arange(17, 96)
EDUCATION_LEVELS = np.arange(1, 18)
SALARY_CLASSES = np.arange(1, 51)
GENDERS = ("Male", "Female")

# Age: anchors every few years, straight lines between them.
_AGE_ANCHORS = (17, 20, 25, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 95)
_AGE_WEIGHTS = {
    "Male": (30, 80, 110, 118, 116, 106, 94, 68, 36, 18, 9, 5, 2, 1),
    "Female": (34, 84, 108, 110, 112, 108, 96, 66, 33, 18, 11, 7, 4, 1),
}


def age_weights() -> Ints:
    """Weights (gender, age)."""
    table = np.zeros((len(GENDERS), len(AGES)), dtype=np.int64)
    for i, gender in enumerate(GENDERS):
        heights = _AGE_WEIGHTS[gender]
        for j in range(len(_AGE_ANCHORS) - 1):
            left, right = _AGE_ANCHORS[j], _AGE_ANCHORS[j + 1]
            for age in range(left, right + 1):
                weighted = heights[j] * (right - age) + heights[j + 1] * (age - left)
                table[i, age - AGES[0]] = 1 + 1000 * weighted // (right - left)
    return table


# Race, with the share of its members born in the United States, per thousand.
_RACES = {
    "White": (712, 945),
    "Black": (126, 900),
    "American Indian or Alaska Native": (11, 930),
    "Chinese": (15, 280),
    "Japanese": (5, 520),
    "Other Asian or Pacific Islander": (44, 250),
    "Other race": (58, 480),
    "Two races": (25, 850),
    "Three or more races": (4, 880),
}
RACES = tuple(_RACES)


def race_weights() -> Ints:
    """Weights (1, race)."""
    return np.array([[share for share, _ in _RACES.values()]], dtype=np.int64)


# Countries of birth by region, in thousands of people.
_REGIONS = {
    "United States": "United States 0",
    "North and Central America": """
        Mexico 8200, Canada 800, El Salvador 1200, Guatemala 850, Honduras 620, Nicaragua 250,
        Costa Rica 90, Panama 100, Belize 45""",
    "Caribbean": """
        Puerto Rico 1500, Cuba 1100, Dominican Republic 950, Jamaica 700, Haiti 620,
        Trinidad and Tobago 210, Barbados 50""",
    "South America": """
        Colombia 680, Peru 430, Ecuador 430, Brazil 340, Guyana 270, Venezuela 220, Argentina 180,
        Chile 95, Bolivia 80, Uruguay 50""",
    "Western Europe": """
        United Kingdom 680, Germany 600, Italy 360, France 170, Portugal 190, Ireland 130,
        Greece 135, Spain 90, Netherlands 85, Sweden 48""",
    "Eastern Europe": """
        Poland 450, Russia 390, Ukraine 330, Romania 170, Bosnia and Herzegovina 110, Albania 85,
        Hungary 70, Czechia 65, Belarus 55, Bulgaria 60""",
    "East Asia": "China 1700, South Korea 1050, Taiwan 370, Japan 320, Hong Kong 220",
    "Southeast Asia": """
        Philippines 1800, Vietnam 1250, Thailand 230, Laos 190, Cambodia 160, Myanmar 110,
        Indonesia 95, Malaysia 65""",
    "South Asia": """
        India 1900, Pakistan 330, Bangladesh 180, Nepal 90, Sri Lanka 50, Afghanistan 65""",
    "Middle East": """
        Iran 350, Iraq 180, Israel 130, Lebanon 125, Turkey 110, Armenia 85, Syria 70, Jordan 65,
        Egypt 150""",
    "Africa": """
        Nigeria 240, Ethiopia 190, Ghana 130, Kenya 100, South Africa 85, Liberia 75, Morocco 65,
        Somalia 85""",
}


def _parse(text: str) -> dict[str, int]:
    pairs = (entry.rsplit(" ", 1) for entry in " ".join(text.split()).split(", "))
    return {name: int(weight) for name, weight in pairs}


_BORN = {region: _parse(text) for region, text in _REGIONS.items()}
REGIONS = {region: tuple(countries) for region, countries in _BORN.items()}
COUNTRIES = tuple(country for countries in REGIONS.values() for country in countries)

# How much each race is at home in each region, in the order of _REGIONS without the first.
_RACE_REGION = {
    "White": (30, 30, 40, 96, 98, 0, 1, 2, 90, 12),
    "Black": (1, 60, 6, 2, 0, 0, 0, 0, 2, 85),
    "American Indian or Alaska Native": (60, 5, 20, 2, 0, 1, 1, 1, 0, 0),
    "Chinese": (0, 0, 1, 0, 0, 60, 12, 0, 0, 0),
    "Japanese": (0, 0, 2, 0, 0, 40, 0, 0, 0, 0),
    "Other Asian or Pacific Islander": (0, 1, 1, 1, 1, 45, 95, 97, 4, 1),
    "Other race": (62, 20, 30, 1, 1, 0, 1, 1, 3, 1),
    "Two races": (8, 10, 8, 4, 2, 3, 6, 3, 6, 3),
    "Three or more races": (5, 8, 6, 3, 1, 4, 8, 2, 3, 3),
}
# Inside East Asia the region says too little: who of each race was born where.
_RACE_COUNTRY = {
    "Chinese": {"South Korea": 0, "Japan": 1},
    "Japanese": {"Japan": 400, "China": 0, "South Korea": 1, "Taiwan": 1, "Hong Kong": 0},
    "Other Asian or Pacific Islander": {"China": 2, "Japan": 2, "Taiwan": 3, "Hong Kong": 3},
}


def country_weights() -> Ints:
    """Weights (race, country)."""
    rows = []
    for race, (_, native) in _RACES.items():
        factor = dict(zip(list(_BORN)[1:], _RACE_REGION[race], strict=True))
        special = _RACE_COUNTRY.get(race, {})
        abroad = [
            born * special.get(country, factor.get(region, 0))
            for region, countries in _BORN.items()
            for country, born in countries.items()
        ]
        row = [(1000 - native) * weight for weight in abroad]
        row[0] = native * sum(abroad)
        rows.append(row)
    return np.array(rows, dtype=np.int64)


# Where somebody comes from, as far as school and work care.
_ORIGIN = {"United States": 0, "North and Central America": 1, "Caribbean": 1, "South America": 1}
_ASIA = ("East Asia", "South Asia", "Southeast Asia")
ORIGIN_OF_COUNTRY = np.array(
    [
        _ORIGIN.get(region, 2 if region in _ASIA else 3)
        for region, countries in REGIONS.items()
        for _ in countries
    ]
)

# Education 1 (no school) to 17 (doctorate) by age: under 20, 25, 35, 50, 65, and above.
_EDUCATION_BY_AGE = (
    (2, 2, 3, 12, 40, 110, 230, 160, 250, 25, 110, 50, 3, 1, 1, 1, 1),
    (4, 3, 6, 10, 12, 18, 28, 35, 230, 40, 130, 250, 70, 150, 10, 2, 1),
    (6, 5, 10, 12, 14, 16, 20, 25, 200, 40, 65, 150, 95, 240, 80, 20, 12),
    (8, 6, 14, 14, 14, 16, 20, 25, 235, 42, 65, 140, 100, 200, 85, 25, 16),
    (10, 8, 16, 20, 16, 20, 22, 24, 270, 36, 62, 135, 90, 170, 95, 28, 18),
    (14, 12, 20, 55, 24, 30, 28, 24, 310, 25, 55, 110, 50, 130, 75, 30, 18),
)
# Factors by origin (United States, Latin America, Asia, elsewhere) for the education
# bands of `education_band`, and by gender.
_EDUCATION_BY_ORIGIN = (
    (2, 8, 10, 10, 10, 10),
    (60, 26, 9, 5, 3, 2),
    (9, 6, 6, 6, 15, 22),
    (8, 6, 9, 8, 12, 15),
)
_EDUCATION_BY_GENDER = ((11, 11, 11, 9, 10, 10), (9, 9, 10, 11, 11, 10))

EDUCATION_BAND = np.array([0] * 4 + [1] * 4 + [2] * 2 + [3] * 3 + [4] + [5] * 3)
"""Band of each level: elementary, some high school, diploma, college, bachelor, graduate."""


def education_weights() -> Ints:
    """Weights (age band of 6, origin, gender; education)."""
    rows = [
        np.array(base) * np.array(origin)[EDUCATION_BAND] * np.array(gender)[EDUCATION_BAND]
        for base in _EDUCATION_BY_AGE
        for origin in _EDUCATION_BY_ORIGIN
        for gender in _EDUCATION_BY_GENDER
    ]
    return np.array(rows, dtype=np.int64)


# Marital status and its groups; weights by age: under 20, 25, 30, 35, 45, 55, 65, 75, and above.
MARITAL = {
    "Married": ("Married spouse present", "Married spouse absent"),
    "Formerly married": ("Separated", "Divorced", "Widowed"),
    "Single": ("Never married",),
}
_MARITAL_BY_AGE = {
    "Male": """10 4 2 1 0 983, 110 14 9 8 1 858, 350 22 17 40 1 570, 540 24 21 75 2 338,
        640 24 25 120 4 187, 690 20 24 152 11 103, 735 16 20 145 28 56, 750 15 14 105 80 36,
        690 18 8 50 205 29""",
    "Female": """24 6 4 2 0 964, 190 16 16 16 1 761, 440 20 27 65 3 445, 590 20 32 102 5 251,
        640 18 36 156 14 136, 650 14 32 194 38 72, 620 12 22 180 118 48, 500 10 14 130 305 41,
        270 8 6 60 615 41""",
}


def marital_weights() -> Ints:
    """Weights (gender, age band of 9; marital status)."""
    cells = [row.split() for gender in GENDERS for row in _MARITAL_BY_AGE[gender].split(",")]
    return np.array(cells, dtype=np.int64)


# Work class: its tree, and factors by age, education band, origin and gender.
WORKCLASSES = {
    "Employee": {
        "Private": ("Private company", "Non-profit organization", "Private household"),
        "Government": (
            "Federal government",
            "State government",
            "Local government",
            "Armed forces",
        ),
    },
    "Own account": {
        "Self-employed": ("Incorporated business", "Unincorporated business"),
        "Unpaid": ("Unpaid family work",),
    },
}
SECTOR_OF_WORKCLASS = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
"""Sector of each work class: private, government, self-employed, unpaid."""
_WORKCLASS = (660, 75, 8, 30, 45, 70, 8, 35, 65, 3)
# under 25, 45, 65, and above
_WORKCLASS_BY_AGE = (
    (13, 7, 12, 4, 9, 5, 40, 1, 2, 30),
    (11, 10, 9, 9, 10, 10, 12, 8, 8, 8),
    (9, 11, 10, 12, 11, 12, 1, 14, 13, 8),
    (7, 12, 16, 5, 8, 9, 0, 20, 24, 20),
)
_WORKCLASS_BY_EDUCATION = (
    (13, 3, 50, 1, 2, 3, 0, 4, 16, 20),
    (13, 4, 25, 3, 4, 5, 4, 6, 13, 20),
    (11, 6, 10, 9, 8, 8, 14, 9, 11, 10),
    (11, 9, 6, 11, 10, 9, 13, 9, 9, 8),
    (9, 14, 3, 13, 13, 13, 8, 13, 8, 6),
    (6, 22, 1, 14, 24, 20, 5, 14, 9, 3),
)
_WORKCLASS_BY_ORIGIN = (
    (10, 10, 6, 11, 10, 10, 11, 10, 10, 10),
    (12, 5, 40, 3, 4, 4, 4, 7, 12, 10),
    (11, 9, 9, 8, 8, 5, 5, 13, 9, 16),
    (10, 10, 14, 5, 7, 6, 3, 14, 13, 10),
)
_WORKCLASS_BY_GENDER = ((11, 6, 3, 10, 9, 8, 17, 14, 12, 6), (9, 14, 18, 9, 11, 12, 3, 6, 8, 14))


def workclass_weights() -> Ints:
    """Weights (age band of 4, education band, origin, gender; work class)."""
    rows = [
        np.array(_WORKCLASS) * age * education * origin * gender
        for age in np.array(_WORKCLASS_BY_AGE)
        for education in np.array(_WORKCLASS_BY_EDUCATION)
        for origin in np.array(_WORKCLASS_BY_ORIGIN)
        for gender in np.array(_WORKCLASS_BY_GENDER)
    ]
    return np.array(rows, dtype=np.int64)


# Occupations: weight, typical education band, per cent women, factor for the sectors
# private, government, self-employed, factor for people under 25, pay 0..20.
_OCCUPATIONS = """
    General manager|45|4|32|10 6 20|2|17
    Financial manager|22|4|54|10 6 8|2|18
    Sales manager|20|4|44|10 0 12|3|16
    Education administrator|11|5|65|5 25 2|1|14
    Accountant|34|4|61|10 9 10|3|13
    Business analyst|24|5|44|10 9 14|3|16
    Human resources specialist|16|4|72|10 10 2|3|11
    Insurance or real estate agent|24|3|55|9 1 26|3|11
    Software developer|38|4|20|11 4 6|5|17
    Systems administrator|20|3|24|10 10 4|4|13
    Engineer|36|5|13|10 9 5|3|16
    Engineering technician|16|3|18|10 9 3|6|9
    Scientist|15|5|45|8 16 3|3|14
    Physician or dentist|18|5|34|9 6 22|0|20
    Registered nurse|44|4|90|10 9 1|3|13
    Nursing aide|36|2|88|11 7 4|12|3
    Medical technician|28|3|74|11 7 1|7|8
    Therapist|14|5|74|10 9 8|3|12
    Lawyer|16|5|36|8 10 24|0|19
    Social worker|20|4|74|7 22 1|4|7
    Clergy|8|5|18|12 1 2|2|6
    Elementary school teacher|46|5|82|3 34 1|3|8
    Secondary school teacher|24|5|58|3 34 1|3|9
    University teacher|18|5|47|5 28 1|4|12
    Teaching assistant|20|3|90|5 28 0|11|2
    Artist or designer|22|4|48|7 2 26|7|8
    Journalist or editor|12|4|52|9 3 12|6|9
    Police officer|16|3|16|1 60 0|5|11
    Firefighter|8|3|5|1 60 0|6|11
    Security guard|15|2|24|12 7 1|10|4
    Chef or cook|36|1|40|13 3 5|18|1
    Waiter or bartender|34|2|68|14 0 1|40|1
    Janitor or housekeeper|44|1|50|11 7 8|8|1
    Landscaper|20|1|7|9 5 18|14|2
    Hairdresser|16|2|90|7 0 34|10|2
    Child care worker|22|2|95|8 6 22|16|0
    Cashier|38|2|73|15 1 1|44|0
    Retail salesperson|48|2|50|14 0 6|28|4
    Sales representative|30|4|28|12 0 10|5|12
    Secretary|46|2|95|10 10 2|6|5
    Bookkeeper|24|3|90|10 5 7|5|6
    Customer service representative|30|3|68|13 4 1|16|4
    Mail carrier|9|2|37|1 50 0|3|8
    Farm worker|20|0|22|9 1 26|16|0
    Carpenter|26|1|2|8 2 26|9|6
    Electrician or plumber|26|2|2|10 5 13|8|9
    Construction laborer|30|0|4|10 4 14|14|4
    Mechanic|36|2|2|11 5 9|9|7
    Production worker|54|1|34|14 1 2|9|5
    Truck driver|52|1|6|12 5 9|6|6"""
_PARSED = [
    [[int(cell) for cell in field.split()] for field in line.split("|")[1:]]
    for line in _OCCUPATIONS.strip().splitlines()
]
OCCUPATIONS = tuple(line.split("|")[0].strip() for line in _OCCUPATIONS.strip().splitlines())

_EDUCATION_DISTANCE = (100, 52, 20, 7, 2, 1)
"""How likely a job is for somebody so many education bands away from its typical one."""


def occupation_weights() -> Ints:
    """Weights (education band, gender, sector, under 25 or not; occupation)."""
    rows = []
    for band in range(6):
        for gender in range(2):
            for sector in range(4):
                for old in range(2):
                    row = []
                    for (weight,), (usual,), (women,), sectors, (entry,), _ in _PARSED:
                        share = women if gender else 100 - women
                        # family work without pay is done in shops, farms and kitchens alike
                        place = sectors[sector] if sector < 3 else entry
                        near = _EDUCATION_DISTANCE[abs(band - usual)]
                        row.append(weight * near * share * (1 + 4 * place) * (6 if old else entry))
                    rows.append(row)
    return np.array(rows, dtype=np.int64)


# Salary: a score from job, school, age, work class and gender, then a bell around it.
_PAY_BY_BAND = (0, 1, 3, 5, 9, 12)
_PAY_BY_WORKCLASS = (3, 2, 0, 5, 3, 3, 3, 6, 1, 0)
_BELL = (100, 97, 90, 79, 67, 55, 44, 35, 27, 21, 16, 12, 9, 7, 6, 5, 4, 3, 3, 2, 2, 2, 1, 1, 1)
PAY_SCORES = 49


def pay_scores() -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Score by occupation, education, age, work class, gender; their sum is below PAY_SCORES."""
    by_age = [min(9, (age - 17) // 3) if age < 65 else 4 for age in AGES.tolist()]
    return (
        np.array([pay for *_, (pay,) in _PARSED]),
        np.array(_PAY_BY_BAND)[EDUCATION_BAND],
        np.array(by_age),
        np.array(_PAY_BY_WORKCLASS),
        np.array([1, 0]),
    )


def salary_weights() -> Ints:
    """Weights (score, salary class): the middle class rises faster for high scores."""
    table = np.zeros((PAY_SCORES, len(SALARY_CLASSES)), dtype=np.int64)
    for score in range(PAY_SCORES):
        middle = 3 + score * (24 + score) // 72
        for cls in range(len(SALARY_CLASSES)):
            # wider above the middle than below it: few earn very much
            away = middle - cls if cls < middle else (cls - middle) * 3 // 4
            table[score, cls] = _BELL[away] if away < len(_BELL) else 0
    return table
