import { FieldPath } from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { customResourceDefinitionDeletion, customResourceDefinitionStrategy } from './strategy.js';
import type { RequestContext } from '../../../request/context.js';
import { setCustomResourceDefinitionDefaults, setStoredForm } from './defaults.js';
import { toInternalSpec } from './internal.js';
import { validateDeprecationWarning, validateSubresources } from './validation/version-validation.js';

test.each<[string, JsonObject | null, boolean, boolean]>([
  ['nothing', {}, false, false],
  ['no versions', { conversionReviewVersions: null }, false, false],
  ['an empty list of versions', { conversionReviewVersions: [] }, true, false],
  ['versions', { conversionReviewVersions: ['v1'] }, true, true],
  ['where it is', { clientConfig: {} }, true, true],
])('keeps or drops a webhook that specifies %s', (_, webhook, read, stored) => {
  const crd = (): KubeObject => ({
    metadata: { name: 'x' },
    spec: { conversion: { strategy: 'None', webhook: structuredClone(webhook) } },
  });
  const has = (given: KubeObject): boolean => 'webhook' in (objectAt(objectAt(given, 'spec'), 'conversion') ?? {});
  const asRead = crd();
  setCustomResourceDefinitionDefaults(asRead);
  const asStored = crd();
  setStoredForm(asStored);
  expect([has(asRead), has(asStored)]).toEqual([read, stored]);
});

test('invalid optional strings are printed as JSON in errors', () => {
  const [version] = toInternalSpec({
    metadata: { name: 'x' },
    spec: { versions: [{ name: 'v1', deprecated: true, deprecationWarning: 'a\u007f<' }] },
  }).versions;
  expect(version && validateDeprecationWarning(version, FieldPath.of('w')).map(String)).toEqual([
    'w: Invalid value: "a\u007f\\u003c": must only contain printable UTF-8 characters; non-printable character found at index 1',
  ]);
  const scale = { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a', labelSelectorPath: '.meta\u007f' };
  expect(validateSubresources({ scale }, FieldPath.of('s')).map(String)).toEqual([
    's.scale.labelSelectorPath: Invalid value: ".meta\u007f": should be a json path under either .spec or .status',
  ]);
});

test('metadata in defaults is stored in the form it is read in', () => {
  const kept = { kind: 'X', apiVersion: 'v1', metadata: { unknown: 'x', creationTimestamp: null, name: 'a' } };
  const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true };
  const schema: JsonObject = {
    type: 'object',
    default: structuredClone(kept),
    properties: {
      one: { ...embedded, default: structuredClone(kept) },
      plain: { type: 'object', default: structuredClone(kept) },
      list: {
        type: 'array',
        default: [structuredClone(kept)],
        items: { ...embedded, properties: { metadata: { type: 'object', default: { unknown: 'x' } } } },
      },
    },
  };
  customResourceDefinitionStrategy.canonicalize?.({
    metadata: { name: 'x' },
    spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] },
  });
  const stored = { ...kept, metadata: { name: 'a' } };
  expect(schema['default']).toEqual(stored);
  expect(schema['properties']).toMatchObject({
    one: { default: stored },
    plain: { default: kept },
    list: { default: [stored], items: { properties: { metadata: { default: { unknown: 'x' } } } } },
  });
  expect(objectAt(objectAt(objectAt(schema, 'properties'), 'one'), 'default')).toEqual(stored);
});

test('a failed deletion precondition has its own message', () => {
  const failed = customResourceDefinitionDeletion.preconditionFailed?.({ metadata: { name: 'x.y' } }, 'UID', 'a', 'b');
  expect(failed?.message).toBe(
    'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "x.y": precondition failed: UID in precondition: a, UID in object meta: b',
  );
});

test('a second version of the same name is validated even if the first is unchanged', () => {
  const version = (storage: boolean, schema: JsonObject): JsonObject => ({
    name: 'v1',
    served: true,
    storage,
    schema: { openAPIV3Schema: schema },
  });
  const crd = (...versions: JsonObject[]): KubeObject => ({
    metadata: { name: 'xs.example.com', resourceVersion: '1' },
    spec: { group: 'example.com', scope: 'Cluster', names: { plural: 'xs', kind: 'X' }, versions },
    status: { storedVersions: ['v1'] },
  });
  const first = version(true, { type: 'object' });
  const [old, next] = [crd(first), crd(first, version(false, { type: 'object', additionalProperties: true }))];
  for (const definition of [old, next]) setCustomResourceDefinitionDefaults(definition);
  const errors = customResourceDefinitionStrategy.validateUpdate({} as RequestContext, next, old);
  expect(errors.map(({ field }) => field)).toContain('spec.versions[1].schema.openAPIV3Schema.additionalProperties');
});
