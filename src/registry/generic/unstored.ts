import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { FieldManager } from '../../managedfields/field-manager.js';
import type { CreateOnlyType } from '../rest/create-only.js';
import type { CreateOnlySubresource, ResourceType } from '../rest/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import type { UnstoredCreater } from '../rest/computed.js';
import type { CreateRequest } from '../rest/storage.js';
import { admitMutations, attributesOf } from './admission.js';
import { soleVersion } from './admission-versions.js';
import { ensureNamespace } from './identity.js';
import { dedupOwnerReferences, wipeSystemFields } from './system-fields.js';

interface Unstored {
  readonly fieldManager: FieldManager;
  readonly decode: ServedVersion['decode'];
}

/** Returns the storage of a create-only type, whose objects are answers: they pass admission like any other. */
export const createOnlyStorage = (type: CreateOnlyType, { fieldManager, decode }: Unstored): UnstoredCreater => ({
  decode,
  async create({ context, namespace, object, manager, admission, optionsFor }: CreateRequest) {
    wipeSystemFields(object.metadata);
    ensureNamespace(type.namespaced ? namespace : '', object.metadata);
    fieldManager.update(undefined, object, manager);
    const attributes = attributesOf(context, {
      operation: 'CREATE',
      kind: type,
      resource: type,
      subresource: '',
      namespace,
      name: object.metadata.name ?? '',
      object,
      oldObject: undefined,
      options: optionsFor('CREATE'),
      versions: soleVersion(decode),
    });
    await admitMutations(admission, attributes);
    await admission.validate(attributes);
    return { object: await type.create(context, object, namespace), stored: undefined };
  },
});

/** Returns the storage of a create-only subresource of a version of a type. */
export const createdStorage = (
  { group, resource, namespaced, isNamespace }: ResourceType,
  version: string,
  subresource: CreateOnlySubresource,
  { fieldManager, decode }: Unstored,
): UnstoredCreater => ({
  decode,
  async create({ context, namespace, object, manager, admission, optionsFor }: CreateRequest) {
    const { name } = context.info;
    ensureNamespace(namespaced ? namespace : '', object.metadata);
    dedupOwnerReferences(object, (text) => context.warn(text), { afterAdmission: false });
    fieldManager.update(undefined, object, manager);
    const attributes = attributesOf(context, {
      operation: 'CREATE',
      kind: subresource.gvk,
      resource: { group, version, resource },
      subresource: context.info.subresource,
      namespace: isNamespace === true ? name : namespace,
      name,
      object,
      oldObject: undefined,
      options: optionsFor('CREATE'),
      versions: soleVersion(decode),
    });
    await admitMutations(admission, attributes);
    const validate = async (): Promise<void> => admission.validate(attributes);
    const answer: KubeObject = await subresource.create(context, object, { namespace, name }, validate);
    return { object: answer, stored: undefined };
  },
});
