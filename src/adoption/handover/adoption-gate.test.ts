import { ADOPTION_STAGE } from '../protocol/names.js';
import { AdoptedDefinitions } from './adopted-definitions.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../admission/interfaces.js';
import { LOOPBACK_USER } from '../../authentication/user/user.js';
import { adoptionGate } from './adoption-gate.js';

const DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };

const definition = (plural: string, stage?: string): KubeObject => ({
  metadata: {
    name: `${plural}.example.com`,
    ...(stage !== undefined && { annotations: { [ADOPTION_STAGE]: stage } }),
  },
  spec: { group: 'example.com' },
});

const writeTo = (adopted: AdoptedDefinitions, resource: string) =>
  adoptionGate(adopted, DEFINITIONS).admit?.({
    resource: { group: 'example.com', version: 'v1', resource },
  } as Partial<AdmissionAttributes> as AdmissionAttributes);

test.each(['Copying', 'Switching', 'Returning', 'something that a later version says'])(
  'refuses writes in stage %s',
  (stage) => {
    const adopted = new AdoptedDefinitions();
    adopted.seen(definition('widgets', stage));
    expect(() => writeTo(adopted, 'widgets')).toThrow(/^example.com is being moved: writes will be accepted again/);
    expect(writeTo(adopted, 'others')).toBeUndefined();
  },
);

test('admits writes to a group that is served, or was never adopted', () => {
  const adopted = new AdoptedDefinitions();
  adopted.seen(definition('widgets', 'Served'));
  adopted.seen(definition('others'));
  for (const resource of ['widgets', 'others', 'unknown']) expect(writeTo(adopted, resource)).toBeUndefined();
});

test('the route of a group is that of its least advanced definition', () => {
  const adopted = new AdoptedDefinitions();
  let reported = 0;
  adopted.onRouteChange = () => (reported += 1);
  expect(adopted.routeOf('example.com')).toBe('Ordinary');
  adopted.seen(definition('a', 'Switching'));
  expect(adopted.routeOf('example.com')).toBe('Annex');
  adopted.seen(definition('b', 'Copying'));
  expect(adopted.routeOf('example.com')).toBe('Cluster');
  expect(adopted.routeOf('other.example.com')).toBe('Ordinary');
  adopted.seen(definition('b', 'Copying'));
  adopted.gone(definition('b'));
  expect(adopted.routeOf('example.com')).toBe('Annex');
  expect(reported).toBe(3);
});

describe('the adoption stage in a definition', () => {
  const write = (
    user: AdmissionAttributes['user'],
    object: KubeObject | undefined,
    oldObject: KubeObject | undefined,
    resource = DEFINITIONS,
  ) =>
    adoptionGate(new AdoptedDefinitions(), DEFINITIONS).validate?.({
      ...{ object, oldObject, user, name: 'widgets.example.com', resource: { ...resource, version: 'v1' } },
      operation: object === undefined ? 'DELETE' : oldObject === undefined ? 'CREATE' : 'UPDATE',
    } as Partial<AdmissionAttributes> as AdmissionAttributes);
  const plain = definition('widgets');
  const copying = definition('widgets', 'Copying');
  const served = definition('widgets', 'Served');
  // Having the name of the loopback user is not enough.
  const admin = { ...LOOPBACK_USER };

  test.each([
    ['opens the gate', served, copying],
    ['closes it', copying, plain],
    ['takes the annotation away', plain, served],
    ['creates a definition that looks adopted', served, undefined],
  ])('no client but Annex %s', (_, object, oldObject) => {
    expect(() => write(admin, object, oldObject)).toThrow(
      /^resourcedefinitions.kubeannex.io "widgets.example.com" is forbidden: the annotation kubeannex.io\/adoption records/,
    );
    expect(write(LOOPBACK_USER, object, oldObject)).toBeUndefined();
  });

  test('other changes, deletions and other types are admitted', () => {
    expect(write(admin, served, served)).toBeUndefined();
    expect(write(admin, plain, undefined)).toBeUndefined();
    expect(write(admin, undefined, served)).toBeUndefined();
    expect(write(admin, served, copying, { group: 'example.com', resource: 'widgets' })).toBeUndefined();
  });
});
