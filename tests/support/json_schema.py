"""The part of JSON Schema 2020-12 that docs/schemas uses, so that tests need no package for it. An
unknown keyword is an error: the schemas cannot grow a rule that would silently not be checked.
"""
import re

SILENT = {"$schema", "$id", "$defs", "title", "description", "default"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: not isinstance(v, bool)
    and (isinstance(v, int) or isinstance(v, float) and v.is_integer()),
}


def complaints(schema, value):
    """What is wrong with the value: a list of texts, empty if nothing is."""
    found = []
    _check(schema, schema, value, "", found)
    return found


def _same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _check(root, schema, value, where, found):
    if isinstance(schema, bool):
        if not schema:
            found.append(f"{where}: is not in the schema")
        return
    for keyword, rule in schema.items():
        if keyword in SILENT:
            continue
        handler = HANDLERS.get(keyword)
        if handler is None:
            raise ValueError(f"schema keyword {keyword!r} is not understood here")
        handler(root, schema, rule, value, where, found)


def _ref(root, _schema, rule, value, where, found):
    target = root
    for step in rule.removeprefix("#/").split("/"):
        target = target[step]
    _check(root, target, value, where, found)


def _type(_root, _schema, rule, value, where, found):
    allowed = rule if isinstance(rule, list) else [rule]
    if not any(TYPES[t](value) for t in allowed):
        found.append(f"{where}: {value!r} is not of type {rule}")


def _enum(_root, _schema, rule, value, where, found):
    if not any(_same(value, allowed) for allowed in rule):
        found.append(f"{where}: {value!r} is not one of {rule}")


def _any_of(root, _schema, rule, value, where, found):
    tries = []
    for option in rule:
        tries.append([])
        _check(root, option, value, where, tries[-1])
    if all(tries):
        found.append(f"{where}: fits no alternative: {min(tries, key=len)}")


def _pattern(_root, _schema, rule, value, where, found):
    if isinstance(value, str) and not re.search(rule, value):
        found.append(f"{where}: {value!r} does not match {rule}")


def _bound(wrong, text):
    def handler(_root, _schema, rule, value, where, found):
        if TYPES["number"](value) and wrong(value, rule):
            found.append(f"{where}: {value} is {text} {rule}")
    return handler


def _required(_root, _schema, rule, value, where, found):
    if isinstance(value, dict):
        found.extend(f"{where}: lacks {key!r}" for key in rule if key not in value)


def _min_properties(_root, _schema, rule, value, where, found):
    if isinstance(value, dict) and len(value) < rule:
        found.append(f"{where}: has fewer than {rule} members")


def _property_names(root, _schema, rule, value, where, found):
    if isinstance(value, dict):
        for key in value:
            _check(root, rule, key, f"{where}/{key}", found)


def _items(root, _schema, rule, value, where, found):
    if isinstance(value, list):
        for n, item in enumerate(value):
            _check(root, rule, item, f"{where}/{n}", found)


def _properties(root, _schema, rule, value, where, found):
    if isinstance(value, dict):
        for key, part in rule.items():
            if key in value:
                _check(root, part, value[key], f"{where}/{key}", found)


def _pattern_properties(root, _schema, rule, value, where, found):
    if isinstance(value, dict):
        for pattern, part in rule.items():
            for key in value:
                if re.search(pattern, str(key)):
                    _check(root, part, value[key], f"{where}/{key}", found)


def _additional(root, schema, rule, value, where, found):
    if not isinstance(value, dict):
        return
    patterns = schema.get("patternProperties", {})
    for key in value:
        known = key in schema.get("properties", {})
        if not known and not any(re.search(p, str(key)) for p in patterns):
            _check(root, rule, value[key], f"{where}/{key}", found)


HANDLERS = {
    "$ref": _ref,
    "type": _type,
    "const": lambda root, schema, rule, *rest: _enum(root, schema, [rule], *rest),
    "enum": _enum,
    "anyOf": _any_of,
    "pattern": _pattern,
    "minimum": _bound(lambda v, limit: v < limit, "below"),
    "maximum": _bound(lambda v, limit: v > limit, "above"),
    "exclusiveMinimum": _bound(lambda v, limit: v <= limit, "not above"),
    "required": _required,
    "minProperties": _min_properties,
    "propertyNames": _property_names,
    "items": _items,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
}
