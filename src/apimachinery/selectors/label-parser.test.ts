import { parseLabelSelector } from './label-parser.js';

describe('parseLabelSelector', () => {
  const good: [string, string][] = [
    ['', ''],
    ['a=b', 'a=b'],
    ['a==b', 'a==b'],
    ['a != b', 'a!=b'],
    ['b,a', 'a,b'],
    ['!a', '!a'],
    ['a in (c, b,b)', 'a in (b,c)'],
    ['a notin (b)', 'a notin (b)'],
    ['a in ()', 'a in ()'],
    ['a in (,b)', 'a in (,b)'],
    ['a in (b,)', 'a in (,b)'],
    ['a>1', 'a>1'],
    ['a<1,a>5', 'a<1,a>5'],
    ['a=', 'a='],
    ['a=,b', 'a=,b'],
    ['in', 'in'],
    ['in in (in,notin)', 'in in (in,notin)'],
    ['example.com/a=b', 'example.com/a=b'],
    ['a\0\0,,,', 'a'],
    ['a \0,,,', 'a'],
    ['a\0=\0b,c', 'a=b,c'],
  ];
  test.each(good)('%j', (text, canonical) => {
    expect(parseLabelSelector(text).toString()).toBe(canonical);
  });

  const key =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const bad: [string, string][] = [
    ['a,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a\0b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (b,=)', "unable to parse requirement: found '=', expected: ',', or identifier"],
    ['a=(', "unable to parse requirement: found '(', expected: identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${key}`],
    [
      'a>b',
      `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      'a=-b',
      'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be an empty string or consist of alphanumeric characters',
    ],
  ];
  test.each(bad)('%j is refused', (text, message) => {
    let caught: unknown;
    try {
      parseLabelSelector(text);
    } catch (error) {
      caught = error;
    }
    expect((caught as Error | undefined)?.message.slice(0, message.length)).toBe(message);
  });
});
