import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConvertOptions, runConvert } from './run.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'convert-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function run(
  text: string,
  given: Partial<ConvertOptions> = {},
): { code: number; out: string; err: string; file: string } {
  const path = join(folder, 'in.yaml');
  writeFileSync(path, text);
  let out = '';
  let err = '';
  const code = runConvert(
    { ...given, paths: [path] },
    {
      progress: { step: () => undefined },
      readStandardInput: () => Buffer.alloc(0),
      out: (part) => {
        out += part;
      },
      err: (line) => {
        err += `${line}\n`;
      },
    },
  );
  return { code, out, err, file: readFileSync(path, 'utf8') };
}

const KEPT = '# kept\napiVersion: v1\nkind: ConfigMap\nmetadata:   {name: c}\ndata: {mode: 0644}\n';
const BUDGET = '--- # next\napiVersion: policy/v1beta1 # old\nkind: PodDisruptionBudget\nmetadata: {name:   b}\n';
const REFUSED = '---\napiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: p}\n';

test('refused objects stay in their file, and are omitted from the output; the rest is kept byte for byte', () => {
  const made = BUDGET.replace('v1beta1', 'v1');
  expect(run(KEPT + BUDGET + REFUSED)).toMatchObject({ code: 1, out: KEPT + made });
  expect(run(KEPT + BUDGET + REFUSED, { write: true })).toMatchObject({ code: 1, file: KEPT + made + REFUSED });
});

test('the check fails for removed versions, not for deprecated ones', () => {
  const check = { check: true, targetVersion: '1.24' };
  const before = run(BUDGET, check);
  expect([before.code, before.out.includes('warning:')]).toEqual([0, true]);
  const after = run(BUDGET, { check: true, targetVersion: '1.25', output: 'json' });
  expect(after.code).toBe(1);
  expect(JSON.parse(after.out)).toMatchObject({
    targetVersion: '1.25',
    findings: [{ status: 'removed', removedIn: '1.25', replacement: { apiVersion: 'policy/v1' } }],
  });
});

const schema = (properties: string): string =>
  `schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {${properties}}}}}}`;
const definition = (strategy: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  conversion: {strategy: ${strategy}}
  versions:
  - {name: v1, served: true, storage: true, ${schema('size: {type: integer, default: 3}')}}
  - {name: v1alpha1, served: false, storage: false, ${schema('size: {type: integer, default: 1}, old: {type: string}')}}
---
`;
const widget = (spec: string): string =>
  `apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: w}\nspec: ${spec}\n`;

test('custom resources are converted by their definition: defaults, losses, validation, webhooks', () => {
  const plain = run(definition('None') + widget('{}'));
  expect([plain.code, plain.out.includes('example.com/v1\n'), plain.out.includes('size: 1')]).toEqual([0, true, true]);
  expect(run(definition('None') + widget('{old: x}')).err).toContain('spec.old has no equivalent in example.com/v1');
  const lossy = run(definition('None') + widget('{old: x, size: 2}'), { allowLoss: true });
  expect([lossy.code, lossy.err.includes('warning:'), lossy.out.includes('old: x')]).toEqual([0, true, false]);
  expect(run(definition('None') + widget('{size: many}')).err).toContain('example.com/v1 does not accept it');
  expect(run(definition('Webhook') + widget('{}')).err).toContain('uses a conversion webhook');
});
