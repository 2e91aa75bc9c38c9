import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js';
import { tests as checking } from '@bufbuild/cel-spec/testdata/checking.js';
import { tests as comprehensions } from '@bufbuild/cel-spec/testdata/comprehension.js';
import { tests as parsing } from '@bufbuild/cel-spec/testdata/parsing.js';

/** A value of the conformance suite, in the JSON mapping of protobuf. */
export type WireValue = Readonly<Record<string, unknown>>;

export interface Vector {
  /** Suite and test. */
  readonly name: string;
  readonly expr: string;
  readonly value?: WireValue;
  readonly typedResult?: { readonly result?: WireValue; readonly deducedType?: Readonly<Record<string, unknown>> };
  readonly evalError?: unknown;
  readonly typeEnv?: readonly Readonly<Record<string, unknown>>[];
  readonly bindings?: Readonly<Record<string, { readonly value?: WireValue }>>;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly disableMacros?: boolean;
  readonly checkOnly?: boolean;
  /** The type found by the reference implementation. */
  readonly type?: string;
  readonly error?: string;
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: object; readonly type?: string; readonly error?: string }[];
}

function flatten(suite: Suite, path: string): Vector[] {
  const own = (suite.tests ?? []).map((test, i) => {
    const original = test.original as Partial<Vector>;
    const extra = {
      ...(test.type === undefined ? {} : { type: test.type }),
      ...(test.error === undefined ? {} : { error: test.error }),
    };
    return { expr: '', ...original, ...extra, name: `${path}/${original.name ?? String(i)}` };
  });
  return [
    ...own,
    ...(suite.suites ?? []).flatMap((inner) => flatten(inner, path === '' ? inner.name : `${path}/${inner.name}`)),
  ];
}

export const CONFORMANCE = flatten(conformance, '');
export const CHECKING = flatten(checking, 'checking');
export const COMPREHENSIONS = flatten(comprehensions, 'comprehensions');
export const PARSING = flatten(parsing, 'parsing');
