"""What methods declare about themselves, and what is refused because of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shoal
from shoal.errors import PolicyError
from shoal.methods import METHODS, default_for, get_method, methods_where
from shoal.models import FrequencyL, KAnonymity, TCloseness, UniqueDistinctL

UNREAD = "no such file, and nobody looks"
ASKED = {"qi": ["age"], "sensitive": "disease"}


@pytest.mark.parametrize(
    ("models", "readers", "name"),
    [
        ([KAnonymity(5)], False, "best"),
        ([FrequencyL(2), TCloseness.of("0.3")], False, "best"),
        ([UniqueDistinctL(2)], False, "bsgi"),
        ([KAnonymity(2), UniqueDistinctL(2)], False, "bsgi"),
        ([KAnonymity(5)], True, "butterfly"),
        ([UniqueDistinctL(2)], True, "butterfly"),  # which says that it cannot
    ],
)
def test_the_method_where_none_is_named(models, readers, name):
    assert default_for(models, readers) == name


def test_the_registry_imports_no_method():
    script = "import sys, shoal.methods; assert 'shoal.methods.base' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize("name", METHODS)
def test_declarations_agree_with_the_registry(name):
    method = get_method(name)
    assert method.name == name
    assert method.baseline == METHODS[name].startswith("shoal.methods.papers.")
    assert method.recodings
    assert method.options() == method.parse_options({})  # everything has a default
    if method.stand_in is not None:
        assert get_method(method.stand_in).stand_in is None
    if method.inner_option is not None:
        assert method.inner(method.options()).works_inside


@pytest.mark.parametrize("name", METHODS)
def test_models_about_all_groups_are_promised_by_few(name):
    able = get_method(name).refusal([UniqueDistinctL(2)]) is None
    assert able == (name in {"anatomy", "bsgi"})


def test_what_is_known_from_the_policy_is_refused_before_data_is_read():
    def refused(words, **settings):
        with pytest.raises(PolicyError, match=words):
            shoal.anonymize(UNREAD, **{**ASKED, **settings}, rest="plain")

    larger = "method attributes: with a person column, expected models that larger classes keep"
    refused(larger, method="attributes", l=2, person="who")
    refused(larger.replace("attributes", "incognito"), method="incognito", l=2, person="who")
    one = "method anatomy: expected one sensitive column and no person column"
    refused(one, method="anatomy", l=2, person="who")
    refused(one, method="anatomy", l=2, sensitive=["disease", "income"])
    refused("expected recoding suppress; got generalise", method="attributes", k=2,
            recoding="generalise")  # fmt: skip
    unique = r"method mondrian: cannot promise l = 2 \(unique distinct\); anatomy and bsgi can"
    refused(unique, method="mondrian", l=2, l_reading="unique")
    refused("takes no effort; best and butterfly do", method="mondrian", k=2, effort="fast")
    refused("inner = attributes: expected recoding suppress", method="union", k=2,
            option={"inner": "attributes"})  # fmt: skip
    refused("refine = incognito: with a person column", method="tp+", l=2, person="who",
            option={"refine": "incognito"})  # fmt: skip


def test_options_that_name_a_method_list_those_that_can_serve():
    for method, option, unable in (
        ("union", "inner", "butterfly"), ("butterfly", "inner", "bsgi"), ("tp+", "refine", "tp"),
    ):  # fmt: skip
        with pytest.raises(PolicyError, match=rf"option '{option}'.*expected one of") as error:
            shoal.anonymize(
                UNREAD, **ASKED, l=2, method=method, option={option: unable}, rest="plain"
            )
        listed = str(error.value).split("expected one of ")[1].split(";")[0].split(", ")
        trait = {"union": "works_inside", "butterfly": "takes_parts", "tp+": "refines"}[method]
        assert listed == sorted(methods_where(lambda m, trait=trait: getattr(m, trait)))
        assert unable not in listed


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(PolicyError, match=r"option 'fats' of method hilbert: .*fast, frontier"):
        get_method("hilbert").parse_options({"fats": True})
