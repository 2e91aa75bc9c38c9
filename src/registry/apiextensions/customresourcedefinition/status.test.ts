import { isConditionTrue } from '../../../apimachinery/meta/conditions.js';
import { type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../request/context.js';
import { objectsAt } from './internal.js';
import { CLEANUP_FINALIZER, computeNamesAccepted, establish, findCondition, setTerminating } from './status.js';
import {
  customResourceDefinitionDeletion,
  customResourceDefinitionStatusStrategy,
  customResourceDefinitionStrategy,
} from './strategy.js';

const UNSAID = { orphanDependents: undefined, propagationPolicy: undefined };

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const LATER = NOW + 60_000;
const context = { receivedAt: NOW } as RequestContext;

function definition(
  names: JsonObject & { plural: string },
  group = 'example.com',
  annotations: Record<string, string> = {},
): KubeObject {
  const crd: KubeObject = {
    metadata: { name: `${names.plural}.${group}`, annotations, resourceVersion: '1' },
    spec: {
      group,
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  customResourceDefinitionStrategy.prepareForCreate?.(context, crd);
  return crd;
}

const widgets = (more: JsonObject = {}): KubeObject => definition({ kind: 'Widget', ...more, plural: 'widgets' });

const summary = (crd: KubeObject): JsonObject[] =>
  objectsAt(objectAt(crd, 'status'), 'conditions').map(({ type, status, reason, message }) => ({
    type,
    status,
    reason,
    message,
  }));

describe('names and establishment', () => {
  test('free names are accepted, then the definition is established', () => {
    const named = computeNamesAccepted(widgets({ shortNames: ['wd'] }), [], NOW);
    expect(objectAt(objectAt(named, 'status'), 'acceptedNames')).toEqual({
      plural: 'widgets',
      singular: 'widget',
      shortNames: ['wd'],
      kind: 'Widget',
      listKind: 'WidgetList',
    });
    const accepted = { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
    const message = 'the initial names have been accepted';
    expect(summary(named)).toEqual([accepted, { type: 'Established', status: 'False', reason: 'Installing', message }]);
    const established = establish(named, LATER);
    expect(summary(established)).toEqual([
      accepted,
      { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message },
    ]);
    expect(findCondition(established, 'NamesAccepted')?.['lastTransitionTime']).toBe('2026-01-02T03:04:05Z');
    expect(findCondition(established, 'Established')?.['lastTransitionTime']).toBe('2026-01-02T03:05:05Z');
  });

  test('a settled definition is returned unchanged', () => {
    const settled = establish(computeNamesAccepted(widgets(), [], NOW), NOW);
    expect(establish(computeNamesAccepted(settled, [], LATER), LATER)).toBe(settled);
  });

  test.each<[string, JsonObject & { plural: string }, string, string]>([
    ['plural', { plural: 'gadgets', kind: 'Other' }, 'PluralConflict', '"gadgets" is already in use'],
    [
      'singular',
      { plural: 'others', singular: 'gadget', kind: 'Other' },
      'SingularConflict',
      '"gadget" is already in use',
    ],
    [
      'one short name',
      { plural: 'others', kind: 'Other', shortNames: ['gg'] },
      'ShortNamesConflict',
      '"gg" is already in use',
    ],
    [
      'short names',
      { plural: 'others', kind: 'Other', shortNames: ['gg', 'new', 'gadgets'] },
      'ShortNamesConflict',
      '["gg" is already in use, "gadgets" is already in use]',
    ],
    [
      'kind',
      { plural: 'others', singular: 'other', kind: 'Gadget' },
      'ListKindConflict',
      '"GadgetList" is already in use',
    ],
    [
      'kind alone',
      { plural: 'others', singular: 'other', kind: 'Gadget', listKind: 'OtherList' },
      'KindConflict',
      '"Gadget" is already in use',
    ],
  ])('refuses a %s that another definition of the group has', (_, names, reason, message) => {
    const taken = establish(
      computeNamesAccepted(definition({ plural: 'gadgets', kind: 'Gadget', shortNames: ['gg'] }), [], NOW),
      NOW,
    );
    const refused = establish(computeNamesAccepted(definition(names), [taken], NOW), NOW);
    expect(summary(refused)).toEqual([
      { type: 'NamesAccepted', status: 'False', reason, message },
      { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
    ]);
    const elsewhere = computeNamesAccepted(definition(names, 'other.example.com'), [taken], NOW);
    expect(isConditionTrue(elsewhere, 'NamesAccepted')).toBe(true);
    expect(isConditionTrue(computeNamesAccepted(refused, [], LATER), 'NamesAccepted')).toBe(true);
  });

  test('an established definition stays established when new names are refused', () => {
    const taken = computeNamesAccepted(definition({ plural: 'gadgets', kind: 'Gadget', shortNames: ['gg'] }), [], NOW);
    const settled = establish(computeNamesAccepted(widgets(), [taken], NOW), NOW);
    const spec = objectAt(settled, 'spec') ?? {};
    const changed: KubeObject = {
      ...settled,
      spec: { ...spec, names: { ...objectAt(spec, 'names'), shortNames: ['gg'] } },
    };
    const refused = establish(computeNamesAccepted(changed, [taken], LATER), LATER);
    expect(isConditionTrue(refused, 'NamesAccepted')).toBe(false);
    expect(isConditionTrue(refused, 'Established')).toBe(true);
    expect(objectAt(objectAt(refused, 'status'), 'acceptedNames')?.['shortNames']).toBeUndefined();
  });

  test('a schema that is not structural sets the NonStructuralSchema condition', () => {
    const crd = widgets();
    const spec = objectAt(crd, 'spec') ?? {};
    const version = { name: 'v1', storage: true, schema: { openAPIV3Schema: { properties: { a: {} } } } };
    const reported = establish({ ...crd, spec: { ...spec, versions: [version] } }, NOW);
    const at = 'spec.versions[0].schema.openAPIV3Schema';
    expect(findCondition(reported, 'NonStructuralSchema')).toMatchObject({
      status: 'True',
      reason: 'Violations',
      message: `[${at}.properties[a].type: Required value: must not be empty for specified object fields, ${at}.type: Required value: must not be empty at the root]`,
    });
    expect(findCondition(establish({ ...reported, spec }, LATER), 'NonStructuralSchema')).toBeUndefined();
  });

  test('definitions in Kubernetes groups report their API approval', () => {
    const annotations = { 'api-approved.kubernetes.io': 'unapproved, testing' };
    const crd = definition({ plural: 'widgets', kind: 'Widget' }, 'foo.k8s.io', annotations);
    expect(findCondition(establish(crd, NOW), 'KubernetesAPIApprovalPolicyConformant')).toMatchObject({
      status: 'False',
      reason: 'UnapprovedAnnotation',
      message: 'not approved: "unapproved, testing"',
    });
  });
});

describe('strategies', () => {
  test('a new definition gets its status from the server', () => {
    const crd = widgets();
    expect(crd['status']).toEqual({
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: ['v1'],
    });
    expect(objectAt(crd, 'spec')).toMatchObject({
      conversion: { strategy: 'None' },
      names: { singular: 'widget', listKind: 'WidgetList' },
    });
  });

  test('an update keeps the status and adds the storage version', () => {
    const old = establish(computeNamesAccepted(widgets(), [], NOW), NOW);
    const next = widgets();
    const spec = objectAt(next, 'spec') ?? {};
    spec['versions'] = [
      { name: 'v1', served: true, storage: false },
      { name: 'v2', served: true, storage: true },
    ];
    customResourceDefinitionStrategy.prepareForUpdate?.(context, next, old);
    expect(next['status']).toEqual({ ...objectAt(old, 'status'), storedVersions: ['v1', 'v2'] });
  });

  test('a status update does not change the spec', () => {
    const old = widgets();
    const next: KubeObject = { ...widgets(), spec: { group: 'x' }, status: { storedVersions: [] } };
    customResourceDefinitionStatusStrategy.prepareForUpdate?.(context, next, old);
    expect(next['spec']).toEqual(old['spec']);
    expect(objectAt(next, 'status')?.['storedVersions']).toEqual(['v1']);
    expect(customResourceDefinitionStatusStrategy.validateUpdate(context, next, old).map(String)).toEqual([]);
  });

  test('only new unknown formats produce warnings', () => {
    const withFormat = (format: string): KubeObject => {
      const crd = widgets();
      const properties = { a: { type: 'string', format }, b: { type: 'integer', format: 'int64' } };
      const schema = { openAPIV3Schema: { type: 'object', properties } };
      (objectAt(crd, 'spec') ?? {})['versions'] = [{ name: 'v1', served: true, storage: true, schema }];
      return crd;
    };
    const strategy = customResourceDefinitionStrategy;
    expect(strategy.warningsOnCreate?.(context, withFormat('colour'))).toEqual(['unrecognized format "colour"']);
    expect(strategy.warningsOnCreate?.(context, withFormat('date-time'))).toEqual([]);
    expect(strategy.warningsOnUpdate?.(context, withFormat('colour'), withFormat('colour'))).toEqual([]);
    expect(strategy.warningsOnUpdate?.(context, withFormat('shade'), withFormat('colour'))).toHaveLength(1);
  });

  test('the first deletion marks the definition as terminating', () => {
    const deletion = customResourceDefinitionDeletion;
    const marked = deletion.beforeDelete?.(context, widgets(), UNSAID);
    if (marked === undefined) throw new Error('the definition was not kept');
    expect(marked.metadata).toMatchObject({
      deletionTimestamp: '2026-01-02T03:04:05Z',
      finalizers: [CLEANUP_FINALIZER],
    });
    expect(findCondition(marked, 'Terminating')).toMatchObject({ status: 'True', reason: 'InstanceDeletionPending' });
    expect(deletion.beforeDelete?.(context, marked, UNSAID)).toBeUndefined();
    const failed = setTerminating(marked, LATER, 'InstanceDeletionFailed', 'no');
    expect(findCondition(failed, 'Terminating')).toMatchObject({
      message: 'could not issue all deletes: no',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    });
  });
});
