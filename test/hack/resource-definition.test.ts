import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { JsonObject } from '../../src/apimachinery/json/json.js';

const root = resolve(__dirname, '../..');
const example = join(root, 'examples/crds/wgpolicyk8s.io_policyreports.yaml');

function convert(file: string, input = ''): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(root, 'hack/resource-definition.mjs'), file], { encoding: 'utf8', input });
}

const made = (text: string): JsonObject[] =>
  parseAllDocuments(text).map((document): JsonObject => document.toJS() as JsonObject);

const crd = (name: string, over: JsonObject = {}): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: { group: 'example.com', scope: 'Cluster' },
  ...over,
});

const yaml = (...objects: JsonObject[]): string => objects.map((object) => stringify(object)).join('---\n');

describe('resource-definition', () => {
  test('keeps name, labels, annotations and the whole spec of a real definition', () => {
    const { status, stdout, stderr } = convert(example);
    expect([status, stderr]).toEqual([0, '']);
    const before = parse(readFileSync(example, 'utf8')) as { metadata: JsonObject; spec: JsonObject };
    const { name, labels, annotations } = before.metadata;
    expect(made(stdout)).toEqual([
      {
        apiVersion: 'kubeannex.io/v1',
        kind: 'ResourceDefinition',
        metadata: JSON.parse(JSON.stringify({ name, labels, annotations })) as JsonObject,
        spec: before.spec,
      },
    ]);
  });

  test('omits fields that a server set', () => {
    const metadata = {
      name: 'as.example.com',
      uid: 'u',
      resourceVersion: '7',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      managedFields: [{ manager: 'm' }],
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', mine: 'stays' },
    };
    const { stdout } = convert('-', yaml(crd('', { metadata, status: { storedVersions: ['v1'] } })));
    expect(made(stdout)).toEqual([
      {
        apiVersion: 'kubeannex.io/v1',
        kind: 'ResourceDefinition',
        metadata: { name: 'as.example.com', annotations: { mine: 'stays' } },
        spec: { group: 'example.com', scope: 'Cluster' },
      },
    ]);
  });

  test('accepts several documents and lists, and reports what it omits', () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [crd('b.example.com'), crd('c.example.com')] };
    const other = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    const { status, stdout, stderr } = convert('-', yaml(crd('a.example.com'), other, list));
    expect(status).toBe(0);
    const names = made(stdout).map(({ metadata }) => metadata);
    expect(names).toEqual([{ name: 'a.example.com' }, { name: 'b.example.com' }, { name: 'c.example.com' }]);
    expect(stderr).toBe('resource-definition: -: left out Namespace/n\n');
  });

  test('preserves integers beyond 2^53', () => {
    const spec = { group: 'example.com', maximum: 9223372036854775807n };
    const { stdout } = convert('-', stringify({ ...crd('a.example.com'), spec }));
    expect(stdout).toContain('maximum: 9223372036854775807\n');
  });

  test.each([
    ['v1beta1', yaml(crd('a', { apiVersion: 'apiextensions.k8s.io/v1beta1' })), 'only apiextensions.k8s.io/v1'],
    [
      'a file without definitions',
      yaml({ kind: 'Pod', metadata: { name: 'p' } }),
      'there is no CustomResourceDefinition',
    ],
    [
      'a definition without spec',
      'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n',
      'no spec',
    ],
    ['invalid YAML', 'a: [', 'resource-definition: -: '],
  ])('refuses %s', (_, input, message) => {
    const { status, stdout, stderr } = convert('-', input);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
  });
});
