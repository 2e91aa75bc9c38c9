import { ADOPTION_LAST_REVISION, ADOPTION_STAGE } from '../protocol/names.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { AnnexDefinitions } from './annex-definitions.js';

function setUp(stages: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const stored = new Map<string, KubeObject>(
    Object.entries(stages).map(([name, annotations]) => [
      name,
      { metadata: { name, annotations }, spec: { group: 'example.com' } },
    ]),
  );
  const client = {
    list: () => Promise.resolve([...stored.values()]),
    get: (_, name) => Promise.resolve(stored.get(name)),
    update: (object) => {
      stored.set(object.metadata.name ?? '', object);
      return Promise.resolve(object);
    },
  } as Partial<LoopbackClient> as LoopbackClient;
  const definitions = new AnnexDefinitions({ client, clock: new FakeClock(), group: 'example.com' });
  const annotations = () => [...stored.values()].map(({ metadata }) => metadata.annotations);
  return { definitions, annotations };
}

const at = (stage: string, last?: string): Record<string, string> => ({
  [ADOPTION_STAGE]: stage,
  ...(last !== undefined && { [ADOPTION_LAST_REVISION]: last }),
});

test('the last revision is kept while the group leaves, and gone when it stays', async () => {
  const { definitions, annotations } = setUp({ a: at('Closing'), b: at('Closing') });
  expect(await definitions.setReturning(1050)).toBe(1050);
  expect(annotations()).toEqual([at('Returning', '1050'), at('Returning', '1050')]);
  await definitions.setStage('Left');
  expect(annotations()).toEqual([at('Left', '1050'), at('Left', '1050')]);
  await definitions.setStage('Served');
  expect(annotations()).toEqual([at('Served'), at('Served')]);
});

test('a leader that resumes keeps the last revision that clients may have seen, and returns the highest', async () => {
  const { definitions, annotations } = setUp({ a: at('Returning', '1050'), b: at('Closing') });
  expect(await definitions.setReturning(1040)).toBe(1050);
  expect(annotations()).toEqual([at('Returning', '1050'), at('Returning', '1040')]);
});
