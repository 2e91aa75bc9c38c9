// Measures the memory left behind by types that were created, used, and deleted.
//   node test/bench/churn.mjs [--definitions 12000] [--warm 500] [--at-once 6] [--port 6497] [--snapshots FOLDER]
// Starts a server of its own on an empty store. `live` is the JavaScript heap and the buffers outside of it (MB) after a garbage
// collection. The exit code reports whether it is back within 30 MB after all definitions are gone. With --snapshots it writes heap
// snapshots before and after.
import { parseArgs } from 'node:util';
import { BenchServer, DIST, pause } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    definitions: { type: 'string', default: '12000' },
    warm: { type: 'string', default: '500' },
    'at-once': { type: 'string', default: '6' },
    port: { type: 'string', default: '6497' },
    dist: { type: 'string', default: DIST },
    snapshots: { type: 'string' },
  },
});
const LIMIT = 30;
/** State for resuming watches is kept for the history window, so the window is short. */
const HISTORY_SECONDS = 10;
const server = new BenchServer({
  dist: flags.dist,
  port: flags.port,
  flags: [`--history-window=${HISTORY_SECONDS}s`],
  node: ['--expose-gc'],
  monitor: 'memory-monitor.mjs',
});
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

async function send(method, path, body, type = 'application/json') {
  const { status } = await server.request(method, path, body === undefined ? undefined : JSON.stringify(body), {
    'content-type': type,
  });
  return status;
}

async function until(what, holds) {
  for (let i = 0; i < 3000; i++) {
    if (await holds()) return;
    await pause(10);
  }
  throw new Error(`${what}: not within 30 s`);
}

function definitionOf(i) {
  const plural = `churn${i}s`;
  const spec = {
    type: 'object',
    properties: {
      size: { type: 'integer', minimum: 0 },
      name: { type: 'string', pattern: `^n${i}-[a-z]+$` },
      list: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 10 } },
    },
    'x-kubernetes-validations': [{ rule: `!has(self.size) || self.size != ${i}`, message: 'no' }],
  };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  const names = { plural, kind: `Churn${i}` };
  const version = { name: 'v1', served: true, storage: true, schema, subresources: { status: {} } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.churn.example.com` },
    spec: { group: 'churn.example.com', scope: 'Namespaced', names, versions: [version] },
  };
}

/** Runs the life of one definition: creates it, writes and reads its objects in every way, and deletes it. */
async function life(i) {
  const definition = definitionOf(i);
  const created = await send('POST', DEFINITIONS, definition);
  if (created !== 201) throw new Error(`create: ${created}`);
  const path = `/apis/churn.example.com/v1/namespaces/default/${definition.spec.names.plural}`;
  const object = {
    apiVersion: 'churn.example.com/v1',
    kind: definition.spec.names.kind,
    metadata: { name: 'a' },
    spec: { size: 1 + i, name: `n${i}-a`, list: ['a'] },
  };
  await until('the first object', async () => (await send('POST', path, object)) === 201);
  const answers = [
    await send('GET', `${path}/a`),
    await send('GET', path),
    await send('PATCH', `${path}/a`, { spec: { size: 7 + i } }, 'application/merge-patch+json'),
    await send(
      'PATCH',
      `${path}/b?fieldManager=churn`,
      { ...object, metadata: { name: 'b' } },
      'application/apply-patch+yaml',
    ),
    // Each of these watches lasts one second.
    i % 20 === 0 ? await send('GET', `${path}?watch=1&resourceVersion=0&timeoutSeconds=1`) : 200,
    await send('DELETE', `${path}/a`),
  ];
  if (answers.some((status) => status !== 200 && status !== 201)) throw new Error(`${i}: ${answers.join(' ')}`);
  await send('DELETE', `${DEFINITIONS}/${definition.metadata.name}`);
  await until('the end', async () => (await send('GET', `${DEFINITIONS}/${definition.metadata.name}`)) === 404);
}

async function lives(from, count) {
  let next = from;
  const work = async () => {
    for (let i = next++; i < from + count; i = next++) await life(i);
  };
  await Promise.all(Array.from({ length: Number(flags['at-once']) }, work));
}

/** Returns the live memory after everything with a retention period has expired. */
async function live(what) {
  await pause((HISTORY_SECONDS + 20) * 1000);
  await send('GET', '/openapi/v2');
  if (flags.snapshots !== undefined) await server.ask(`snapshot ${flags.snapshots}/${what}.heapsnapshot`);
  const { heapUsed, external } = await server.ask('collected');
  const found = (heapUsed + external) / 2 ** 20;
  console.log(`${what}: ${found.toFixed(1)} MB live`);
  return found;
}

try {
  await server.start();
  await lives(0, Number(flags.warm));
  const before = await live('before');
  const started = Date.now();
  await lives(Number(flags.warm), Number(flags.definitions));
  console.log(`${flags.definitions} definitions in ${Math.round((Date.now() - started) / 1000)} s`);
  const grown = (await live('after')) - before;
  console.log(`grown by ${grown.toFixed(1)} MB; at most ${LIMIT} MB are wanted`);
  if (grown > LIMIT) process.exitCode = 1;
} finally {
  await server.dispose();
}
