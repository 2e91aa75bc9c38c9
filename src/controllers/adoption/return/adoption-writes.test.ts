import { AdoptedDefinitions, ADOPTION_STAGE } from '../../../apimachinery/meta/adopted-definitions.js';
import type { StoreBackend } from '../../../storage/interfaces.js';
import { AdoptionWrites } from './adoption-writes.js';

const TYPE = { group: 'example.com', resource: 'widgets' };
const NAME = 'widgets.example.com';

function setup() {
  const adopted = new AdoptedDefinitions();
  const stage = (value: string): void => {
    adopted.seen({ metadata: { name: NAME, annotations: { [ADOPTION_STAGE]: value } }, spec: { group: TYPE.group } });
  };
  stage('Served');
  const writes = new AdoptionWrites(adopted);
  const pending: (() => void)[] = [];
  const backend = {
    get: () => Promise.resolve(undefined),
    write: () =>
      new Promise((resolve) => {
        pending.push(() => {
          resolve({ outcome: 'conflict', current: undefined });
        });
      }),
  } as StoreBackend;
  const store = writes.through(backend, TYPE);
  const write = () => store.write({ resource: NAME, key: 'a', expected: 0, value: undefined });
  return { stage, writes, write, pending };
}

test('a write that began before the group left is waited for', async () => {
  const { stage, writes, write, pending } = setup();
  const before = write();
  stage('Returning');
  expect(writes.haveEnded(NAME)).toBe(false);
  pending[0]?.();
  await before;
  expect(writes.haveEnded(NAME)).toBe(true);
});

test('none begins while the group takes no writes', async () => {
  const { stage, writes, write, pending } = setup();
  stage('Returning');
  await expect(write()).rejects.toThrow('example.com is being moved');
  expect(pending).toHaveLength(0);
  expect(writes.haveEnded(NAME)).toBe(true);
  stage('Served');
  void write();
  expect(pending).toHaveLength(1);
});
