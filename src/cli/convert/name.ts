import { isObject, type JsonValue, objectAt, stringAt } from '../../apimachinery/json/json.js';

/** Describes the object in a document for messages. */
export function describe(value: JsonValue): string {
  if (!isObject(value)) return 'document';
  const metadata = objectAt(value, 'metadata');
  const name = stringAt(metadata, 'name') ?? stringAt(metadata, 'generateName');
  const namespace = stringAt(metadata, 'namespace');
  const parts = [stringAt(value, 'apiVersion'), stringAt(value, 'kind')];
  if (name !== undefined) parts.push(namespace === undefined ? name : `${namespace}/${name}`);
  return parts.filter((part) => part !== undefined).join(' ');
}
