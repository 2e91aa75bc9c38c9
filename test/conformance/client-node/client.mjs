// Runs the official JavaScript client against the server of a kubeconfig. It needs Node 22.19, so it is a program that
// client-node.test.ts runs on Node 24. Prints `ok NAME` for each part that passes, and exits at the first failure.
//   node client.mjs KUBECONFIG EXEC-KUBECONFIG
import assert from 'node:assert/strict';
import {
  ApiException,
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
} from '@kubernetes/client-node';

const [kubeconfig, execKubeconfig] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const GROUP = 'client-node.example.com';
const NAMESPACE = 'client-node';
const apiVersion = `${GROUP}/v1`;
const place = { group: GROUP, version: 'v1', namespace: NAMESPACE, plural: 'gears' };
const gear = (name, spec, metadata = {}) => ({
  apiVersion,
  kind: 'Gear',
  metadata: { name, namespace: NAMESPACE, ...metadata },
  spec,
});
const objects = KubernetesObjectApi.makeApiClient(config);
const custom = config.makeApiClient(CustomObjectsApi);

/** Repeats `probe` until it returns something other than undefined; the calling test has the time limit. */
async function eventually(probe) {
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the error of a call that must fail. */
async function failure(call) {
  const error = await call.then(
    () => assert.fail('the call succeeds'),
    (reason) => reason,
  );
  assert.ok(error instanceof ApiException, String(error));
  const body = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
  assert.equal(body.kind, 'Status');
  return { code: error.code, reason: body.reason, message: body.message, causes: body.details?.causes };
}

const parts = {
  async definitions() {
    await config.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: NAMESPACE } } });
    const schema = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { teeth: { type: 'integer', minimum: 3 }, colour: { type: 'string', _default: 'grey' } },
        },
      },
    };
    const definition = {
      metadata: { name: `gears.${GROUP}` },
      spec: {
        group: GROUP,
        scope: 'Namespaced',
        names: { plural: 'gears', singular: 'gear', kind: 'Gear' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    };
    const api = config.makeApiClient(ApiextensionsV1Api);
    await api.createCustomResourceDefinition({ body: definition });
    await eventually(async () => {
      const { status } = await api.readCustomResourceDefinition({ name: `gears.${GROUP}` });
      return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True')
        ? true
        : undefined;
    });
  },

  async 'object API'() {
    const created = await objects.create(gear('wheel', { teeth: 12 }));
    assert.equal(created.spec.colour, 'grey');
    const read = await objects.read(gear('wheel'));
    assert.equal(read.metadata.uid, created.metadata.uid);
    const patched = await objects.patch(
      gear('wheel', { teeth: 13 }),
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    assert.deepEqual(patched.spec, { teeth: 13, colour: 'grey' });
    const replaced = await objects.replace({ ...patched, spec: { teeth: 14 } });
    assert.equal(replaced.metadata.generation, 3);
    const { items } = await objects.list(apiVersion, 'Gear', NAMESPACE);
    assert.deepEqual(
      items.map(({ metadata, spec }) => [metadata.name, spec.teeth]),
      [['wheel', 14]],
    );
    await objects.delete(gear('wheel'));
    assert.equal((await failure(objects.read(gear('wheel')))).code, 404);
  },

  async 'server-side apply'() {
    const apply = (teeth, manager, force) =>
      objects.patch(gear('applied', { teeth }), undefined, undefined, manager, force, PatchStrategy.ServerSideApply);
    const first = await apply(5, 'one');
    assert.deepEqual(
      first.metadata.managedFields.map(({ manager, operation }) => [manager, operation]),
      [['one', 'Apply']],
    );
    const conflict = await failure(apply(6, 'two'));
    assert.equal(conflict.code, 409);
    assert.equal(conflict.message, 'Apply failed with 1 conflict: conflict with "one": .spec.teeth');
    assert.equal((await apply(6, 'two', true)).spec.teeth, 6);
  },

  async 'errors carry a Status'() {
    assert.deepEqual(await failure(custom.getNamespacedCustomObject({ ...place, name: 'none' })), {
      code: 404,
      reason: 'NotFound',
      message: `gears.${GROUP} "none" not found`,
      causes: undefined,
    });
    const invalid = await failure(objects.create(gear('small', { teeth: 1 })));
    assert.equal(invalid.code, 422);
    assert.deepEqual(invalid.causes, [
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: 1: spec.teeth in body should be greater than or equal to 3',
        field: 'spec.teeth',
      },
    ]);
    const stale = await objects.create(gear('stale', { teeth: 3 }));
    await objects.replace({ ...stale, spec: { teeth: 4 } });
    assert.equal((await failure(objects.replace({ ...stale, spec: { teeth: 5 } }))).reason, 'Conflict');
  },

  async informer() {
    const list = () => custom.listNamespacedCustomObject(place);
    const informer = makeInformer(config, `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/gears`, list);
    const events = [];
    for (const verb of ['add', 'update', 'delete']) {
      informer.on(verb, ({ metadata }) => {
        if (metadata.name === 'seen' || metadata.name === 'late') events.push(`${verb} ${metadata.name}`);
      });
    }
    const errors = [];
    informer.on('error', (error) => errors.push(error));
    await objects.create(gear('seen', { teeth: 7 }));
    await informer.start();
    const upTo = (event) => eventually(() => (events.at(-1) === event ? true : undefined));
    await upTo('add seen');
    await objects.patch(
      gear('seen', { teeth: 8 }),
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    await upTo('update seen');
    assert.equal(informer.get('seen', NAMESPACE).spec.teeth, 8);
    // Changes during the stop are in the list of the next start.
    await informer.stop();
    await objects.delete(gear('seen'));
    await objects.create(gear('late', { teeth: 9 }));
    await informer.start();
    await eventually(() => (informer.get('late', NAMESPACE) && !informer.get('seen', NAMESPACE) ? true : undefined));
    await objects.delete(gear('late'));
    await upTo('delete late');
    await informer.stop();
    assert.equal(events.filter((event) => event === 'delete seen').length, 1);
    assert.deepEqual(
      errors.filter(({ name }) => name !== 'AbortError'),
      [],
    );
  },

  async 'exec credential'() {
    const executed = new KubeConfig();
    executed.loadFromFile(execKubeconfig);
    const { items } = await executed.makeApiClient(CustomObjectsApi).listNamespacedCustomObject(place);
    assert.ok(items.length > 0);
  },
};

for (const [name, part] of Object.entries(parts)) {
  await part();
  console.log(`ok ${name}`);
}
process.exit(0);
