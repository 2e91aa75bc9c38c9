import { newInvalid } from '../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { FieldManager } from '../../managedfields/field-manager.js';
import type { RequestContext } from '../../request/context.js';
import type { Clock } from '../../util/clock.js';
import { defaultTable } from '../generic/columns.js';
import { createOnlyStorage } from '../generic/unstored.js';
import type { ComputedKind } from '../rest/computed.js';
import { compileDefinition } from './compiled.js';
import { readDefinition } from './definition.js';
import { gvkOf } from './resource-type.js';
import { decodeCustom } from './storage-codec.js';

type Answer = (context: RequestContext, object: KubeObject, namespace: string) => Promise<KubeObject>;

/** Returns the kind that a definition describes, whose objects are never stored: `answer` gets them when they are valid, and returns them with a status. */
export function createOnlyKind(crd: KubeObject, answer: Answer, clock: Clock): ComputedKind {
  const definition = readDefinition(crd);
  const [compiled] = compileDefinition(definition).versions.values();
  if (compiled === undefined) throw new Error(`definition ${definition.name} has no version`);
  const { group, namespaced, names } = definition;
  const { plural: resource, singular, kind, shortNames } = names;
  const { schema, version, mergeType } = compiled;
  const gvk = gvkOf(definition, version);
  const groupVersion = `${group}/${version.name}`;
  const fieldManager = new FieldManager({
    kind: gvk,
    subresource: '',
    typeOf: (wanted) => (wanted === groupVersion ? mergeType : undefined),
    clock,
  });
  const type = {
    group,
    version: version.name,
    resource,
    singular,
    kind,
    namespaced,
    create: (context: RequestContext, object: KubeObject, namespace: string): Promise<KubeObject> => {
      delete object['status'];
      const errors = schema.validate(object, { before: [] });
      if (errors.length > 0) throw newInvalid({ group, kind }, object.metadata.name ?? '', errors);
      return answer(context, object, namespace);
    },
  };
  const storage = createOnlyStorage(type, {
    fieldManager,
    decode: (body, strict) =>
      decodeCustom((wanted) => (wanted === groupVersion ? compiled : undefined), gvk, body, strict),
  });
  return { ...type, shortNames, table: defaultTable, schema: version.schema, storage };
}
