from __future__ import annotations

import pytest

from tests.support.builders import LABEL_CONFIG
from uherding_backend.errors import LabelConfigError
from uherding_backend.label_config import SUPPORTED, LabelSchema, parse_label_config


def config(choices: str, image: str = '<Image name="image" value="$image"/>') -> str:
    return f"<View>{image}{choices}</View>"


TWO = '<Choice value="cat"/><Choice value="dog"/>'


def test_finds_the_question_wherever_it_is_nested() -> None:
    xml = f"""<View><Header value="hi"/><View><Image name="pic" value="$url"/></View>
        <View><Choices name="animal" toName="pic" choice="single-radio">{TWO}</Choices></View>
        </View>"""

    schema = parse_label_config(xml)

    assert schema == LabelSchema("animal", "pic", "url", ("cat", "dog"))


def test_the_alias_is_what_annotations_say_so_it_is_the_class() -> None:
    choices = '<Choice value="cat" alias="c"/><Choice value="dog"/>'

    schema = parse_label_config(config(f'<Choices name="a" toName="image">{choices}</Choices>'))

    assert schema.classes == ("c", "dog")


def test_classes_keep_the_order_of_the_config_and_come_once() -> None:
    choices = '<Choice value="dog"/><Choice value="cat"/><Choice value="dog"/>'

    schema = parse_label_config(config(f'<Choices name="a" toName="image">{choices}</Choices>'))

    assert schema.classes == ("dog", "cat")


def test_choices_on_something_else_are_no_obstacle() -> None:
    other = f'<Text name="text" value="$t"/><Choices name="b" toName="text">{TWO}</Choices>'

    schema = parse_label_config(config(f'{other}<Choices name="a" toName="image">{TWO}</Choices>'))

    assert schema.control == "a"


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        ("", "not readable XML"),
        ("<View>", "not readable XML"),
        (
            '<!DOCTYPE v [<!ENTITY a "aaaa">]><View>&a;</View>',
            "not readable XML",
        ),
        ("<View/>", "no <Choices> on an <Image>"),
        (config(""), "no <Choices> on an <Image>"),
        (config(f'<Choices name="a" toName="text">{TWO}</Choices>'), "no <Choices> on an <Image>"),
        (config(f'<Choices name="a" toName="image">{TWO}</Choices>' * 2), "several <Choices>"),
        (config(f'<Choices name="a" toName="image" perRegion="true">{TWO}</Choices>'), "perRegion"),
        (
            config(f'<Choices name="a" toName="image" choice="multiple">{TWO}</Choices>'),
            "several classes",
        ),
        (config('<Choices name="a" toName="image" value="$options"/>'), "from each task"),
        (
            config(
                '<Choices name="a" toName="image"><Choice value="x"><Choice value="y"/>'
                '</Choice><Choice value="z"/></Choices>'
            ),
            "tree of classes",
        ),
        (
            config('<Choices name="a" toName="image"><Choice value="cat"/></Choices>'),
            "fewer than two",
        ),
        (
            config(
                '<Choices name="a" toName="image"><Choice value="a"/><Choice value="a"/></Choices>'
            ),
            "fewer than two",
        ),
        (
            config(
                f'<Choices name="a" toName="image">{TWO}</Choices>',
                '<Image name="image" valueList="$images"/>',
            ),
            "one image per task",
        ),
        (
            config(
                f'<Choices name="a" toName="image">{TWO}</Choices>',
                '<Image name="image" value="http://x/y.png"/>',
            ),
            "one image per task",
        ),
        (
            config(
                f'<Choices name="a" toName="image">{TWO}</Choices>',
                '<Image name="image" value="$"/>',
            ),
            "one image per task",
        ),
    ],
)
def test_what_cannot_be_ranked_for_is_refused_with_the_reason_and_what_would_do(
    xml: str, reason: str
) -> None:
    with pytest.raises(LabelConfigError) as refusal:
        parse_label_config(xml)

    assert reason in str(refusal.value)
    assert SUPPORTED in str(refusal.value)


def test_the_config_of_the_other_tests_is_supported() -> None:
    assert parse_label_config(LABEL_CONFIG).classes == ("bars", "checks", "disc")
