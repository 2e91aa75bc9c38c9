import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../integration/server.js';
import { describeKubectl, widget, widgetDefinition, withWidgets } from './kubectl.js';

const GROUP = 'write.example.com';

describeKubectl('ktl-write', (kubectl, ns) => {
  withWidgets(kubectl, GROUP, ns);
  const ok = (args: string[], stdin?: string): Promise<string> =>
    kubectl().ok([...args, '-n', ns], stdin === undefined ? {} : { stdin });
  const fails = (args: string[], stdin?: string): Promise<string> =>
    kubectl().fails([...args, '-n', ns], stdin === undefined ? {} : { stdin });
  const field = (what: string, path: string): Promise<string> => ok(['get', what, '-o', `jsonpath={${path}}`]);
  const make = (name: string, spec: object = { colour: 'red' }, labels?: object): Promise<string> =>
    ok(['create', '-f', '-'], widget(GROUP, name, spec, labels));
  const exists = async (what: string): Promise<boolean> =>
    (await ok(['get', what, '--ignore-not-found', '-o', 'name'])) !== '';
  const W = `widget.${GROUP}`;

  test('create', async () => {
    expect(await make('made')).toBe(`${W}/made created\n`);
    expect(await fails(['create', '-f', '-'], widget(GROUP, 'made', { colour: 'red' }))).toBe(
      `Error from server (AlreadyExists): error when creating "STDIN": widgets.${GROUP} "made" already exists\n`,
    );
    expect(await field('widget/made', '.spec.replicas')).toBe('1');
    expect(await ok(['create', 'configmap', 'lit', '--from-literal=k=v'])).toBe('configmap/lit created\n');
    expect(await ok(['create', 'serviceaccount', 'robot'])).toBe('serviceaccount/robot created\n');
    expect(await ok(['create', '-f', '-', '--dry-run=server'], widget(GROUP, 'dry', { colour: 'red' }))).toBe(
      `${W}/dry created (server dry run)\n`,
    );
    expect(await exists('widget/dry')).toBe(false);
  });

  test('create refuses an invalid object with all causes', async () => {
    const error = await fails(['create', '-f', '-'], widget(GROUP, 'bad', { colour: 'pink', replicas: -1 }));
    expect(error).toContain(`The Widget "bad" is invalid: \n`);
    expect(error).toContain('* spec.colour: Unsupported value: "pink": supported values: "red", "green", "blue"\n');
    expect(error).toContain(
      '* spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0\n',
    );
    const unknown = await fails(['create', '-f', '-'], widget(GROUP, 'bad', { colour: 'red', shape: 'round' }));
    expect(unknown).toContain('strict decoding error: unknown field "spec.shape"');
    const warned = await kubectl().run(['create', '-n', ns, '-f', '-', '--validate=warn'], {
      stdin: widget(GROUP, 'warned', { colour: 'red', shape: 'round' }),
    });
    expect([warned.code, warned.stderr]).toEqual([0, 'Warning: unknown field "spec.shape"\n']);
    expect(await field('widget/warned', '.spec.shape')).toBe('');
  });

  test('client-side apply', async () => {
    expect(await ok(['apply', '-f', '-'], widget(GROUP, 'applied', { colour: 'red', owner: 'me' }))).toBe(
      `${W}/applied created\n`,
    );
    expect(await ok(['apply', '-f', '-'], widget(GROUP, 'applied', { colour: 'red', owner: 'me' }))).toBe(
      `${W}/applied unchanged\n`,
    );
    expect(await ok(['apply', '-f', '-'], widget(GROUP, 'applied', { colour: 'blue' }))).toBe(
      `${W}/applied configured\n`,
    );
    expect([await field('widget/applied', '.spec.colour'), await field('widget/applied', '.spec.owner')]).toEqual([
      'blue',
      '',
    ]);
    const map = (data: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: strategic}\ndata: ${data}\n`;
    expect(await ok(['apply', '-f', '-'], map('{a: "1", b: "2"}'))).toBe('configmap/strategic created\n');
    expect(await ok(['apply', '-f', '-'], map('{a: "3"}'))).toBe('configmap/strategic configured\n');
    expect(await field('configmap/strategic', '.data')).toBe('{"a":"3"}');
    expect(await ok(['apply', 'view-last-applied', 'configmap/strategic'])).toContain('a: "3"');
  });

  test('apply --prune', async () => {
    const map = (name: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {set: one}}\n---\n`;
    await ok(['apply', '-f', '-'], map('pa') + map('pb'));
    const out = await ok(
      ['apply', '--prune', '-l', 'set=one', '--prune-allowlist=core/v1/ConfigMap', '-f', '-'],
      map('pa'),
    );
    expect(out).toContain('configmap/pb pruned\n');
    expect(await exists('configmap/pb')).toBe(false);
  });

  test('a move from apply to apply --server-side has no conflict and removes omitted fields', async () => {
    expect(await ok(['apply', '-f', '-'], widget(GROUP, 'moved', { colour: 'red', replicas: 2 }))).toContain('created');
    const moved = await ok(['apply', '--server-side', '-f', '-'], widget(GROUP, 'moved', { colour: 'blue' }));
    expect(moved).toBe(`${W}/moved serverside-applied\n`);
    expect([await field('widget/moved', '.spec.colour'), await field('widget/moved', '.spec.replicas')]).toEqual([
      'blue',
      '1',
    ]);
  });

  test('apply --server-side', async () => {
    const run = (spec: object, ...more: string[]): Promise<string> =>
      ok(['apply', '--server-side', '-f', '-', ...more], widget(GROUP, 'ssa', spec));
    expect(await run({ colour: 'red', replicas: 2 })).toBe(`${W}/ssa serverside-applied\n`);
    const error = await fails(
      ['apply', '--server-side', '--field-manager=other', '-f', '-'],
      widget(GROUP, 'ssa', { colour: 'green' }),
    );
    expect(error).toContain('error: Apply failed with 1 conflict: conflict with "kubectl": .spec.colour\n');
    expect(await run({ colour: 'green' }, '--field-manager=other', '--force-conflicts')).toBe(
      `${W}/ssa serverside-applied\n`,
    );
    expect([await field('widget/ssa', '.spec.colour'), await field('widget/ssa', '.spec.replicas')]).toEqual([
      'green',
      '2',
    ]);
    await run({ colour: 'green' });
    expect(await field('widget/ssa', '.spec.replicas')).toBe('1');
    const managers = await ok([
      'get',
      'widget/ssa',
      '--show-managed-fields',
      '-o',
      'jsonpath={.metadata.managedFields[*].manager}',
    ]);
    expect(managers.split(' ').sort()).toEqual(['kubectl', 'other']);
  });

  test('replace', async () => {
    await make('replaced', { colour: 'red', owner: 'x' });
    expect(await ok(['replace', '-f', '-'], widget(GROUP, 'replaced', { colour: 'blue' }))).toBe(
      `${W}/replaced replaced\n`,
    );
    expect([await field('widget/replaced', '.spec.colour'), await field('widget/replaced', '.spec.owner')]).toEqual([
      'blue',
      '',
    ]);
    const stale = JSON.stringify({
      apiVersion: `${GROUP}/v1`,
      kind: 'Widget',
      metadata: { name: 'replaced', resourceVersion: '1' },
      spec: { colour: 'red' },
    });
    expect(await fails(['replace', '-f', '-'], stale)).toContain(
      'the object has been modified; please apply your changes to the latest version and try again',
    );
    const uid = await field('widget/replaced', '.metadata.uid');
    await ok(['replace', '--force', '-f', '-'], widget(GROUP, 'replaced', { colour: 'green' }));
    expect(await field('widget/replaced', '.metadata.uid')).not.toBe(uid);
  });

  test('edit', async () => {
    await make('edited', { colour: 'red' });
    const editor = join(kubectl().home, 'editor.sh');
    writeFileSync(editor, '#!/bin/sh\nsed -i.bak "s/colour: red/colour: $COLOUR/" "$1"\n');
    chmodSync(editor, 0o755);
    const edit = (colour: string): Promise<{ code: number | null; stdout: string; stderr: string }> =>
      kubectl().run(['edit', 'widget', 'edited', '-n', ns], {
        env: { EDITOR: editor, KUBE_EDITOR: editor, COLOUR: colour },
      });
    expect((await edit('green')).stdout).toBe(`${W}/edited edited\n`);
    expect(await field('widget/edited', '.spec.colour')).toBe('green');
    expect((await edit('blue')).stdout + (await edit('blue')).stderr).toContain('no changes made');
    await ok(['patch', 'widget', 'edited', '--type=merge', '-p', '{"spec":{"colour":"red"}}']);
    const refused = await edit('pink');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(new RegExp(`^error: widgets.${GROUP} "edited" is invalid\n`));
    expect(await field('widget/edited', '.spec.colour')).toBe('red');
  });

  test('patch: merge, JSON, strategic, subresource', async () => {
    await make('patched', { colour: 'red', owner: 'x', parts: [{ name: 'a' }] });
    const patch = (type: string, text: string, ...more: string[]): Promise<string> =>
      ok(['patch', 'widget', 'patched', `--type=${type}`, '-p', text, ...more]);
    expect(await patch('merge', '{"spec":{"colour":"green","owner":null}}')).toBe(`${W}/patched patched\n`);
    expect(await patch('merge', '{"spec":{"colour":"green"}}')).toBe(`${W}/patched patched (no change)\n`);
    expect(
      await patch(
        'json',
        '[{"op":"add","path":"/spec/parts/-","value":{"name":"b"}},{"op":"test","path":"/spec/colour","value":"green"}]',
      ),
    ).toBe(`${W}/patched patched\n`);
    expect(await field('widget/patched', '.spec')).toBe(
      '{"colour":"green","parts":[{"name":"a"},{"name":"b"}],"replicas":1}',
    );
    const status = '{"status":{"replicas":1,"conditions":[{"type":"Ready","status":"True"}]}}';
    expect(await patch('merge', status, '--subresource=status')).toBe(`${W}/patched patched\n`);
    expect(await field('widget/patched', '.status.conditions[0].type')).toBe('Ready');
    expect(
      await fails([
        'patch',
        'widget',
        'patched',
        '--type=json',
        '-p',
        '[{"op":"test","path":"/spec/colour","value":"red"}]',
      ]),
    ).toContain('The request is invalid');
    expect(await fails(['patch', 'widget', 'patched', '--type=strategic', '-p', '{}'])).toContain(
      `application/strategic-merge-patch+json is not supported by ${GROUP}/v1, Kind=Widget: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml`,
    );
    await ok(['create', 'configmap', 'strat', '--from-literal=a=1']);
    expect(await ok(['patch', 'configmap', 'strat', '-p', '{"data":{"b":"2"}}'])).toBe('configmap/strat patched\n');
    expect(await field('configmap/strat', '.data')).toBe('{"a":"1","b":"2"}');
  });

  test('label and annotate', async () => {
    await make('marked');
    expect(await ok(['label', 'widget', 'marked', 'tier=front'])).toBe(`${W}/marked labeled\n`);
    expect(await fails(['label', 'widget', 'marked', 'tier=back'])).toContain(
      "'tier' already has a value (front), and --overwrite is false",
    );
    expect(await ok(['label', 'widget', 'marked', 'tier=back', '--overwrite'])).toBe(`${W}/marked labeled\n`);
    expect(await ok(['label', 'widgets', '-l', 'tier=back', 'found=yes'])).toBe(`${W}/marked labeled\n`);
    expect(await ok(['label', 'widget', 'marked', 'tier-'])).toBe(`${W}/marked unlabeled\n`);
    expect(await field('widget/marked', '.metadata.labels')).toBe('{"found":"yes"}');
    expect(await ok(['annotate', 'widget', 'marked', 'note=hello there'])).toBe(`${W}/marked annotated\n`);
    expect(await field('widget/marked', '.metadata.annotations.note')).toBe('hello there');
    expect(await ok(['annotate', 'widget', 'marked', 'note-'])).toBe(`${W}/marked annotated\n`);
    expect(await fails(['label', 'widget', 'marked', 'a=not a value'])).toContain(
      'a valid label must be an empty string or consist of',
    );
  });

  test('scale', async () => {
    await make('scaled', { colour: 'red', replicas: 1 });
    expect(await ok(['scale', 'widget', 'scaled', '--replicas=4'])).toBe(`${W}/scaled scaled\n`);
    expect(await field('widget/scaled', '.spec.replicas')).toBe('4');
    expect(
      await ok(['get', 'widget', 'scaled', '--subresource=scale', '-o', 'jsonpath={.kind} {.spec.replicas}']),
    ).toBe('Scale 4');
    expect(await fails(['scale', 'widget', 'scaled', '--current-replicas=2', '--replicas=5'])).toContain(
      'Expected replicas to be 2, was 4',
    );
    expect(await fails(['scale', 'widget', 'scaled', '--replicas=-1'])).toContain('--replicas=COUNT flag is required');
  });

  test('wait', async () => {
    await make('awaited');
    const waiting = kubectl().start(['wait', 'widget/awaited', '-n', ns, '--for=condition=Ready', '--timeout=100s']);
    await ok([
      'patch',
      'widget',
      'awaited',
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}',
    ]);
    expect((await waiting.result).stdout).toBe(`${W}/awaited condition met\n`);
    expect(await ok(['wait', 'widget/awaited', '--for=jsonpath={.spec.colour}=red', '--timeout=100s'])).toBe(
      `${W}/awaited condition met\n`,
    );
    expect(await fails(['wait', 'widget/awaited', '--for=condition=Never', '--timeout=1s'])).toContain(
      'timed out waiting for the condition on widgets/awaited',
    );
    const deletion = kubectl().start(['wait', 'widget/awaited', '-n', ns, '--for=delete', '--timeout=100s']);
    await ok(['delete', 'widget', 'awaited']);
    expect((await deletion.result).code).toBe(0);
    expect(await ok(['create', 'configmap', 'there'])).toBe('configmap/there created\n');
    expect(await ok(['wait', 'configmap/there', '--for=create', '--timeout=100s'])).toBe(
      'configmap/there condition met\n',
    );
  });

  test('diff', async () => {
    await ok(['apply', '-f', '-'], widget(GROUP, 'compared', { colour: 'red' }));
    expect(
      (await kubectl().run(['diff', '-n', ns, '-f', '-'], { stdin: widget(GROUP, 'compared', { colour: 'red' }) }))
        .code,
    ).toBe(0);
    const changed = await kubectl().run(['diff', '-n', ns, '-f', '-'], {
      stdin: widget(GROUP, 'compared', { colour: 'blue' }),
    });
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(/^- {2}colour: red\n\+ {2}colour: blue$/m);
    const created = await kubectl().run(['diff', '--server-side', '-n', ns, '-f', '-'], {
      stdin: widget(GROUP, 'new', { colour: 'blue' }),
    });
    expect([created.code, created.stdout]).toEqual([1, expect.stringContaining('+  colour: blue')]);
    expect(await exists('widget/new')).toBe(false);
  });

  describe('delete', () => {
    const owned = async (owner: string, child: string): Promise<void> => {
      const uid = await field(`widget/${owner}`, '.metadata.uid');
      const metadata = {
        name: child,
        ownerReferences: [{ apiVersion: `${GROUP}/v1`, kind: 'Widget', name: owner, uid, blockOwnerDeletion: true }],
      };
      await ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }));
    };

    test('by name, by file, by selector, all', async () => {
      for (const name of ['d1', 'd2', 'd3', 'd4', 'd5'])
        await make(name, { colour: name === 'd4' ? 'green' : 'blue' }, { bulk: name });
      expect(await ok(['delete', 'widget', 'd1'])).toBe(`${W} "d1" deleted from ${ns} namespace\n`);
      expect(await ok(['delete', '-f', '-'], widget(GROUP, 'd2', { colour: 'red' }))).toContain('"d2" deleted');
      expect(await ok(['delete', 'widgets', '-l', 'bulk=d3'])).toContain('"d3" deleted');
      expect(await ok(['delete', 'widgets', '--field-selector', 'spec.colour=green'])).toContain('"d4" deleted');
      expect(await fails(['delete', 'widget', 'd1'])).toBe(
        `Error from server (NotFound): widgets.${GROUP} "d1" not found\n`,
      );
      expect(await ok(['delete', 'widget', 'd1', '--ignore-not-found'])).toBe('');
      expect(await ok(['delete', 'widget', 'd5', '--dry-run=server'])).toContain('(server dry run)');
      expect(await exists('widget/d5')).toBe(true);
      await ok(['delete', 'widgets', '--all']);
      expect(await ok(['get', 'widgets', '-o', 'name'])).toBe('');
    });

    test('--wait waits for finalizers, --wait=false does not', async () => {
      await make('slow');
      await ok(['patch', 'widget', 'slow', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}']);
      expect(await ok(['delete', 'widget', 'slow', '--wait=false'])).toContain('"slow" deleted');
      expect(await field('widget/slow', '.metadata.deletionTimestamp')).toMatch(/^\d{4}-/);
      const waiting = kubectl().start(['delete', 'widget', 'slow', '-n', ns, '--wait=true', '--timeout=100s']);
      let over = false;
      void waiting.result.then(() => (over = true));
      await eventually('it says so', () => Promise.resolve(waiting.out().includes('deleted') ? true : undefined));
      expect(over).toBe(false);
      await ok(['patch', 'widget', 'slow', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
      expect((await waiting.result).code).toBe(0);
      expect(await exists('widget/slow')).toBe(false);
    });

    // Collecting dependents needs kube-controller-manager, or a server that does it itself.
    const collected = process.env['ANNEX_CONFORMANCE_KUBECONFIG'] === undefined ? test : test.skip;

    collected('--cascade=background', async () => {
      await make('back');
      await owned('back', 'back-child');
      await ok(['delete', 'widget', 'back', '--cascade=background']);
      await eventually('the child goes too', async () => ((await exists('configmap/back-child')) ? undefined : true));
    });

    collected('--cascade=foreground: children first', async () => {
      await make('fore');
      await owned('fore', 'fore-child');
      await ok(['delete', 'widget', 'fore', '--cascade=foreground', '--timeout=100s']);
      expect([await exists('widget/fore'), await exists('configmap/fore-child')]).toEqual([false, false]);
    });

    collected('--cascade=orphan: children stay, without an owner', async () => {
      await make('orph');
      await owned('orph', 'orph-child');
      await ok(['delete', 'widget', 'orph', '--cascade=orphan', '--timeout=100s']);
      expect(await exists('widget/orph')).toBe(false);
      expect(await field('configmap/orph-child', '.metadata.ownerReferences')).toBe('');
    });

    test('a namespace with its contents', async () => {
      const other = `${ns}-gone`;
      await kubectl().ok(['create', 'namespace', other]);
      await kubectl().ok(['create', 'configmap', 'inside', '-n', other]);
      if (process.env['ANNEX_CONFORMANCE_KUBECONFIG'] !== undefined) {
        await kubectl().ok(['delete', 'namespace', other, '--wait=false']);
        return;
      }
      expect(await kubectl().ok(['delete', 'namespace', other, '--timeout=100s'])).toBe(
        `namespace "${other}" deleted\n`,
      );
      expect(await kubectl().fails(['get', 'namespace', other])).toContain('not found');
    });
  });

  test('deleting a definition deletes its objects', async () => {
    const group = 'gone.example.com';
    await kubectl().ok(['create', '-f', '-'], { stdin: widgetDefinition(group, ns) });
    await kubectl().ok(['wait', '--for=condition=Established', `crd/widgets.${group}`, '--timeout=100s']);
    await eventually('an object is made', async () => {
      const { code } = await kubectl().run(['create', '-n', ns, '-f', '-'], {
        stdin: widget(group, 'last', { colour: 'red' }),
      });
      return code === 0 ? true : undefined;
    });
    expect(await kubectl().ok(['delete', 'crd', `widgets.${group}`, '--timeout=100s'])).toContain('deleted');
    expect(await kubectl().fails(['get', `widgets.${group}`, '-n', ns])).toContain(
      "the server doesn't have a resource type",
    );
  });
});
