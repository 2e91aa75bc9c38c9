"""Golden files: one line a step, what occurs several times named once above, without what follows from the rest.

    goldens.py expand FILE [REGEX of step names]     prints steps as indented JSON
    goldens.py pack FILE...                          turns recorded JSON files into golden files beside them

A file is lines of JSON. The first is {"title": ...}. Lines `["NAME", VALUE]` define what the lines below call {"$": "NAME"};
the name is a digest of the value, so that a change of one step does not rename others. Lines that are objects are steps:

- `headers` has what an answer in JSON has not; null stands for a header that is missing.
- {"!": REASON, ...} is a Status of a failure: the code is that of the step, the details are the other members. The message of an
  Invalid object follows from its causes; "*" stands for it where the order of the causes is open. A cause that is a string or a
  list [FIELD, MESSAGE] has the reason that its message begins with.
- {"+": FIELDS, ...} is an entry of managedFields.
"""
import hashlib
import json
import re
import sys
from pathlib import Path

from normalise import parts

SUFFIX = '.jsonl'
# The bytes of a reference, and of the line that defines one, beside the value.
REFERENCE, DEFINITION = 13, 12
KEY, FAILURE, FIELDS = '$', '!', '+'
HEADERS = {'Audit-Id': '<present>', 'Content-Type': 'application/json'}
UNSAID = object()
UNORDERED = '*'
REASONS = {
    'FieldValueInvalid': 'Invalid value',
    'FieldValueForbidden': 'Forbidden',
    'FieldValueRequired': 'Required value',
    'FieldValueDuplicate': 'Duplicate value',
    'FieldValueTooLong': 'Too long',
    'FieldValueNotSupported': 'Unsupported value',
    'FieldValueNotFound': 'Not found',
}


def text(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(',', ':'))


def message(details, unordered):
    """The message of a Status about an invalid object, as its causes have it; None where they do not tell."""
    try:
        found = list(dict.fromkeys(f'{cause["field"]}: {cause["message"]}' for cause in details['causes']))
        kind = '.'.join(details[key] for key in ('kind', 'group') if key in details)
        whole = f'{kind} "{details.get("name", "")}" is invalid: {found[0] if len(found) == 1 else "[" + ", ".join(found) + "]"}'
    except (KeyError, TypeError, IndexError):
        return None
    return parts(whole) if unordered else whole


def short_cause(cause):
    brief = [cause.get('field'), cause.get('message')]
    return brief if long_cause(brief) == cause else cause


def long_cause(brief):
    if not isinstance(brief, list):
        return brief
    field, said = brief
    reason = next((reason for reason, start in REASONS.items() if str(said).startswith(start)), '')
    return {'field': field, 'message': said, 'reason': reason}


def short_status(body, code):
    details = body.get('details')
    if not isinstance(details, dict) or 'message' in details or 'reason' not in body:
        return body
    brief = {FAILURE: body['reason'], **details, 'message': body.get('message')}
    if isinstance(details.get('causes'), list):
        brief['causes'] = [short_cause(cause) for cause in details['causes']]
    for unordered in (False, True):
        if brief['message'] == message(details, unordered):
            brief['message'] = UNORDERED
            if not unordered:
                del brief['message']
            break
    return brief if long_status(brief, code) == body else body


def long_status(brief, code):
    details = {key: value for key, value in brief.items() if key not in (FAILURE, 'message')}
    if 'causes' in details:
        details['causes'] = [long_cause(cause) for cause in details['causes']]
    said = brief.get('message', UNSAID)
    if said is UNSAID or said == UNORDERED:
        said = message(details, said == UNORDERED)
    return {'apiVersion': 'v1', 'code': code, 'details': details, 'kind': 'Status', 'message': said, 'metadata': {},
            'reason': brief[FAILURE], 'status': 'Failure'}


ENTRY = {'fieldsType': 'FieldsV1', 'time': '<time>', 'manager': 'oracle', 'operation': 'Update'}


def short_entry(entry):
    brief = {(FIELDS if key == 'fieldsV1' else key): value for key, value in entry.items() if ENTRY.get(key) != value}
    return brief if long_entry(brief) == entry else entry


def long_entry(brief):
    return {**ENTRY, **{('fieldsV1' if key == FIELDS else key): value for key, value in brief.items()}}


def each(value, change):
    """The value with `change` made to its objects, innermost first."""
    if isinstance(value, dict):
        return change({key: each(child, change) for key, child in value.items()})
    return [each(child, change) for child in value] if isinstance(value, list) else value


def shorten(step):
    """A step without what follows from the rest."""
    code = step.get('status')

    def change(value):
        if 'fieldsV1' in value:
            return short_entry(value)
        return short_status(value, code) if value.get('kind') == 'Status' else value

    short = each(step, change)
    headers = step.get('headers')
    if isinstance(headers, dict):
        short['headers'] = {key: headers.get(key) for key in {**HEADERS, **headers} if headers.get(key) != HEADERS.get(key)}
        if not short['headers']:
            del short['headers']
    if restore(short) != step:
        raise ValueError(f'a step cannot be shortened: {step["name"]}')
    return short


def restore(short):
    """The step that `shorten` was given."""
    code = short.get('status')

    def change(value):
        if FIELDS in value:
            return long_entry(value)
        return long_status(value, code) if FAILURE in value else value

    headers = {**HEADERS, **short.get('headers', {})}
    return {**each(short, change), 'headers': {key: value for key, value in headers.items() if value is not None}}


def subtrees(value, seen):
    """Counts the objects, lists and long strings in a value; those within a repeated one are counted once."""
    key = text(value)
    seen[key] = seen.get(key, 0) + 1
    if seen[key] > 1:
        return
    for child in children(value):
        subtrees(child, seen)


def children(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def digests(keys):
    """A name for each value, as short as keeps them apart."""
    whole = {key: hashlib.sha256(key.encode()).hexdigest() for key in keys}
    length = next(n for n in range(5, 65) if len({digest[:n] for digest in whole.values()}) == len(whole))
    return {key: digest[:length] for key, digest in whole.items()}


def pack(document):
    """The lines of a golden file."""
    seen = {}
    steps = [shorten(step) for step in document['steps']]
    for step in steps:
        for child in step.values():
            subtrees(child, seen)
    names = digests(key for key, times in seen.items() if (times - 1) * len(key) > times * REFERENCE + DEFINITION)
    defined = set()
    lines = [text({'title': document['title']})]

    def write(value):
        key = text(value)
        if key in names:
            if key not in defined:
                defined.add(key)
                lines.append(text([names[key], inner(value)]))
            return {KEY: names[key]}
        return inner(value)

    def inner(value):
        if isinstance(value, dict):
            if set(value) == {KEY}:
                raise ValueError(f'an object that looks like a reference: {value}')
            return {member: write(child) for member, child in value.items()}
        return [write(child) for child in value] if isinstance(value, list) else value

    for step in steps:
        lines.append(text(inner(step)))
    return lines


def unpack(lines):
    """The document of a golden file's lines."""
    first, *rest = (json.loads(line) for line in lines)
    values = {}

    def read(value):
        if isinstance(value, dict):
            return values[value[KEY]] if set(value) == {KEY} else {member: read(child) for member, child in value.items()}
        return [read(child) for child in value] if isinstance(value, list) else value

    steps = []
    for line in rest:
        if isinstance(line, list):
            values[line[0]] = read(line[1])
        else:
            steps.append(restore(read(line)))
    return {**first, 'steps': steps}


def write(folder, scenario, document):
    lines = pack(document)
    if unpack(lines) != document:
        raise ValueError(f'{scenario}: packed and unpacked it differs')
    path = Path(folder) / f'{scenario}{SUFFIX}'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(lines) + '\n')


def load(folder, scenario):
    """The golden of a scenario; a recorded JSON document that is not packed yet comes first."""
    recorded = Path(folder) / f'{scenario}.json'
    if recorded.exists():
        return json.loads(recorded.read_text())
    return unpack((Path(folder) / f'{scenario}{SUFFIX}').read_text().rstrip('\n').split('\n'))


def main(command, *arguments):
    if command == 'expand':
        path = Path(arguments[0])
        for step in load(path.parent, path.name.split('.')[0])['steps']:
            if re.search(arguments[1] if len(arguments) > 1 else '', step['name']):
                print(json.dumps(step, indent=1, sort_keys=True, ensure_ascii=False))
    elif command == 'pack':
        for path in map(Path, arguments):
            document = json.loads(path.read_text())
            write(path.parent, path.stem, document)
            path.unlink()
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(*(sys.argv[1:] or ['']))
