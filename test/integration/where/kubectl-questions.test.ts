import { Kubectl } from './plugin.js';
import { GROUP, Stand } from './stand.js';

describe('kubectl annex', () => {
  const stand = new Stand('embedded');
  let kubectl: Kubectl;

  beforeAll(async () => {
    kubectl = new Kubectl(stand.folder, `${stand.folder}/data/admin.kubeconfig`);
    const labels = { team: 'red' };
    await stand.create('n1', 'a', { size: 3, results: [{ name: 'r', fail: 3 }] }, { labels });
    await stand.create('n1', 'b', { size: 1 });
    await stand.create('n2', 'c', { size: 2 }, { labels });
  });

  test.each([
    [['boxes', '-A'], '3'],
    [['boxes', '-n', 'n1'], '2'],
    [['boxes', '-n', 'default'], '0'],
    [['boxes', '-A', '--where', 'object.spec.size > 1'], '2'],
    [['boxes', '-A', '--where', 'object.spec.size > 2', '-l', 'team=red'], '1'],
    [['boxes', '-A', '--field-selector', 'metadata.name=c'], '1'],
    [['boxes,roles', '-n', 'n1'], `boxes.${GROUP}          2\nroles.rbac.authorization.k8s.io   0`],
  ])('count %j', async (args, out) => {
    expect(await kubectl.annex('count', ...args)).toEqual({ code: 0, out: `${out}\n`, err: '' });
  });

  test('a mistake in an expression is shown with a caret, and the field that was probably meant', async () => {
    const { code, err } = await kubectl.annex('get', 'boxes', '--where', 'object.spec.sise > 1');
    expect(code).toBe(1);
    expect(err.split('\n').slice(1)).toEqual([
      ' | object.spec.sise > 1',
      ' | ...........^',
      'Did you mean object.spec.size?',
      '',
    ]);
  });

  describe('delete', () => {
    beforeEach(async () => {
      for (const name of ['d', 'e']) await stand.create('n2', name, { size: 9 }).catch(() => undefined);
    });
    const left = async (): Promise<string> => (await stand.names('boxes', {})).join(' ');
    const many = ['delete', 'boxes', '-n', 'n2', '--where', 'object.spec.size == 9'];

    test.each<[string, readonly string[], number, RegExp]>([
      ['without --where', ['delete', 'boxes', '-A', '--yes'], 2, /needs --where/],
      ['with an empty --where', ['delete', 'boxes', '-A', '--yes', '--where', ''], 2, /the expression is empty/],
      ['of names', ['delete', 'boxes/d', '--yes', '--where', 'true'], 2, /for one type/],
      ['without a terminal and --yes', many, 1, /there is no terminal to ask on/],
      [
        'with a mistake',
        ['delete', 'boxes', '-A', '--yes', '--where', 'object.sice == 9'],
        1,
        /object\.spec\.size\?|undefined field/,
      ],
      [
        'of nothing',
        ['delete', 'boxes', '-n', 'n1', '--yes', '--where', 'object.spec.size == 9'],
        0,
        /Nothing to delete/,
      ],
      ['as a dry run of the client', [...many, '--dry-run=client'], 0, /SIZE/],
      ['as a dry run of the server', [...many, '--dry-run=server'], 0, /2 deleted \(server dry run\)/],
    ])('%s deletes nothing', async (_, args, code, err) => {
      expect(await kubectl.annex(...args)).toMatchObject({ code, err: expect.stringMatching(err) as string });
      expect(await left()).toBe('a b c d e');
    });

    test('shows what it deletes, and deletes just that', async () => {
      const { code, out, err } = await kubectl.annex(...many, '--yes');
      expect([code, out.trim().split('\n').sort()]).toEqual([
        0,
        ['d', 'e'].map((name) => `box.${GROUP} "${name}" deleted`),
      ]);
      expect(err).toMatch(/NAME +SIZE\nd +9\ne +9\n2 deleted\n/);
      expect(await left()).toBe('a b c');
    });

    test('what the user may not see is refused', async () => {
      const { code, err } = await kubectl.annex(...many, '--yes', '--as', 'jane');
      expect([code, err]).toEqual([1, expect.stringContaining('Forbidden')]);
      expect(await left()).toBe('a b c d e');
    });
  });

  describe('completion, by kubectl', () => {
    const completed = async (...words: readonly string[]): Promise<readonly string[]> => {
      const { out } = await kubectl.run(['__complete', 'annex', ...words]);
      return out
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0] ?? '');
    };

    test.each<[readonly string[], readonly string[]]>([
      [['wat'], ['watch', ':4']],
      [
        ['get', 'boxe'],
        [`boxes.${GROUP}`, ':4'],
      ],
      [
        ['get', 'cm,boxe'],
        [`cm,boxes.${GROUP}`, ':4'],
      ],
      [
        ['get', 'boxes', '-n', 'n1', ''],
        ['a', 'b', ':4'],
      ],
      [
        ['get', 'boxes', '-A', 'c'],
        ['c', ':4'],
      ],
      [
        ['get', '-n', 'n1', 'box/'],
        ['box/a', 'box/b', ':4'],
      ],
      [
        ['get', 'boxes', '--order'],
        ['--order-by', ':4'],
      ],
      [
        ['get', 'boxes', '-n', 'n1'],
        ['n1', 'n1-x', ':4'],
      ],
      [
        ['get', 'boxes', '--namespace=n2'],
        ['n2', ':4'],
      ],
      [
        ['get', 'boxes', '-o', 'js'],
        ['json', 'jsonpath=', 'jsonpath-as-json=', 'jsonpath-file=', ':6'],
      ],
      [
        ['get', 'boxes', '--context', ''],
        ['annex', ':4'],
      ],
      [
        ['get', 'boxes', '--where', ''],
        ['object', 'now', ':6'],
      ],
      [
        ['get', 'boxes', '--where', 'object.spec.s'],
        ['object.spec.size', ':6'],
      ],
      [
        ['get', 'boxes', '--where=object.spec.size > 0 && object.metadata.na'],
        expect.arrayContaining(['object.spec.size > 0 && object.metadata.name']) as string[],
      ],
      [
        ['count', 'boxes', '--where', 'object.spec.results.exists(r, r.f'],
        ['object.spec.results.exists(r, r.fail', ':6'],
      ],
      [
        ['get', 'boxes', '--order-by', 'object.spec.size, object.spec.da'],
        ['object.spec.size, object.spec.dashed__dash__name', ':6'],
      ],
      [
        ['get', 'boxes', '--sort-by', '.spec.col'],
        ['.spec.color', ':6'],
      ],
      [
        ['delete', 'boxes', '--cascade', 'f'],
        ['foreground', ':4'],
      ],
    ])('%j', async (words, expected) => {
      expect(await completed(...words)).toEqual(expected);
    });
  });
});
