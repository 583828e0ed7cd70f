"""Checks a document against a JSON Schema that uses only the keywords of schemas/report.schema.json."""

import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}
# Keywords that describe and do not restrict.
WORDS = {"$schema", "$defs", "title", "description", "x-unit"}


def errors(value, schema, root, where="$"):
    """Lists the violations in `value` as texts, each with its place."""
    found = []
    for keyword, rule in schema.items():
        if keyword in WORDS:
            continue
        if keyword == "$ref":
            target = root
            for step in rule.removeprefix("#/").split("/"):
                target = target[step]
            found += errors(value, target, root, where)
        elif keyword == "type":
            kinds = rule if isinstance(rule, list) else [rule]
            if not any(TYPES[kind](value) for kind in kinds):
                return [f"{where} is no {'/'.join(kinds)}"]
        elif keyword == "const":
            found += [] if value == rule else [f"{where} is not {rule}"]
        elif keyword == "enum":
            found += [] if value in rule else [f"{where} is none of {rule}"]
        elif keyword == "pattern":
            wrong = isinstance(value, str) and not re.search(rule, value)
            found += [f"{where} does not match {rule}"] if wrong else []
        elif keyword == "minLength":
            found += [f"{where} is too short"] if isinstance(value, str) and len(value) < rule else []
        elif keyword == "minimum":
            found += [f"{where} is too small"] if TYPES["number"](value) and value < rule else []
        elif keyword == "maximum":
            found += [f"{where} is too large"] if TYPES["number"](value) and value > rule else []
        elif keyword == "anyOf":
            if all(errors(value, choice, root, where) for choice in rule):
                found.append(f"{where} matches none of the allowed alternatives")
        elif keyword == "required":
            found += [f"{where} lacks {key}" for key in rule if isinstance(value, dict) and key not in value]
        elif keyword == "properties":
            for key, inner in rule.items():
                if isinstance(value, dict) and key in value:
                    found += errors(value[key], inner, root, f"{where}.{key}")
        elif keyword == "additionalProperties":
            for key in value if isinstance(value, dict) else ():
                if key not in schema.get("properties", {}):
                    if rule is False:
                        found.append(f"{where}.{key} is unknown")
                    elif isinstance(rule, dict):
                        found += errors(value[key], rule, root, f"{where}.{key}")
        elif keyword == "items":
            for at, item in enumerate(value if isinstance(value, list) else ()):
                found += errors(item, rule, root, f"{where}[{at}]")
        else:
            raise ValueError(f"the schema has the keyword {keyword}, which is not implemented here")
    return found
