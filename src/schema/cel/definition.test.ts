import { FieldPath } from '../../apimachinery/meta/field-error.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { validateRuleDefinitions } from './definition.js';

const ROOT = FieldPath.of('schema');
const HINT =
  'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';

/** Returns the errors of one rule on a spec with a few properties. */
function check(rule: JsonObject, options = {}): string[] {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { a: { type: 'integer' }, l: { type: 'array', items: { type: 'string' } } },
        'x-kubernetes-validations': [rule],
      },
    },
  };
  const { schema: fields, expressions, total } = validateRuleDefinitions(schema, ROOT, options);
  const prefix = 'schema.properties[spec].x-kubernetes-validations[0].';
  return [...fields, ...expressions, ...total].map((error) => String(error).replace(prefix, ''));
}

const value = (rule: string, message = '', expression = ''): string =>
  `{"Rule":"${rule}","Message":"${message}","MessageExpression":"${expression}","Reason":null,"FieldPath":"","OptionalOldSelf":null}`;

describe('rule definitions', () => {
  test.each<[string, JsonObject, string[]]>([
    ['fine', { rule: 'self.a == 1' }, []],
    ['blank', { rule: ' ' }, ['rule: Required value: rule is not specified']],
    [
      'unknown field',
      { rule: 'self.foo == 1' },
      [
        `rule: Invalid value: ${value('self.foo == 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'foo'\n | self.foo == 1\n | ....^`,
      ],
    ],
    [
      'not a bool',
      { rule: 'self.a' },
      [`rule: Invalid value: ${value('self.a')}: cel expression must evaluate to a bool`],
    ],
    [
      'failing constant',
      { rule: "int('x') == 1" },
      [
        `rule: Invalid value: ${value("int('x') == 1")}: program instantiation failed: type conversion error from 'string' to 'int'`,
      ],
    ],
    [
      'message of another type',
      { rule: 'self.a == 1', messageExpression: '1' },
      [
        `messageExpression: Invalid value: ${value('self.a == 1', '', '1')}: messageExpression must evaluate to a string`,
      ],
    ],
    [
      'optionalOldSelf without oldSelf',
      { rule: 'self.a == 1', optionalOldSelf: true },
      ['optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule'],
    ],
    [
      'line break without message',
      { rule: 'self.a ==\n1' },
      ['message: Required value: message must be specified if rule contains line breaks'],
    ],
    [
      'reason',
      { rule: 'self.a == 1', reason: 'Other' },
      [
        'reason: Unsupported value: "Other": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
      ],
    ],
    ['field path', { rule: 'self.a == 1', fieldPath: '.b' }, ['fieldPath: Invalid value: ".b": must be a valid path']],
    [
      'too expensive',
      { rule: 'self.l.all(x, self.l.all(y, x == y))' },
      [
        `rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (${HINT})`,
        'rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        `schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (${HINT})`,
      ],
    ],
  ])('%s', (_, rule, expected) => {
    expect(check(rule)).toEqual(expected);
  });

  test('refuses oldSelf in uncorrelatable portions of the schema', () => {
    const item: JsonObject = {
      type: 'string',
      maxLength: 5,
      'x-kubernetes-validations': [{ rule: 'self == oldSelf' }],
    };
    const schema = { type: 'object', properties: { l: { type: 'array', maxItems: 3, items: item } } };
    expect(validateRuleDefinitions(schema, ROOT).expressions.map(String)).toEqual([
      'schema.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[l]',
    ]);
  });

  test('new expressions may use only what the compatibility version has, known ones everything', () => {
    const rule = { rule: 'self.l.distinct().size() == 1' };
    expect(check(rule, { compatibility: 33 })[0]).toContain("undeclared reference to 'distinct'");
    const known = { rules: new Set([rule.rule]), messageExpressions: new Set<string>() };
    expect(check(rule, { compatibility: 33, known }).filter((text) => text.includes('undeclared'))).toEqual([]);
  });
});
