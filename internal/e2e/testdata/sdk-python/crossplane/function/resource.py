"""Converts resources."""

import pydantic
from google.protobuf import json_format


class Condition(pydantic.BaseModel):
    """A condition, whose status is Unknown if the resource does not have it."""

    type: str
    status: str = "Unknown"


def struct_to_dict(struct):
    return json_format.MessageToDict(struct)


def update(resource, source):
    resource.resource.update(source)


def get_condition(struct, kind):
    for condition in struct_to_dict(struct).get("status", {}).get("conditions", []):
        if condition["type"] == kind:
            return Condition.parse_obj(condition)
    return Condition(type=kind)
