import { gunzipSync } from 'node:zlib';
import { dig, digList, digText, treeOf } from '../client.js';
import { eventsOf, GROUP, namesOf, Stand, STORES } from './stand.js';

const MAPS = '/api/v1/namespaces/n1/configmaps';

describe.each(STORES)('where, %s', (store) => {
  const stand = new Stand(store);

  beforeAll(async () => {
    await stand.create(
      'n1',
      'a',
      {
        size: 1,
        ratio: 0.5,
        color: 'red',
        on: true,
        until: '2030-01-02T03:04:05Z',
        lasts: '90m',
        memory: '1Gi',
        port: 80,
        maybe: null,
        anything: { x: 1 },
        namespace: 'inner',
        'dashed-name': 7,
        tags: ['x', 'y'],
        results: [{ name: 'r', fail: 3 }],
        counts: { high: 4, 'é"\\': 5 },
        template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'inner', labels: { a: 'b' } } },
        unknown: 1,
      },
      { labels: { team: 'red', odd: 'yes' }, annotations: { 'example.com/note': 'hi' }, finalizers: ['x.y/z'] },
    );
    await stand.create(
      'n1',
      'b',
      { size: 2, ratio: 2, color: 'bläu 😀', port: 'http', maybe: 'some' },
      { labels: { team: 'red' } },
    );
    await stand.create('n2', 'c', { size: 9007199254740993n, counts: {} }, { labels: { team: 'blue' } });
    await stand.create('n2', 'd', {});
  });

  // The names that each expression selects, and how many objects it fails on.
  test.each<[string, string, number]>([
    ['true', 'a b c d', 0],
    ['object.spec.size > 1', 'b c', 1],
    ['object.spec.size == 9007199254740993', 'c', 1],
    ['has(object.spec.size) && object.spec.size < 2', 'a', 0],
    ['object.spec.ratio == 2.0', 'b', 2],
    ['object.?spec.?color.orValue("") == "bläu 😀"', 'b', 0],
    ["object.spec.until > timestamp('2029-01-01T00:00:00Z')", 'a', 3],
    ["object.spec.lasts == duration('1h30m')", 'a', 3],
    ["quantity(object.spec.memory).isGreaterThan(quantity('512Mi'))", 'a', 3],
    ['object.spec.port == 80', 'a', 2],
    ["object.spec.port == 'http'", 'b', 2],
    ['has(object.spec.maybe)', 'b', 0],
    ["object.spec.namespace == 'inner'", 'a', 3],
    ["object.spec.__namespace__ == 'inner'", 'a', 3],
    ['object.spec.dashed__dash__name == 7', 'a', 3],
    ["object.spec.tags == ['y', 'x']", 'a', 3],
    ['object.spec.results.exists(r, r.fail > 2)', 'a', 3],
    ["object.spec.counts['é\"\\\\'] == 5", 'a', 3],
    ["'high' in object.spec.counts", 'a', 2],
    ["object.spec.template.metadata.name == 'inner'", 'a', 3],
    ["object.spec.template.kind == 'Pod'", 'a', 3],
    ["object.metadata.labels.team == 'red'", 'a b', 1],
    ["object.metadata.labels['team'] == 'blue'", 'c', 1],
    ["object.metadata.?annotations['example.com/note'].orValue('') == 'hi'", 'a', 0],
    ["object.metadata.namespace == 'n2' && object.metadata.name != 'd'", 'c', 0],
    ["object.metadata.creationTimestamp > now - duration('1h')", 'a b c d', 0],
    ["object.metadata.managedFields.exists(m, m.operation == 'Update' && m.time <= now)", 'a b c d', 0],
    ["object.metadata.?finalizers.orValue([]).exists(f, f == 'x.y/z')", 'a', 0],
    ["object.kind == 'Box' && object.apiVersion == 'asking.example.com/v1'", 'a b c d', 0],
    ['object.metadata.uid.size() == 36 && object.metadata.generation == 1', 'a b c d', 0],
    ['object.spec == object.spec', 'a b c d', 0],
    ['1 / 0 == 1', '', 4],
  ])('%s', async (where, names, failed) => {
    const answer = await stand.get('boxes', { where });
    expect(answer.text).not.toContain('"Failure"');
    expect(namesOf(treeOf(answer)).join(' ')).toBe(names);
    expect(answer.headers['annex-applied']).toBe('where');
    const warning = answer.headers['warning'] ?? '';
    expect(Number(/where: failed on (\d+) objects?/.exec(warning)?.[1] ?? 0)).toBe(failed);
  });

  test('a warning names an object with its error', async () => {
    const { headers } = await stand.get('boxes', { where: 'object.spec.lasts == duration("1h")' });
    expect(headers['warning']).toBe(
      '299 - "where: failed on 3 objects, which the list leaves out: boxes/n1/b: no such key: lasts"',
    );
  });

  test.each<[string, Record<string, string>, string]>([
    ['an unknown field', { where: 'object.spec.sise > 1' }, "<input>:1:12: undefined field 'sise'"],
    ['in another line', { where: '\n  object.spec.sise > 1' }, "<input>:2:14: undefined field 'sise'"],
    ['after other characters', { where: "'😀é' != '' && object.x" }, "<input>:1:21: undefined field 'x'"],
    ['a field that is preserved', { where: 'object.spec.unknown == 1' }, "undefined field 'unknown'"],
    ['a field of any type', { where: 'object.spec.anything == 1' }, "undefined field 'anything'"],
    ['fieldsV1', { where: 'object.metadata.managedFields[0].fieldsV1 == null' }, "undefined field 'fieldsV1'"],
    ['self', { where: 'self.spec.size > 1' }, 'hint: the object is called `object` here'],
    ['another type', { where: 'object.spec.size' }, 'where: must evaluate to bool but got int'],
    ['a dynamic type', { where: 'object.spec.port' }, 'where: must evaluate to bool but got dyn'],
    ['a syntax error', { where: 'object.' }, 'Syntax error'],
    ['a constant that fails', { where: "int('x') == 1" }, 'where: '],
    ['64 KiB', { where: `true || "${'x'.repeat(65_536)}" == ""` }, 'at most 65536 bytes'],
    ['nesting', { where: `${'('.repeat(300)}true${')'.repeat(300)}` }, 'recursion limit'],
    ['another count', { count: 'all' }, 'count: may only be exact'],
    ['now in a watch', { watch: '1', where: 'object.metadata.creationTimestamp < now' }, 'hint: a watch has no time'],
    ['orderBy in a watch', { watch: '1', orderBy: 'object.spec.size' }, 'orderBy: a watch has no order'],
    ['count in a watch', { watch: '1', count: 'exact' }, 'count: a watch counts nothing'],
  ])('refused: %s', async (_name, parameters, message) => {
    const answer = await stand.get('boxes', parameters);
    expect(answer.headers['annex-applied']).toBeUndefined();
    expect([answer.status, digText(treeOf(answer), 'message')]).toEqual([400, expect.stringContaining(message)]);
  });

  test('the text of an error is that of cel-go', async () => {
    const { text } = await stand.get('boxes', { where: 'object.spec.size > "x"' });
    expect((JSON.parse(text) as { message: string }).message).toBe(
      "where: compilation failed: ERROR: <input>:1:18: found no matching overload for '_>_' applied to '(int, string)'\n" +
        ' | object.spec.size > "x"\n | .................^',
    );
  });

  test.each([
    ['GET', '/a'],
    ['PUT', '/a'],
    ['PATCH', '/a'],
    ['DELETE', '/a'],
    ['DELETE', ''],
    ['POST', ''],
    ['GET', '/a/status'],
  ])('%s boxes%s with a parameter is refused, even without a value', async (method, path) => {
    for (const query of [
      'where=true',
      'where=',
      'where',
      'orderBy=',
      'count=exact',
      'coun%74=',
      'where=%zz',
      'a=1;where=x',
    ]) {
      const answer = await stand.http.send({
        method,
        path: `/apis/${GROUP}/v1/namespaces/n1/boxes${path}?${query}`,
        body: {},
      });
      if (path !== '/a/status') expect([query, answer.status]).toEqual([query, 400]);
      else expect([400, 404]).toContain(answer.status);
    }
    expect(await stand.names('boxes', {})).toEqual(['a', 'b', 'c', 'd']);
  });

  test('without a value a parameter is as if absent, and given twice it is refused', async () => {
    const answer = await stand.http.get(`/apis/${GROUP}/v1/boxes?where=&orderBy=&count=`);
    expect([answer.status, answer.headers['annex-applied'], namesOf(treeOf(answer)).length]).toEqual([
      200,
      undefined,
      4,
    ]);
    for (const query of [
      'where=true&where=true',
      'where=&where=true',
      'count=exact&count=exact',
      'where=%zz',
      'where=a;b',
    ]) {
      expect([query, (await stand.http.get(`/apis/${GROUP}/v1/boxes?${query}`)).status]).toEqual([query, 400]);
    }
  });

  test('joins label and field selectors, which decide what a failure is', async () => {
    const answer = await stand.get('boxes', { where: 'object.spec.size < 2', labelSelector: 'team' });
    expect([namesOf(treeOf(answer)), answer.headers['warning']]).toEqual([['a'], undefined]);
    const one = await stand.get('namespaces/n2/boxes', {
      where: 'object.spec.size < 2',
      fieldSelector: 'metadata.name=d',
    });
    expect([namesOf(treeOf(one)), String(one.headers['warning'])]).toEqual([[], expect.stringContaining('1 object,')]);
    expect(await stand.names('boxes', { where: 'true', fieldSelector: 'metadata.namespace=n1' })).toEqual(['a', 'b']);
    expect(await stand.names('namespaces/n1/boxes', { where: 'true', fieldSelector: 'metadata.name!=a' })).toEqual([
      'b',
    ]);
  });

  test('pages belong to their expression, and their tokens to their list', async () => {
    const where = 'object.metadata.creationTimestamp <= now && object.metadata.name != "b"';
    const first = treeOf(await stand.get('boxes', { where, limit: '1' }));
    expect(namesOf(first)).toEqual(['a']);
    const token = digText(first, 'metadata', 'continue');
    await stand.change('n2', 'd', { color: 'new' });
    const rest = treeOf(await stand.get('boxes', { where, limit: '5', continue: token, count: 'exact' }));
    expect(namesOf(rest)).toEqual(['c', 'd']);
    expect(dig(rest, 'metadata')).toEqual({ continue: '', resourceVersion: dig(first, 'metadata', 'resourceVersion') });
    expect(dig(digList(rest, 'items')[1], 'spec', 'color')).toBeUndefined();
    for (const [collection, other] of [
      ['boxes', { where: 'true' }],
      ['boxes', {}],
      ['boxes', { where, labelSelector: 'team' }],
      ['boxes', { where, orderBy: 'object.metadata.name' }],
      ['namespaces/n1/boxes', { where }],
    ] as const) {
      const answer = await stand.get(collection, { ...other, limit: '1', continue: token });
      expect([other, answer.status]).toEqual([other, 400]);
    }
    expect((await stand.get('boxes', { where, limit: '1', continue: token }, {}, 'v2')).status).toBe(400);
    const plain = digText(treeOf(await stand.get('boxes', { limit: '1' })), 'metadata', 'continue');
    expect((await stand.get('boxes', { where, limit: '1', continue: plain })).status).toBe(400);
    const fields = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
    const forged = Buffer.from(JSON.stringify({ ...fields, now: 0 })).toString('base64url');
    expect((await stand.get('boxes', { where, continue: forged })).status).toBe(400);
  });

  test('an exact revision', async () => {
    const list = treeOf(await stand.get('boxes', {}));
    const resourceVersion = digText(list, 'metadata', 'resourceVersion');
    await stand.change('n1', 'b', { size: 200 });
    const where = 'object.spec.size > 100';
    expect(await stand.names('boxes', { where, resourceVersion, resourceVersionMatch: 'Exact' })).toEqual(['c']);
    expect(await stand.names('boxes', { where, resourceVersion, resourceVersionMatch: 'NotOlderThan' })).toEqual([
      'b',
      'c',
    ]);
    expect(await stand.names('boxes', { where, resourceVersion: '0' })).toContain('c');
    await stand.change('n1', 'b', { size: 2 });
  });

  test('every representation', async () => {
    const where = 'object.spec.size == 1';
    const table = treeOf(
      await stand.get('boxes', { where }, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }),
    );
    expect(digList(table, 'rows').map((row) => digList(row, 'cells')[0])).toEqual(['a']);
    const metadata = treeOf(
      await stand.get(
        'boxes',
        { where },
        { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
      ),
    );
    expect([metadata['kind'], namesOf(metadata)]).toEqual(['PartialObjectMetadataList', ['a']]);
    const yaml = await stand.get('boxes', { where }, { accept: 'application/yaml' });
    expect(yaml.text).toContain('name: a\n');
    const { http } = stand;
    const path = `/apis/${GROUP}/v1/boxes?where=${encodeURIComponent('object.metadata.managedFields.size() > 0')}`;
    const zipped = await http.open({ path, headers: { 'accept-encoding': 'gzip' } });
    const chunks: Buffer[] = [];
    for await (const chunk of zipped) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = zipped.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes).toString() : bytes.toString();
    expect(namesOf(JSON.parse(text) as never)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('built-in types', async () => {
    await stand.http.post(MAPS, { metadata: { name: 'm1', labels: { a: 'b' } }, data: { size: '7' } });
    await stand.http.post(MAPS, { metadata: { name: 'm2' }, data: { size: '8' }, immutable: true });
    const names = async (where: string): Promise<readonly string[]> =>
      namesOf(treeOf(await stand.http.get(`${MAPS}?where=${encodeURIComponent(where)}`)));
    expect(await names("object.data.size == '8'")).toEqual(['m2']);
    expect(await names("object.metadata.name.startsWith('m') && !has(object.immutable)")).toEqual(['m1']);
    await stand.http.post('/api/v1/namespaces/n1/services', {
      metadata: { name: 's' },
      spec: { ports: [{ port: 80, targetPort: 'web' }] },
    });
    const services = await stand.http.get(
      `/api/v1/services?where=${encodeURIComponent("object.spec.ports.exists(p, p.targetPort == 'web' && p.port == 80)")}`,
    );
    expect(namesOf(treeOf(services))).toEqual(['s']);
  });

  test('a watch shows what begins and what ceases to match', async () => {
    const resourceVersion = digText(treeOf(await stand.get('boxes', {})), 'metadata', 'resourceVersion');
    const where = 'object.spec.size >= 10';
    const watch = await stand.watch('boxes', { where, resourceVersion, allowWatchBookmarks: 'true' });
    await stand.create('n1', 'w', { size: 5 });
    for (const size of [11, 12, 3, 14]) await stand.change('n1', 'w', { size });
    await stand.http.send({ method: 'DELETE', path: `/apis/${GROUP}/v1/namespaces/n1/boxes/w` });
    const expected = ['ADDED w', 'MODIFIED w', 'DELETED w', 'ADDED w', 'DELETED w'];
    await watch.until(({ events }) => events.length >= 5);
    expect(eventsOf(watch)).toEqual(expected);
    expect(watch).toMatchObject({ headers: { 'annex-applied': 'where' } });
    const sizes = watch.events.map((event) => dig(event, 'object', 'spec', 'size'));
    expect(sizes).toEqual([11, 12, 12, 14, 14]);
    watch.end();
    // Resumed in the past, the same events come.
    const again = await stand.watch('boxes', { where, resourceVersion });
    await again.until(({ events }) => events.length >= 5);
    expect(again.events).toEqual(watch.events);
    again.end();
  });

  test('a watch begins with the objects that match', async () => {
    const where = 'has(object.spec.size) && object.spec.size < 3';
    const listed = await stand.watch('boxes', { where });
    await listed.until(({ events }) => events.length >= 2);
    expect(eventsOf(listed)).toEqual(['ADDED a', 'ADDED b']);
    listed.end();
    const streamed = await stand.watch('boxes', {
      where,
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    });
    await streamed.until(({ events }) => events.length >= 3);
    expect(eventsOf(streamed).slice(0, 2)).toEqual(['ADDED a', 'ADDED b']);
    expect(dig(streamed.events[2], 'type')).toBe('BOOKMARK');
    streamed.end();
  });
});
