"""Label Studio's labelling interface (XML) -> the one question this backend ranks for."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from uherding_backend.errors import LabelConfigError

SUPPORTED = (
    "Supported is one <Choices> with two or more fixed <Choice> tags and one answer per image "
    '(choice="single" or "single-radio"), whose toName is an <Image value="$key">.'
)


@dataclass(frozen=True, slots=True)
class LabelSchema:
    """The question put to annotators.

    Attributes:
        control: Name of the Choices tag, ``from_name`` in results.
        image: Name of the Image tag, ``to_name`` in results.
        data_key: Key in the task's data that holds the image's address.
        classes: What annotations say, in the order of the config: the alias where there is one.
    """

    control: str
    image: str
    data_key: str
    classes: tuple[str, ...]


def parse_label_config(xml: str) -> LabelSchema:
    """The schema of a label config, or a LabelConfigError that says what is not supported."""
    root = _parse(xml)
    images = {tag.get("name", ""): tag for tag in root.iter("Image")}
    choices = [tag for tag in root.iter("Choices") if tag.get("toName") in images]
    if len(choices) != 1:
        found = "several <Choices>" if choices else "no <Choices> on an <Image>"
        raise LabelConfigError(f"This label config has {found}. {SUPPORTED}")
    control = choices[0]
    _check_control(control)
    image = images[control.get("toName", "")]
    return LabelSchema(
        control=control.get("name", ""),
        image=image.get("name", ""),
        data_key=_data_key(image),
        classes=_classes(control),
    )


def _parse(xml: str) -> Element:
    try:
        root: Element = fromstring(xml)
    except (ParseError, DefusedXmlException) as error:
        raise LabelConfigError(
            f"The label config is not readable XML: {error}. {SUPPORTED}"
        ) from error
    return root


def _check_control(control: Element) -> None:
    if control.get("perRegion", "false").lower() == "true":
        raise LabelConfigError(f"<Choices perRegion> labels regions, not images. {SUPPORTED}")
    if control.get("choice", "single").lower() == "multiple":
        raise LabelConfigError(f'<Choices choice="multiple"> gives several classes. {SUPPORTED}')
    if control.get("value"):
        raise LabelConfigError(f"<Choices value> takes its choices from each task. {SUPPORTED}")
    if any(list(choice.iter("Choice"))[1:] for choice in control.iter("Choice")):
        raise LabelConfigError(f"Nested <Choice> tags form a tree of classes. {SUPPORTED}")


def _data_key(image: Element) -> str:
    value = image.get("value", "")
    if image.get("valueList") or not value.startswith("$") or len(value) < 2:
        raise LabelConfigError(f"The <Image> does not show one image per task. {SUPPORTED}")
    return value[1:]


def _classes(control: Element) -> tuple[str, ...]:
    names = [choice.get("alias") or choice.get("value") or "" for choice in control.iter("Choice")]
    classes = tuple(dict.fromkeys(name for name in names if name))
    if len(classes) < 2:
        raise LabelConfigError(f"There are fewer than two different <Choice> tags. {SUPPORTED}")
    return classes
