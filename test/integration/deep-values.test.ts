import { type Answer, digText, Http1, treeOf } from './client.js';
import { DEFINITIONS } from './objects.js';
import { eventually, serverForFile } from './server.js';

/** Levels of a value in spec.any: those that the main thread handles, those that only a worker does, and nearly the most of a body. */
const DEPTHS = [100, 1000, 2000, 5000, 9990];
const SHAPES: Readonly<Record<string, (depth: number) => string>> = {
  arrays: (depth) => '['.repeat(depth) + ']'.repeat(depth),
  maps: (depth) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth),
};
const PATH = '/apis/deep.test/v1/namespaces/default/deeps';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const server = serverForFile();
let http: Http1;

const send = (method: string, path: string, body: string, type = 'application/json'): Promise<Answer> =>
  http.send({ method, path: `${PATH}${path}`, body, headers: { 'content-type': type } });
const read = (path: string, accept = 'application/json'): Promise<Answer> =>
  http.send({ path: `${PATH}${path}`, headers: { accept } });
const object = (name: string, any: string): string =>
  `{"apiVersion":"deep.test/v1","kind":"Deep","metadata":{"name":"${name}"},"spec":{"any":${any}}}`;

beforeAll(async () => {
  http = new Http1(server.current);
  const any = { 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties: { any } } } };
  const additionalPrinterColumns = [{ name: 'Any', type: 'string', jsonPath: '.spec.any' }];
  await http.post(DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'deeps.deep.test' },
    spec: {
      group: 'deep.test',
      scope: 'Namespaced',
      names: { plural: 'deeps', singular: 'deep', kind: 'Deep' },
      versions: [{ name: 'v1', served: true, storage: true, additionalPrinterColumns, schema: { openAPIV3Schema } }],
    },
  });
  await eventually('deeps are served', async () => ((await http.get(PATH)).status === 200 ? true : undefined));
});

const cases = Object.keys(SHAPES).flatMap((shape) => DEPTHS.map((depth): [string, number] => [shape, depth]));

test.each(cases)('%s of %d levels are written, with managed fields, and read in all forms', async (shape, depth) => {
  const any = SHAPES[shape]?.(depth) ?? '';
  const name = `${shape}-${depth}`;
  const writes: [string, Answer][] = [
    ['create', await send('POST', '', object(name, any))],
    [
      'merge patch of a label',
      await send('PATCH', `/${name}`, '{"metadata":{"labels":{"a":"b"}}}', 'application/merge-patch+json'),
    ],
    ['merge patch', await send('PATCH', `/${name}`, `{"spec":{"any":${any}}}`, 'application/merge-patch+json')],
    [
      'JSON patch',
      await send(
        'PATCH',
        `/${name}`,
        `[{"op":"replace","path":"/spec/any","value":${any}}]`,
        'application/json-patch+json',
      ),
    ],
    [
      'apply',
      await send('PATCH', `/${name}-a?fieldManager=m`, object(`${name}-a`, any), 'application/apply-patch+yaml'),
    ],
    [
      'apply of YAML',
      await send(
        'PATCH',
        `/${name}-y?fieldManager=m`,
        `# YAML\n${object(`${name}-y`, any)}`,
        'application/apply-patch+yaml',
      ),
    ],
    [
      'apply by another',
      await send('PATCH', `/${name}-a?fieldManager=n`, object(`${name}-a`, any), 'application/apply-patch+yaml'),
    ],
    ['create of YAML', await send('POST', '', `# YAML\n${object(`${name}-z`, any)}`, 'application/yaml')],
  ];
  for (const [what, { status, text }] of writes) {
    const outcome = status < 300 ? 'written' : text.slice(0, 300);
    expect([what, outcome, text.includes('managedFields'), text.includes(any)]).toEqual([what, 'written', true, true]);
  }
  const current = treeOf(await read(`/${name}`));
  const version = digText(current, 'metadata', 'resourceVersion');
  const next = object(name, any).replace('"metadata":{', `"metadata":{"resourceVersion":"${version}",`);
  expect((await send('PUT', `/${name}`, next)).status).toBe(200);

  const one = `?fieldSelector=metadata.name=${name}`;
  const reads: [string, Answer][] = [
    ['get', await read(`/${name}`)],
    ['Table', await read(`/${name}`, TABLE)],
    ['list', await read(one)],
    ['list as Table', await read(one, TABLE)],
    ['watch', await read(`${one}&watch=true&timeoutSeconds=1`)],
    ['watch as Table', await read(`${one}&watch=true&timeoutSeconds=1`, TABLE)],
  ];
  // The size of maps as YAML is quadratic.
  if (shape === 'arrays' || depth <= 2000) {
    reads.push(['YAML', await read(`/${name}`, 'application/yaml')]);
    reads.push(['list as YAML', await read(one, 'application/yaml')]);
  }
  for (const [what, { status, text }] of reads)
    expect([what, status, text.includes(name), text.includes('ERROR')]).toEqual([what, 200, true, false]);
  expect((await http.send({ method: 'DELETE', path: `${PATH}/${name}` })).status).toBe(200);
});

test.each(Object.keys(SHAPES))('%s beyond 10,000 levels get 400, in every format', async (shape) => {
  const any = SHAPES[shape]?.(10_001) ?? '';
  const name = `${shape}-beyond`;
  expect((await send('POST', '', object(name, '1'))).status).toBe(201);
  const answers = [
    await send('POST', '', object(`${name}-2`, any)),
    await send('PUT', `/${name}`, object(name, any)),
    await send('PATCH', `/${name}`, `{"spec":{"any":${any}}}`, 'application/merge-patch+json'),
    await send(
      'PATCH',
      `/${name}`,
      `[{"op":"replace","path":"/spec/any","value":${any}}]`,
      'application/json-patch+json',
    ),
    await send('PATCH', `/${name}?fieldManager=m`, object(name, any), 'application/apply-patch+yaml'),
    await send('POST', '', `# YAML\n${object(`${name}-3`, any)}`, 'application/yaml'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400]);
  for (const at of [0, 1, 4, 5]) expect(answers[at]?.text).toContain('exceeded max depth');
});
