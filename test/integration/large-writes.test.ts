import { dig, Http1, treeOf } from './client.js';
import { eventually, serverForFile } from './server.js';

const server = serverForFile([]);
const GROUP = 'large.example.com';
const PATH = `/apis/${GROUP}/v1/namespaces/default/things`;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const strings = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string', maxLength: 20 } };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        selectableFields: [{ jsonPath: '.spec.mode' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { strings, mode: { type: 'string', default: 'plain' } } },
            },
          },
        },
      },
    ],
  },
};
const thing = (count: number, more: object = {}): object => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Thing',
  metadata: { name: 'a', labels: { size: 'large' } },
  spec: { strings: Array.from({ length: count }, (_, i) => `member-${String(i)}`), ...more },
});
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const workersDid = (text: string): number =>
  Number(/^annex_large_write_duration_seconds_count (\d+)$/m.exec(text)?.[1] ?? NaN);

test('a worker processes large writes, with the same results as small ones', async () => {
  const http = new Http1(server.current);
  expect((await http.send({ method: 'POST', path: CRDS, body: definition })).status).toBe(201);
  await eventually('the type is served', async () =>
    (await http.send({ path: PATH })).status === 200 ? true : undefined,
  );
  const done = async (): Promise<number> => workersDid((await http.send({ path: '/metrics' })).text);
  const before = await done();

  // Large enough to wait until the first worker is loaded.
  const created = await http.send({ method: 'POST', path: `${PATH}?fieldManager=one`, body: thing(20_000) });
  expect(created.status).toBe(201);
  expect(dig(treeOf(created), 'spec', 'mode')).toBe('plain');
  expect(dig(treeOf(created), 'metadata', 'managedFields', 0, 'manager')).toBe('one');
  expect((await http.send({ path: `${PATH}/a` })).text).toBe(created.text);

  // Selectors match the object, though only the worker parsed it.
  for (const selector of ['labelSelector=size%3Dlarge', 'fieldSelector=spec.mode%3Dplain']) {
    const found = await http.send({ path: `${PATH}?${selector}` });
    expect(dig(treeOf(found), 'items', 0, 'metadata', 'name')).toBe('a');
  }

  const again = await http.send({ method: 'POST', path: PATH, body: thing(10_000) });
  expect([again.status, dig(treeOf(again), 'reason')]).toEqual([409, 'AlreadyExists']);
  const invalid = await http.send({
    method: 'PATCH',
    path: `${PATH}/a?fieldManager=one`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { mode: 1 } },
  });
  expect([invalid.status, dig(treeOf(invalid), 'details', 'causes', 0, 'field')]).toEqual([422, 'spec.mode']);
  const conflict = await http.send({
    method: 'PATCH',
    path: `${PATH}/a?fieldManager=two`,
    headers: APPLY,
    body: thing(1, { mode: 'other' }),
  });
  expect([conflict.status, dig(treeOf(conflict), 'message')]).toEqual([409, expect.stringContaining('.spec.mode')]);
  const deleted = await http.send({ method: 'DELETE', path: `${PATH}/a` });
  expect(deleted.status).toBe(200);
  expect((await http.send({ path: `${PATH}/a` })).status).toBe(404);
  expect((await done()) - before).toBe(5);
});

const RULED = `/apis/${GROUP}/v1/namespaces/default/ruleds`;
/** Together, these rules take a quarter of a second. */
const rules = Array.from({ length: 12 }, (_, i) => ({
  rule: `lists.range(${String(10_000 + i)}).all(x, cidr('2001:db8::/32').containsIP('2001:db8::1')) && self.size < 10`,
  message: `rule ${String(i)}`,
}));

test('a worker processes small writes whose validation rules take long', async () => {
  const http = new Http1(server.current);
  const spec = { type: 'object', properties: { size: { type: 'integer' } }, 'x-kubernetes-validations': rules };
  const names = { plural: 'ruleds', singular: 'ruled', kind: 'Ruled', listKind: 'RuledList' };
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
  const body = {
    ...definition,
    metadata: { name: `ruleds.${GROUP}` },
    spec: { ...definition.spec, names, versions },
  };
  expect((await http.send({ method: 'POST', path: CRDS, body })).status).toBe(201);
  await eventually('the type is served', async () =>
    (await http.send({ path: RULED })).status === 200 ? true : undefined,
  );
  const done = async (): Promise<number> => workersDid((await http.send({ path: '/metrics' })).text);
  const ruled = (size: number): object => ({
    apiVersion: `${GROUP}/v1`,
    kind: 'Ruled',
    metadata: { name: 'a' },
    spec: { size },
  });
  // Writes of this size do not wait until a worker is loaded.
  const idle = await done();
  await eventually('a worker is loaded', async () => {
    await http.send({ method: 'POST', path: `${RULED}?dryRun=All`, body: ruled(1) });
    return (await done()) > idle ? true : undefined;
  });
  const before = await done();
  const created = await http.send({ method: 'POST', path: RULED, body: ruled(1) });
  expect([created.status, dig(treeOf(created), 'spec', 'size')]).toEqual([201, 1]);
  const updated = await http.send({
    method: 'PUT',
    path: `${RULED}/a`,
    body: { ...ruled(2), metadata: dig(treeOf(created), 'metadata') },
  });
  expect([updated.status, dig(treeOf(updated), 'spec', 'size')]).toEqual([200, 2]);
  const refused = await http.send({
    method: 'PATCH',
    path: `${RULED}/a`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { size: 10 } },
  });
  expect(refused.status).toBe(422);
  expect(dig(treeOf(refused), 'details', 'causes', 11, 'message')).toContain('rule 11');
  expect((await done()) - before).toBe(3);
});
