import { kubernetesEnvironment } from '../kubernetes.js';

/** Returns the errors of an expression that does not compile, each after its column. */
function errors(source: string): readonly string[] {
  const { program, failure } = kubernetesEnvironment('new').compile(source);
  return program === undefined ? failure.issues.map(({ offset, message }) => `${offset + 1}: ${message}`) : [];
}

const OPERANDS =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const viable = (column: number, text: string): string =>
  `${column}: Syntax error: no viable alternative at input '${text}'`;
const mismatch = (column: number, text: string, expected: string): string =>
  `${column}: Syntax error: mismatched input '${text}' expecting ${expected}`;
const token = (column: number, text: string): string =>
  `${column}: Syntax error: token recognition error at: '${text}'`;

// Recorded from kube-apiserver.
test.each<[string, readonly string[]]>([
  ['.true', [mismatch(2, 'true', 'IDENTIFIER')]],
  ['. true', [viable(3, '. true')]],
  ['1.true', [mismatch(3, 'true', 'IDENTIFIER')]],
  ['1. true', [viable(4, '. true')]],
  ['[. null]', [viable(4, '. null')]],
  ['.?a', [viable(2, '.?')]],
  ['.?', [viable(2, '.?'), mismatch(3, '<EOF>', '{IDENTIFIER, ESC_IDENTIFIER}'), '3: unsupported ident kind']],
  ['.?true', [viable(2, '.?'), mismatch(3, 'true', '{IDENTIFIER, ESC_IDENTIFIER}'), '3: unsupported ident kind']],
  [
    '.?in',
    [
      viable(2, '.?'),
      mismatch(3, 'in', '{IDENTIFIER, ESC_IDENTIFIER}'),
      '3: unsupported ident kind',
      mismatch(5, '<EOF>', OPERANDS),
    ],
  ],
  [
    '== in . b"x" % 1',
    [mismatch(1, '==', OPERANDS), `4: Syntax error: extraneous input 'in' expecting ${OPERANDS}`, viable(9, '. b"x"')],
  ],
  ["''' a\n", [token(3, "' a\n")]],
  ['"a\tb', [token(1, '"a\tb'), mismatch(5, '<EOF>', OPERANDS)]],
])('%j', (source, expected) => {
  expect([...errors(source)].sort()).toEqual([...expected].sort());
});
