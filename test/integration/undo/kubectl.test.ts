import { Kubectl } from '../where/plugin.js';
import { eventually } from '../server.js';
import { created, GROUP, pathOf, UndoStand } from './stand.js';

describe('kubectl annex', () => {
  const stand = new UndoStand('embedded');
  let kubectl: Kubectl;

  beforeAll(async () => {
    await stand.define();
    kubectl = new Kubectl(stand.folder, `${stand.folder}/data/admin.kubeconfig`);
  });

  const annex = (line: string): ReturnType<Kubectl['annex']> => kubectl.annex(...line.split(' '));
  const sizeOf = async (name: string): Promise<unknown> =>
    (created(await stand.http.get(pathOf('n1', name)))['spec'] as { size?: number }).size;

  test('history, diff and undo of an update', async () => {
    await stand.widget('n1', 'w', { size: 1 });
    await stand.patched(pathOf('n1', 'w'), { spec: { size: 2 } });
    const { code, out } = await annex('history widget/w -n n1');
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^REVISION +WHEN +WHO +HOW +CHANGED FIELDS$/);
    expect(lines[1]).toMatch(/^\d+ +\d+s ago .*\.spec\.size$/);
    expect(lines[2]).toMatch(/\(created\)$/);
    const diff = await annex('diff widget/w -n n1');
    expect(diff.code).toBe(0);
    expect(diff.out).toContain('-  size: 1\n+  size: 2\n');
    expect(diff.out).not.toContain('managedFields');
    expect(await annex('undo widget/w -n n1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--yes') as string,
    });
    expect(await sizeOf('w')).toBe(2);
    expect(await annex('undo widget/w -n n1 --yes')).toMatchObject({ code: 0, out: 'brought back: 1\n' });
    expect(await sizeOf('w')).toBe(1);
    expect((await annex('history widget/nosuch -n n1')).code).toBe(1);
    expect((await annex('undo widget/w -n n1 --to-time soon')).code).toBe(2);
    expect((await annex('undo widgets -n n1 --yes')).code).toBe(2);
  });

  test('the trash, and undelete of what is in it', async () => {
    for (const name of ['x', 'y', 'z']) await stand.widget('n1', name, { size: 1 }, { labels: { set: name } });
    for (const name of ['x', 'y', 'z']) await stand.remove(pathOf('n1', name));
    await stand.widget('n1', 'z', { size: 2 });
    const trash = await annex('get widgets -n n1 --deleted');
    expect(
      trash.out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ +/)[1]),
    ).toEqual(['NAME', 'y', 'x']);
    const plan = await annex('undelete widgets -n n1 -l set=x --dry-run');
    expect(plan).toEqual({ code: 0, out: 'would be brought back: 1\n', err: '' });
    expect((await annex('undelete widgets -n n1 -l set=x --yes')).out).toBe('brought back: 1\n');
    const json = await annex('undelete widget/y widget/z -n n1 --yes -o json');
    expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { restored: 1, conflicts: 1 }]);
    expect(await sizeOf('z')).toBe(2);
    const none = await annex('undelete widgets -n n1 --since 1h --where object.spec.size>50 --yes');
    expect(none).toMatchObject({ code: 0, out: 'would be brought back: 0\n' });
  });

  test('undelete of a definition brings its objects back', async () => {
    await eventually('the type', async () => (await stand.http.get(pathOf('n1'))).status === 200 || undefined);
    const before = (await annex('get widgets -A -o name')).out;
    expect((await kubectl.run(['delete', 'crd', `widgets.${GROUP}`])).code).toBe(0);
    expect(await annex(`undelete crd widgets.${GROUP} --yes`)).toMatchObject({ code: 0 });
    await stand.served();
    expect((await annex('get widgets -A -o name')).out).toBe(before);
  });
});
