import fc from 'fast-check';
import {
  compileSelection,
  escapeValue,
  FieldSelector,
  metadataFieldNames,
  parseFieldSelector,
  supportedFieldNames,
} from './field-selectors.js';
import { parseLabelSelector } from './label-parser.js';
import { LabelSelector } from './labels.js';

describe('parseFieldSelector', () => {
  const good: [string, string][] = [
    ['', ''],
    ['a=b', 'a=b'],
    ['a==b,', 'a=b'],
    ['b=1,a!=2', 'a!=2,b=1'],
    ['a=', 'a='],
    ['a=x\\,y\\=z\\\\', 'a=x\\,y\\=z\\\\'],
    ['a\\,b=c', 'a\\,b=c'],
  ];
  test.each(good)('%j', (text, canonical) => {
    expect(parseFieldSelector(text).toString()).toBe(canonical);
  });
  const bad: [string, string][] = [
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['a>b', "invalid selector: 'a>b'; can't understand 'a>b'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=b\\c', 'invalid field selector: invalid escape sequence: \\c'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ];
  test.each(bad)('%j is refused', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new Error(message));
  });
  test('refuses unsupported fields', () => {
    expect(() => parseFieldSelector('data.x=1', metadataFieldNames)).toThrow(
      '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
    const names = supportedFieldNames(['metadata.name', 'spec.color']);
    expect(() => parseFieldSelector('spec.x=1', names)).toThrow('field label not supported: spec.x');
    expect(parseFieldSelector('=', names).empty).toBe(true);
    expect(parseFieldSelector('spec.color=red', names).matches({ 'spec.color': 'red' })).toBe(true);
  });
  test('an absent field is empty', () => {
    expect(parseFieldSelector('a=').matches({})).toBe(true);
    expect(parseFieldSelector('a!=').matches({})).toBe(false);
    expect(parseFieldSelector('toString=').matches({})).toBe(true);
  });
  test('any value survives escaping', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const selector = parseFieldSelector(`a=${escapeValue(value)}`);
        expect(selector.matches({ a: value })).toBe(true);
        expect(parseFieldSelector(selector.toString()).requiresExactMatch('a')).toBe(value);
      }),
    );
  });
});

describe('compileSelection', () => {
  test('empty selectors select everything', () => {
    expect(compileSelection(LabelSelector.everything, FieldSelector.everything).everything).toBe(true);
  });
  test('label and field selectors are combined', () => {
    const selection = compileSelection(
      parseLabelSelector('a=b'),
      parseFieldSelector('metadata.name=x,metadata.namespace!=y'),
    );
    expect(selection.name).toBe('x');
    expect(selection.namespace).toBeUndefined();
    expect(selection.matches({ a: 'b' }, { 'metadata.name': 'x', 'metadata.namespace': 'z' })).toBe(true);
    expect(selection.matches({ a: 'b' }, { 'metadata.name': 'x', 'metadata.namespace': 'y' })).toBe(false);
    expect(selection.matches(undefined, { 'metadata.name': 'x' })).toBe(false);
  });
  test('equal selections have equal ids, and different ones have different ids', () => {
    const id = (labels: string, fields: string): string | undefined =>
      compileSelection(parseLabelSelector(labels), parseFieldSelector(fields)).id;
    expect(id('b in (y,x),a=1', 'c=2')).toBe(id('a=1,b in (x,y)', 'c==2'));
    const labels = ['', 'a', '!a', 'a=', 'a=b', 'a!=b', 'a in (b,c)', 'a notin (b,c)', 'a>1', 'a<1', 'a=b,c=d'];
    const fields = ['', 'a=b', 'a!=b', 'a=', 'a=b,c=d', 'a=b\\,c\\=d'];
    const ids = labels.flatMap((one) => fields.map((other) => id(one, other)));
    expect(new Set(ids).size).toBe(labels.length * fields.length);
    expect(compileSelection(LabelSelector.nothing, FieldSelector.everything).id).toBe('[true,[]]');
    expect(id(`a in (${Array.from({ length: 300 }, (_, i) => `v${i}`).join(',')})`, '')).toBeUndefined();
  });
  test('label and field selectors work alone', () => {
    expect(compileSelection(parseLabelSelector('!a'), FieldSelector.everything).matches({ a: '' }, {})).toBe(false);
    expect(compileSelection(LabelSelector.everything, parseFieldSelector('a=1')).matches(undefined, { a: '1' })).toBe(
      true,
    );
  });
});
