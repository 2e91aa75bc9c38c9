import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../integration/server.js';
import { describeKubectl, rows, widget, withWidgets } from './kubectl.js';

const GROUP = 'read.example.com';

describeKubectl('ktl-read', (kubectl, ns) => {
  withWidgets(kubectl, GROUP, ns);
  const COLOURS = ['red', 'green', 'blue'];

  beforeAll(async () => {
    const widgets = Array.from({ length: 7 }, (_, i) =>
      widget(
        GROUP,
        `w${i}`,
        { colour: COLOURS[i % 3], owner: `owner-${6 - i}`, replicas: i },
        { parity: i % 2 === 0 ? 'even' : 'odd' },
      ),
    );
    await kubectl().ok(['create', '-n', ns, '-f', '-'], { stdin: widgets.join('\n') });
    await kubectl().ok(['create', 'configmap', 'settings', '-n', ns, '--from-literal=a=1', '--from-literal=b=2']);
    await kubectl().ok(['create', 'secret', 'generic', 'keys', '-n', ns, '--from-literal=a=1']);
  });

  describe('discovery', () => {
    test('api-resources', async () => {
      const out = await kubectl().ok(['api-resources']);
      const [header, ...lines] = out
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().split(/\s+/));
      expect(header).toEqual(['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND']);
      expect(lines).toContainEqual(['configmaps', 'cm', 'v1', 'true', 'ConfigMap']);
      expect(lines).toContainEqual(['namespaces', 'ns', 'v1', 'false', 'Namespace']);
      expect(lines).toContainEqual(['leases', 'coordination.k8s.io/v1', 'true', 'Lease']);
      expect(lines).toContainEqual([
        'customresourcedefinitions',
        'crd,crds',
        'apiextensions.k8s.io/v1',
        'false',
        'CustomResourceDefinition',
      ]);
      expect(lines).toContainEqual(['widgets', 'wg', `${GROUP}/v1`, 'true', 'Widget']);
    });

    test('api-resources by group, wide, by name, by category', async () => {
      expect((await kubectl().ok(['api-resources', `--api-group=${GROUP}`, '-o', 'name'])).trim()).toBe(
        `widgets.${GROUP}`,
      );
      const wide = await kubectl().ok(['api-resources', `--api-group=${GROUP}`, '-o', 'wide', '--no-headers']);
      expect(wide).toContain('delete,deletecollection,get,list,patch,create,update,watch');
      expect(await kubectl().ok(['api-resources', '--categories=all', '-o', 'name'])).toContain(`widgets.${GROUP}\n`);
    });

    test('api-versions', async () => {
      const versions = (await kubectl().ok(['api-versions'])).trimEnd().split('\n');
      expect(versions).toEqual(
        expect.arrayContaining([
          'apiextensions.k8s.io/v1',
          'authentication.k8s.io/v1',
          'events.k8s.io/v1',
          `${GROUP}/v1`,
          'v1',
        ]),
      );
    });

    test('explain', async () => {
      const out = await kubectl().ok(['explain', 'widgets.spec']);
      expect(out).toMatch(new RegExp(`^GROUP: {6}${GROUP}\nKIND: {7}Widget\nVERSION: {4}v1\n\nFIELD: spec <Object>\n`));
      expect(out).toContain('What the widget shall be.');
      expect(out).toMatch(/ {2}colour\t<string> -required-\n {2}enum: red, green, blue\n {4}The colour of it\./);
      expect(await kubectl().ok(['explain', 'configmap.data'])).toContain('FIELD: data <map[string]string>');
      expect(await kubectl().ok(['explain', 'widgets'])).toMatch(
        / {2}apiVersion\t<string>\n {4}APIVersion defines the versioned/,
      );
      expect(await kubectl().ok(['explain', 'widgets.metadata'])).toMatch(
        /Standard object's metadata\.[^]* {2}creationTimestamp\t<string>\n {4}CreationTimestamp is a timestamp/,
      );
    });

    test('explain --recursive', async () => {
      const out = await kubectl().ok(['explain', `widgets.${GROUP}`, '--recursive']);
      expect(out).toContain('A widget is a thing of the tests.');
      expect(out).toMatch(
        / {2}spec\t<Object>\n {4}colour\t<string> -required-\n {4}enum: red, green, blue\n {4}owner\t<string>\n {4}parts\t<\[\]Object>\n {6}name\t<string>\n {4}replicas\t<integer>/,
      );
      expect(await kubectl().ok(['explain', 'namespaces', '--recursive'])).toMatch(
        /spec\t<NamespaceSpec>\n {4}finalizers\t<\[\]string>/,
      );
      expect(await kubectl().fails(['explain', 'widgets.spec.nothing'])).toContain('field "nothing" does not exist');
    });

    test('version and cluster-info', async () => {
      const out = JSON.parse(await kubectl().ok(['version', '-o', 'json'])) as {
        serverVersion: Record<string, string>;
      };
      expect(out.serverVersion).toMatchObject({ major: '1', minor: '37' });
      expect((await kubectl().run(['version'])).stderr).toBe('');
      // Colors are meant for terminals, but some kubectls always print them.
      const plain = (await kubectl().ok(['cluster-info'])).replaceAll(/\x1b\[[0-9;]*m/g, '');
      expect(plain).toMatch(/^Kubernetes control plane is running at https:\/\/127\.0\.0\.1:\d+\n/);
    });

    test('auth whoami', async () => {
      const out = rows(await kubectl().ok(['auth', 'whoami']));
      expect(out[0]).toEqual(['ATTRIBUTE', 'VALUE']);
      expect(out[1]?.[0]).toBe('Username');
      const groups = JSON.parse(await kubectl().ok(['auth', 'whoami', '-o', 'json'])) as {
        status: { userInfo: { groups: string[] } };
      };
      expect(groups.status.userInfo.groups).toEqual(['system:masters', 'system:authenticated']);
    });

    test('auth can-i', async () => {
      expect(await kubectl().ok(['auth', 'can-i', 'delete', 'widgets', '-n', ns])).toBe('yes\n');
      const other = await kubectl().run(['auth', 'can-i', 'get', 'secrets', '-n', ns, '--as', 'jane']);
      expect([other.code, other.stdout]).toEqual([1, 'no\n']);
      const list = rows(await kubectl().ok(['auth', 'can-i', '--list', '-n', ns, '--as', 'jane']));
      expect(list[0]).toEqual(['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs']);
      expect(list.map(([first]) => first)).toContain('selfsubjectreviews.authentication.k8s.io');
    });
  });

  describe('get', () => {
    const get = (...args: string[]): Promise<string> => kubectl().ok(['get', '-n', ns, ...args]);
    const names = (table: string): string[] => rows(table).map(([name]) => name ?? '');

    test('as a table', async () => {
      const [header, first] = rows(await get('widgets'));
      expect(header).toEqual(['NAME', 'COLOUR', 'REPLICAS', 'AGE']);
      expect(first).toEqual(['w0', 'red', '0', expect.stringMatching(/^\d+[sm]/)]);
      expect(rows(await get('configmap', 'settings'))[1]).toEqual(['settings', '2', expect.stringMatching(/^\d+[sm]/)]);
      expect(rows(await get('secrets'))[1]).toEqual(['keys', 'Opaque', '1', expect.stringMatching(/^\d+[sm]/)]);
    });

    test('wide', async () => {
      const [header, first] = rows(await get('wg', '-o', 'wide'));
      expect(header).toEqual(['NAME', 'COLOUR', 'REPLICAS', 'OWNER', 'AGE']);
      expect(first?.slice(0, 4)).toEqual(['w0', 'red', '0', 'owner-6']);
    });

    test('as YAML, JSON, names, JSONPath, custom columns, templates', async () => {
      expect(await get('widget', 'w1', '-o', 'yaml')).toMatch(
        new RegExp(`^apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata:\n`),
      );
      const tree = JSON.parse(await get('widget', 'w1', '-o', 'json')) as { spec: object };
      expect(tree.spec).toEqual({ colour: 'green', owner: 'owner-5', replicas: 1 });
      const list = JSON.parse(await get('widgets', '-o', 'json')) as { kind: string; items: object[] };
      expect([list.kind, list.items.length]).toEqual(['List', 7]);
      expect(await get('widgets', '-o', 'name')).toMatch(new RegExp(`^widget.${GROUP}/w0\n`));
      expect(await get('widgets', '-o', 'jsonpath={.items[*].spec.replicas}')).toBe('0 1 2 3 4 5 6');
      expect(await get('widget', 'w2', '-o', 'custom-columns=N:.metadata.name,C:.spec.colour')).toBe(
        'N     C\nw2    blue\n',
      );
      expect(await get('widget', 'w2', '-o', 'go-template={{.spec.colour}}')).toBe('blue');
      expect(await get('widget', 'w2', '-o', 'yaml')).not.toContain('managedFields');
      expect(await get('widget', 'w2', '-o', 'yaml', '--show-managed-fields')).toContain('manager: kubectl-create');
    });

    test('by labels', async () => {
      expect(names(await get('widgets', '-l', 'parity=odd', '--no-headers'))).toEqual(['w1', 'w3', 'w5']);
      expect(names(await get('widgets', '-l', 'parity in (even),parity!=odd', '--no-headers'))).toEqual([
        'w0',
        'w2',
        'w4',
        'w6',
      ]);
      expect(names(await get('widgets', '-l', '!parity', '--no-headers', '--ignore-not-found'))).toEqual(['']);
      expect(rows(await get('widgets', '-L', 'parity'))[0]).toContain('PARITY');
      expect(await get('widgets', '--show-labels')).toContain('parity=odd');
      expect(await kubectl().fails(['get', 'widgets', '-n', ns, '-l', 'a==b==c'])).toContain(
        `that match label selector "a==b==c", field selector "": found '==', expected: ',' or 'end of string'`,
      );
    });

    test('by fields', async () => {
      expect(names(await get('widgets', '--field-selector', 'metadata.name=w4', '--no-headers'))).toEqual(['w4']);
      expect(names(await get('widgets', '--field-selector', 'spec.colour=blue', '--no-headers'))).toEqual(['w2', 'w5']);
      expect(
        names(await get('widgets', '--field-selector', 'spec.colour!=blue,metadata.name!=w0', '--no-headers')),
      ).toEqual(['w1', 'w3', 'w4', 'w6']);
      expect(await kubectl().fails(['get', 'widgets', '-n', ns, '--field-selector', 'spec.owner=x'])).toContain(
        'field label not supported: spec.owner',
      );
    });

    test('across namespaces, in chunks, sorted', async () => {
      const all = rows(await kubectl().ok(['get', 'widgets', '-A']));
      expect(all[0]).toEqual(['NAMESPACE', 'NAME', 'COLOUR', 'REPLICAS', 'AGE']);
      expect(all).toHaveLength(8);
      const chunks = await kubectl().run(['get', 'widgets', '-n', ns, '--chunk-size=2', '-v=8', '--no-headers']);
      expect(names(chunks.stdout)).toHaveLength(7);
      expect([...chunks.stderr.matchAll(/GET.*widgets\?.*limit=2/g)].length).toBeGreaterThanOrEqual(4);
      expect(names(await get('widgets', '--sort-by=.spec.owner', '--no-headers'))).toEqual([
        'w6',
        'w5',
        'w4',
        'w3',
        'w2',
        'w1',
        'w0',
      ]);
      expect(names(await get('widgets', '--sort-by={.spec.replicas}', '--no-headers'))).toEqual([
        'w0',
        'w1',
        'w2',
        'w3',
        'w4',
        'w5',
        'w6',
      ]);
    });

    test('several at once, a category, a missing object', async () => {
      const out = await get('widget/w0', 'configmap/settings');
      expect(out).toContain(`widget.${GROUP}/w0`);
      expect(out).toContain('configmap/settings');
      expect(await get('all')).toContain(`widget.${GROUP}/w6`);
      expect(await kubectl().fails(['get', 'widget', 'absent', '-n', ns])).toBe(
        `Error from server (NotFound): widgets.${GROUP} "absent" not found\n`,
      );
      expect(await get('widget', 'absent', '--ignore-not-found')).toBe('');
      expect(await kubectl().fails(['get', 'nonsense'])).toBe(
        'error: the server doesn\'t have a resource type "nonsense"\n',
      );
      const none = await kubectl().run(['get', 'events.events.k8s.io', '-n', ns]);
      expect([none.code, none.stderr]).toEqual([0, `No resources found in ${ns} namespace.\n`]);
    });

    test('by file', async () => {
      writeFileSync(join(kubectl().home, 'one.json'), widget(GROUP, 'w3', { colour: 'red' }));
      expect(names(await get('-f', 'one.json', '--no-headers'))).toEqual(['w3']);
    });

    test('--raw', async () => {
      const tree = JSON.parse(
        await kubectl().ok(['get', '--raw', `/apis/${GROUP}/v1/namespaces/${ns}/widgets?limit=3`]),
      ) as Record<string, object>;
      expect(tree).toMatchObject({ kind: 'WidgetList', metadata: { remainingItemCount: 4 } });
      expect(await kubectl().ok(['get', '--raw', '/readyz'])).toBe('ok');
      expect(await kubectl().fails(['get', '--raw', '/nowhere'])).toBe(
        'Error from server (NotFound): the server could not find the requested resource\n',
      );
    });

    test('-w prints events as they happen', async () => {
      const watch = kubectl().start([
        'get',
        'widgets',
        '-n',
        ns,
        '-w',
        '--no-headers',
        '--output-watch-events',
        '-l',
        'watched',
      ]);
      const line = (event: string, colour: string): Promise<true> =>
        eventually(`${event} ${colour}`, () =>
          Promise.resolve(
            new RegExp(`^${event}\\s+seen\\s+${colour}\\s`, 'm').test(watch.out()) ? (true as const) : undefined,
          ),
        );
      await kubectl().ok(['create', '-n', ns, '-f', '-'], {
        stdin: widget(GROUP, 'seen', { colour: 'red' }, { watched: 'yes' }),
      });
      await line('ADDED', 'red');
      await kubectl().ok(['patch', 'widget', 'seen', '-n', ns, '--type=merge', '-p', '{"spec":{"colour":"blue"}}']);
      await line('MODIFIED', 'blue');
      await kubectl().ok(['delete', 'widget', 'seen', '-n', ns]);
      await line('DELETED', 'blue');
      watch.child.kill('SIGINT');
      await watch.result;
    });

    test('--watch-only of one object', async () => {
      const watch = kubectl().start(['get', 'configmap', 'settings', '-n', ns, '--watch-only', '-o', 'name']);
      // Only the output shows that the watch has begun, so changes are made until one is printed.
      let i = 0;
      await eventually('a change is shown', async () => {
        await kubectl().ok(['annotate', 'configmap', 'settings', '-n', ns, `turn=${i++}`, '--overwrite']);
        return watch.out().startsWith('configmap/settings\n') ? true : undefined;
      });
      watch.child.kill('SIGINT');
      await watch.result;
    });

    test('describe', async () => {
      const out = await kubectl().ok(['describe', 'widget', 'w1', '-n', ns]);
      expect(out).toMatch(/^Name: +w1\nNamespace: +ktl-read\nLabels: +parity=odd\n/);
      expect(out).toMatch(/Spec:\n {2}Colour: +green\n/);
    });
  });
});
