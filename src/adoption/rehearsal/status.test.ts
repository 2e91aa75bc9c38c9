import { objectsOf } from '../../apimachinery/json/json.js';
import { statusOf, type Progress } from './status.js';

const PROGRESS: Progress = { leader: 'one', resources: [], problem: '', problemReason: '', refusal: '' };
const ADOPTION = { metadata: { name: 'example.com', generation: 1 } };

const typesOf = (progress: Progress): unknown[] =>
  objectsOf(statusOf(ADOPTION, progress, [], 0)['conditions']).map(({ type, status, reason }) => [
    type,
    status,
    reason,
  ]);

test('clients can wait for Switched and Ready from the first status on', () => {
  expect(typesOf(PROGRESS).slice(-2)).toEqual([
    ['Switched', 'False', 'Copying'],
    ['Ready', 'False', 'Copying'],
  ]);
});

test('a group that cannot be copied has no condition that says that a switch failed', () => {
  const failed = typesOf({ ...PROGRESS, problem: 'no definitions', problemReason: 'NoDefinitions' });
  expect(failed.map((one) => (one as string[])[0])).toEqual(['Copied', 'InSync', 'Accepted']);
});
