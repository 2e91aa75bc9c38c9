import { PATIENCE_MILLIS } from '../server.js';
import { type Ended, Kubectl } from './plugin.js';
import { GROUP, Stand } from './stand.js';

/** Ages may differ by a second between two commands. */
const ageless = ({ code, out, err }: Ended): Ended => ({ code, err, out: out.replaceAll(/\b\d+m?\d*s\b/g, 'AGE') });

describe('kubectl annex', () => {
  const stand = new Stand('embedded');
  let kubectl: Kubectl;

  beforeAll(async () => {
    kubectl = new Kubectl(stand.folder, `${stand.folder}/data/admin.kubeconfig`);
    const labels = { team: 'red' };
    await stand.create(
      'n1',
      'a',
      { size: 3, color: 'red', tags: ['x', 'y'], results: [{ name: 'r', fail: 3 }] },
      { labels },
    );
    await stand.create('n1', 'b', { size: 1, color: 'blue', results: [{ name: 's' }] });
    await stand.create('n2', 'c', { size: 2 }, { labels });
  });

  test.each([
    'boxes -n n1',
    'boxes -A',
    'boxes -A -o wide',
    'box,ns -A',
    'boxes -A --no-headers',
    'boxes,cm -n n1 --no-headers',
    'boxes -A --show-labels',
    'boxes -A -L team,other',
    'boxes -A -l team=red',
    `boxes.${GROUP} -n n1 --field-selector metadata.name=a`,
    `boxes.v2.${GROUP} a b -n n1`,
    'Box a -n n1 -o json',
    'box/a ns/n1 -n n1',
    'box/a -n n1 -o yaml --show-managed-fields',
    'boxes -A -o json',
    'boxes -A -oyaml',
    'boxes -A -o=name',
    'configmaps -A -o yaml',
    'boxes -A -o jsonpath={.items[*].metadata.name}',
    'boxes -A -o jsonpath={range.items[*]}{.metadata.name}{"\\t"}{.spec.size}{"\\n"}{end}',
    'boxes -A -o jsonpath={.items[?(@.spec.size>1)].metadata.name}/{.items[0].spec.results}/{.items[-1:].metadata.labels.team}',
    'boxes -A -o jsonpath-as-json={.items[*].spec.tags}',
    'boxes -A -o custom-columns=A:.metadata.name,B:metadata.labels,C:{.spec.results[*].fail},D:.spec.tags',
    'boxes nosuch -n n1',
    'boxes nosuch -n n1 --ignore-not-found',
    'boxes -n default',
    'boxes -A -l team=none',
    'clusterroles -o wide',
    'boxes -A --as jane',
    'boxes -A --as jane --as-group system:masters',
  ])('get %s is what kubectl gets', async (line) => {
    const [mine, kubectls] = await Promise.all([
      kubectl.annex('get', ...line.split(' ')),
      kubectl.run(['get', ...line.split(' ')]),
    ]);
    expect(ageless(mine)).toEqual(ageless(kubectls));
  });

  test.each([
    [['--where', 'object.spec.size > 1'], 'box/a box/c'],
    [['--order-by', 'object.spec.size'], 'box/b box/c box/a'],
    [['--sort-by', '.spec.size', '--limit', '2'], 'box/b box/c'],
    [['--where', 'object.spec.size < 3', '--order-by', 'object.spec.size desc', '--chunk-size', '1'], 'box/c box/b'],
    [['--where', 'object.spec.size > 0', '-l', 'team=red'], 'box/a box/c'],
  ])('get with %j', async (flags, names) => {
    const { out, code } = await kubectl.annex('get', 'boxes', '-A', '-o', 'name', ...flags);
    expect([out.trim().split('\n').join(' '), code]).toEqual([names.replaceAll('box/', `box.${GROUP}/`), 0]);
  });

  test.each<[string, readonly string[], number]>([
    ['a resource that is not there', ['get', 'nosuch'], 1],
    ['a flag that is not there', ['get', 'boxes', '--nosuch'], 2],
    ['no type', ['get'], 2],
    ['an empty expression', ['get', 'boxes', '--where', ''], 2],
    ['names and an expression', ['get', 'boxes', 'a', '--where', 'true'], 2],
    ['a format that is not there', ['get', 'boxes', '-o', 'xml'], 2],
    ['a context that is not there', ['get', 'boxes', '--context', 'nosuch'], 1],
    ['a server that is not there', ['get', 'boxes', '-s', 'https://127.0.0.1:1'], 1],
  ])('%s ends with its code', async (_, args, code) => {
    const ended = await kubectl.annex(...args);
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.err).not.toBe('');
  });

  test(
    'a watch shows what begins to match and what ceases to',
    async () => {
      const args = ['annex', 'get', 'boxes', '-A', '-w', '--output-watch-events', '--where', 'object.spec.size > 1'];
      let changed: Promise<unknown> | undefined;
      const { out } = await kubectl.run(args, (text) => {
        const lines = text.trim().split('\n');
        if (lines.length === 3) {
          changed ??= stand.change('n1', 'b', { size: 5 }).then(() => stand.change('n1', 'b', { size: 1 }));
        }
        return lines.length === 5;
      });
      await changed;
      expect(out.split('\n').map((line) => line.split(/\s+/).slice(0, 3).join(' '))).toEqual([
        'EVENT NAMESPACE NAME',
        'ADDED n1 a',
        'ADDED n2 c',
        'ADDED n1 b',
        'DELETED n1 b',
        '',
      ]);
    },
    PATIENCE_MILLIS,
  );
});
