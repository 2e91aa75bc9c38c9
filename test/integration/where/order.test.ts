import { dig, digText, treeOf } from '../client.js';
import { namesOf, Stand, STORES } from './stand.js';

describe.each(STORES)('orderBy and count, %s', (store) => {
  const stand = new Stand(store);

  beforeAll(async () => {
    await stand.create('n1', 'z', { size: 1, color: 'b', port: 'http', memory: '1Gi', lasts: '2h', on: true });
    await stand.create('n1-x', 'a', { size: 1, color: 'B', port: 443, memory: '1025Mi', lasts: '30m', on: false });
    await stand.create('n2', 'b', { size: 9007199254740993n, color: '😀', memory: '0.5', ratio: -1.5 });
    await stand.create('n2', 'c', { size: -3, color: '\uffee', port: 80, memory: '-1', ratio: 2 });
    await stand.create('n2', 'd', { color: 'b\0', ratio: 0, until: '2030-01-01T00:00:00Z' });
  });

  test.each([
    ['object.metadata.name', 'a b c d z'],
    ['object.metadata.name desc', 'z d c b a'],
    ['object.metadata.name\tasc', 'a b c d z'],
    // Ties are in the order of the namespaces as strings, and then of the names; missing ones are last either way.
    ['object.spec.size', 'c z a b d'],
    ['object.spec.size desc', 'b z a c d'],
    // By code points, with the end of a string before any other character.
    ['object.spec.color', 'a z d c b'],
    ['object.spec.color desc', 'b c d z a'],
    // int before string.
    ['object.spec.port', 'c a z b d'],
    ['object.spec.port desc', 'z a c b d'],
    ['quantity(object.spec.memory)', 'c b z a d'],
    ['quantity(object.spec.memory) desc', 'a z b c d'],
    ['object.spec.lasts', 'a z b c d'],
    ['object.spec.ratio', 'b d c z a'],
    ['object.spec.ratio desc', 'c d b z a'],
    ['object.spec.until', 'd z a b c'],
    ['object.spec.on', 'a z b c d'],
    ['object.?spec.?size', 'c z a b d'],
    ['has(object.spec.port), object.spec.size desc', 'b d z a c'],
    ["object.spec.color.split(',').size(), object.metadata.name desc", 'z d c b a'],
    ['[object.metadata.namespace, "x"][0] desc, object.metadata.name desc', 'd c b a z'],
    ['object.metadata.creationTimestamp > now, object.metadata.name', 'a b c d z'],
  ])('%s', async (orderBy, names) => {
    const answer = await stand.get('boxes', { orderBy });
    expect([answer.status, namesOf(treeOf(answer)).join(' ')]).toEqual([200, names]);
    expect([answer.headers['annex-applied'], answer.headers['warning']]).toEqual(['orderBy', undefined]);
    const seen: string[] = [];
    let token = '';
    for (let page = 0; page < 9; page++) {
      const { text } = await stand.get('boxes', { orderBy, limit: '2', ...(token === '' ? {} : { continue: token }) });
      const list = JSON.parse(text) as never;
      seen.push(...namesOf(list));
      token = digText(list, 'metadata', 'continue');
      expect(dig(list, 'metadata', 'remainingItemCount')).toBe(token === '' ? undefined : 5 - seen.length);
      if (token === '') break;
    }
    expect(seen.join(' ')).toBe(names);
  });

  test.each([
    ['object.metadata.labels', 'must evaluate to'],
    ['object.spec.tags', 'but got list(string)'],
    ['null', 'must evaluate to'],
    ["b'x'", 'must evaluate to'],
    ["ip('1.2.3.4')", 'must evaluate to'],
    ['', ''],
    ['object.spec.size,', 'orderBy: key 2: is empty'],
    [',object.spec.size', 'orderBy: key 1: is empty'],
    [' ', 'orderBy: is empty'],
    ['object.spec.size DESC', 'Syntax error'],
    [Array.from({ length: 9 }, () => 'object.spec.size').join(), 'at most 8'],
    [
      'object.spec.size,\n  object.sise',
      "orderBy: key 2: compilation failed: ERROR: <input>:1:7: undefined field 'sise'",
    ],
  ])('refused: %s', async (orderBy, message) => {
    const answer = await stand.get('boxes', { orderBy });
    if (message === '') expect(answer.status).toBe(200);
    else expect([answer.status, digText(treeOf(answer), 'message')]).toEqual([400, expect.stringContaining(message)]);
  });

  test('pages are of one revision, and a token leads nowhere else', async () => {
    const orderBy = 'object.spec.size desc';
    const where = 'has(object.spec.size)';
    const first = treeOf(await stand.get('boxes', { orderBy, where, limit: '1', count: 'exact' }));
    expect([namesOf(first), dig(first, 'metadata', 'remainingItemCount')]).toEqual([['b'], 3]);
    const token = digText(first, 'metadata', 'continue');
    await stand.change('n1-x', 'a', { size: 100 });
    const rest = treeOf(await stand.get('boxes', { orderBy, where, limit: '9', continue: token }));
    expect([namesOf(rest), dig(rest, 'metadata', 'resourceVersion')]).toEqual([
      ['z', 'a', 'c'],
      dig(first, 'metadata', 'resourceVersion'),
    ]);
    await stand.change('n1-x', 'a', { size: 1 });
    for (const [collection, parameters] of [
      ['boxes', { orderBy: 'object.spec.size', where }],
      ['boxes', { orderBy }],
      ['boxes', { where }],
      ['boxes', {}],
      ['namespaces/n1/boxes', { orderBy, where }],
    ] as const) {
      const answer = await stand.get(collection, { ...parameters, continue: token });
      expect([parameters, answer.status]).toEqual([parameters, 400]);
    }
    const fields = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
    for (const forgery of [{ start: '/n1/z' }, { start: '/../n2/b' }, { at: 1 }, { sum: '' }, { sum: undefined }]) {
      const forged = Buffer.from(JSON.stringify({ ...fields, ...forgery })).toString('base64url');
      const answer = await stand.get('boxes', { orderBy, where, continue: forged });
      expect([forgery, answer.status]).toEqual([forgery, 400]);
    }
  });

  test('counts what follows, whatever is selected', async () => {
    const remaining = async (parameters: Readonly<Record<string, string>>, collection = 'boxes'): Promise<unknown> => {
      const answer = await stand.get(collection, { ...parameters, count: 'exact' });
      expect(answer.headers['annex-applied']).toContain('count');
      return dig(treeOf(answer), 'metadata', 'remainingItemCount');
    };
    expect(await remaining({ limit: '1' })).toBe(4);
    expect(await remaining({ limit: '1', where: 'has(object.spec.size)' })).toBe(3);
    expect(await remaining({ limit: '3', where: 'has(object.spec.size)' })).toBe(1);
    expect(await remaining({ limit: '4', where: 'has(object.spec.size)' })).toBeUndefined();
    expect(await remaining({ where: 'has(object.spec.size)' })).toBeUndefined();
    expect(await remaining({ limit: '1', where: 'has(object.spec.size)' }, 'namespaces/n2/boxes')).toBe(1);
    expect(await remaining({ limit: '1', labelSelector: '!team' })).toBe(4);
    expect(await remaining({ limit: '1', fieldSelector: 'metadata.namespace=n2' })).toBe(2);
    // Nothing follows, so that there is no other page.
    const last = treeOf(await stand.get('boxes', { limit: '1', where: "object.metadata.name == 'z'", count: 'exact' }));
    expect(digText(last, 'metadata', 'continue')).toBe('');
  });

  test('built-in types', async () => {
    const { http } = stand;
    for (const [name, size] of [
      ['m1', '5'],
      ['m2', '10'],
      ['m3', '9'],
    ] as const)
      await http.post('/api/v1/namespaces/n1/configmaps', { metadata: { name, labels: { app: 'x' } }, data: { size } });
    const orderBy = encodeURIComponent('int(object.data.size) desc');
    const path = `/api/v1/configmaps?labelSelector=app%3Dx&orderBy=${orderBy}&limit=2&count=exact`;
    const list = treeOf(await http.get(path));
    expect([namesOf(list), dig(list, 'metadata', 'remainingItemCount')]).toEqual([['m2', 'm3'], 1]);
  });
});
