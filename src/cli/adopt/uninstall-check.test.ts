import type { JsonObject } from '../../apimachinery/json/json.js';
import { ADOPTIONS } from './command.js';
import { adoptedGroups } from './uninstall-check.js';

const DEFINITIONS = '/apis/kubeannex.io/v1/resourcedefinitions';

const definition = (group: string, stage?: string): JsonObject => ({
  metadata: { name: `widgets.${group}`, annotations: stage === undefined ? {} : { 'kubeannex.io/adoption': stage } },
  spec: { group },
});
const adoption = (name: string, phase: string): JsonObject => ({ metadata: { name }, status: { phase } });

const cluster = (answers: Record<string, JsonObject[] | number>) => ({
  call: (_: string, path: string) => {
    const answer = answers[path] ?? 404;
    return Promise.resolve(
      typeof answer === 'number'
        ? { status: answer, body: { message: 'no endpoints available' } }
        : { status: 200, body: { items: answer } },
    );
  },
});

test('returns the groups that Annex serves, and those being switched', async () => {
  const answers = {
    [DEFINITIONS]: [definition('own.example.com'), definition('moved.example.com', 'Served')],
    [ADOPTIONS]: [
      adoption('moved.example.com', 'Served'),
      adoption('rehearsed.example.com', 'InSync'),
      adoption('going.example.com', 'Preparing'),
    ],
  };
  expect(await adoptedGroups(cluster(answers))).toEqual(['going.example.com', 'moved.example.com']);
});

test('returns a group whose Adoption has been deleted', async () => {
  const answers = { [DEFINITIONS]: [definition('moved.example.com', 'Served')], [ADOPTIONS]: [] };
  expect(await adoptedGroups(cluster(answers))).toEqual(['moved.example.com']);
});

test('returns nothing if nothing is registered, and throws if Annex does not respond', async () => {
  expect(await adoptedGroups(cluster({}))).toEqual([]);
  await expect(adoptedGroups(cluster({ [DEFINITIONS]: 503 }))).rejects.toThrow(
    'GET /apis/kubeannex.io/v1/resourcedefinitions: no endpoints available: cannot determine which groups Annex serves',
  );
});
