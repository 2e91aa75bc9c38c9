import { ADOPTION_STAGE } from '../protocol/names.js';
import { AdoptedDefinitions } from './adopted-definitions.js';
import type { StoreBackend, WriteResult } from '../../storage/interfaces.js';
import { AdoptionWrites } from './adoption-writes.js';

const TYPE = { group: 'example.com', resource: 'widgets' };
const NAME = 'widgets.example.com';

function setup() {
  const adopted = new AdoptedDefinitions();
  const stage = (value: string, resourceVersion = '50'): void => {
    const metadata = { name: NAME, resourceVersion, annotations: { [ADOPTION_STAGE]: value } };
    adopted.seen({ metadata, spec: { group: TYPE.group } });
  };
  stage('Served');
  const writes = new AdoptionWrites(adopted);
  const pending: ((result?: WriteResult) => void)[] = [];
  const backend = {
    get: () => Promise.resolve(undefined),
    write: () =>
      new Promise((resolve) => {
        pending.push((result = { outcome: 'conflict', current: undefined }) => {
          resolve(result);
        });
      }),
  } as StoreBackend;
  const store = writes.through(backend, TYPE);
  const write = () => store.write({ resource: NAME, key: 'a', expected: 0, value: undefined });
  const gone = (): void => {
    adopted.gone({ metadata: { name: NAME } });
  };
  return { stage, gone, writes, write, pending };
}

const committed = (revision: number): WriteResult => ({
  outcome: 'committed',
  object: { key: 'a', revision, bytes: new Uint8Array(), flags: 0 },
});

test('the group is drained once a write that began earlier has ended', async () => {
  const { stage, writes, write, pending } = setup();
  const before = write();
  stage('Closing');
  expect(writes.isDrained(NAME)).toBe(false);
  pending[0]?.();
  await before;
  expect(writes.isDrained(NAME)).toBe(true);
});

test('no write begins while the group takes no writes', async () => {
  const { stage, writes, write, pending } = setup();
  stage('Returning');
  await expect(write()).rejects.toThrow('example.com is being moved');
  expect(pending).toHaveLength(0);
  expect(writes.isDrained(NAME)).toBe(true);
  stage('Served');
  void write();
  expect(pending).toHaveLength(1);
});

test.each([
  ['before the end of writes', 49, false],
  ['after it', 51, true],
])('a write that commits %s is acknowledged, or its outcome is unknown', async (_, revision, isUnknown) => {
  for (const end of ['Left', 'gone']) {
    const { stage, gone, write, pending } = setup();
    const before = write();
    stage('Closing', '40');
    stage('Returning', '50');
    stage('Left', '60');
    if (end === 'gone') gone();
    pending[0]?.(committed(revision));
    if (isUnknown) await expect(before).rejects.toThrow('was moved in the meantime');
    else await expect(before).resolves.toEqual(committed(revision));
  }
});

test('a group that was adopted again takes writes', async () => {
  const { stage, gone, write, pending } = setup();
  stage('Returning', '50');
  gone();
  stage('Served', '70');
  const again = write();
  pending[0]?.(committed(80));
  await expect(again).resolves.toEqual(committed(80));
});
