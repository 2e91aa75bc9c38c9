import { parseFieldSelector } from '../../../apimachinery/selectors/field-selectors.js';
import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import { parseLabelSelector } from '../../../apimachinery/selectors/label-parser.js';
import { labelSelectorFromObject } from '../../../apimachinery/selectors/label-selector-object.js';
import { SelectorError } from '../../../apimachinery/selectors/labels.js';
import type { UserInfo } from '../../../authentication/user/user.js';
import type { AuthorizerAttributes, SelectorRequirement } from '../../../authorization/authorizer/interfaces.js';
import { fieldRequirements, labelRequirements } from '../../../authorization/authorizer/selectors.js';

/** The attributes of a review, and the errors of its selectors that could not be fully parsed. */
export interface ReviewAttributes {
  readonly attributes: AuthorizerAttributes;
  /** The errors for `status.evaluationError`. */
  readonly selectorErrors: readonly string[];
}

interface Parsed {
  readonly requirements: readonly SelectorRequirement[];
  readonly failed: boolean;
}

const NOTHING: Parsed = { requirements: [], failed: false };

/** Returns the user that a SubjectAccessReview's spec names. */
export function userFrom(spec: JsonObject): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  for (const [key, values] of Object.entries(objectAt(spec, 'extra') ?? {})) extra[key] = stringsOf(values);
  return {
    name: textAt(spec, 'user'),
    uid: textAt(spec, 'uid'),
    groups: stringsOf(spec['groups']),
    extra,
  };
}

/** Returns the attributes of a valid spec for the authorizer. */
export function attributesFrom(user: UserInfo, spec: JsonObject): ReviewAttributes {
  const resource = objectAt(spec, 'resourceAttributes');
  if (resource === undefined) {
    const nonResource = objectAt(spec, 'nonResourceAttributes');
    const names = { namespace: '', apiGroup: '', apiVersion: '', resource: '', subresource: '', name: '' };
    const path = textAt(nonResource, 'path');
    const verb = textAt(nonResource, 'verb');
    return { attributes: { user, verb, path, resourceRequest: false, ...names }, selectorErrors: [] };
  }
  const text = (key: string): string => textAt(resource, key);
  const field = readSelector(objectAt(resource, 'fieldSelector'), parseFields, fieldRequirement);
  const label = readSelector(objectAt(resource, 'labelSelector'), parseLabels, labelRequirement);
  return {
    attributes: {
      user,
      verb: text('verb'),
      resourceRequest: true,
      namespace: text('namespace'),
      apiGroup: text('group'),
      apiVersion: text('version') || '*',
      resource: text('resource'),
      subresource: text('subresource'),
      name: text('name'),
      path: '',
      ...(field.requirements.length > 0 && { fieldSelector: field.requirements }),
      ...(label.requirements.length > 0 && { labelSelector: label.requirements }),
    },
    selectorErrors: [...selectorErrors('fieldSelector', field), ...selectorErrors('labelSelector', label)],
  };
}

function selectorErrors(name: string, { failed, requirements }: Parsed): readonly string[] {
  if (!failed) return [];
  const extent = requirements.length > 0 ? 'partially ignored' : 'ignored';
  return [`spec.resourceAttributes.${name} ${extent} due to parse error`];
}

function readSelector(
  selector: JsonObject | undefined,
  parse: (raw: string) => readonly SelectorRequirement[],
  read: (requirement: JsonObject) => SelectorRequirement | undefined,
): Parsed {
  if (selector === undefined) return NOTHING;
  const list = objectsOf(selector['requirements']);
  if (list.length > 0) {
    // Invalid requirements are omitted. As all of them must be met, this only makes the question broader.
    const requirements = list.map(read).filter((requirement) => requirement !== undefined);
    return { requirements, failed: requirements.length < list.length };
  }
  const raw = textAt(selector, 'rawSelector');
  if (raw === '') return NOTHING;
  try {
    return { requirements: parse(raw), failed: false };
  } catch (error) {
    if (error instanceof SelectorError) return { requirements: [], failed: true };
    throw error;
  }
}

const parseFields = (raw: string): readonly SelectorRequirement[] =>
  fieldRequirements(parseFieldSelector(raw).requirements);
const parseLabels = (raw: string): readonly SelectorRequirement[] =>
  labelRequirements(parseLabelSelector(raw).requirements);

function fieldRequirement(requirement: JsonObject): SelectorRequirement | undefined {
  const operator = textAt(requirement, 'operator');
  const values = stringsOf(requirement['values']);
  if ((operator !== 'In' && operator !== 'NotIn') || values.length !== 1) return undefined;
  return { key: textAt(requirement, 'key'), operator, values };
}

function labelRequirement(requirement: JsonObject): SelectorRequirement | undefined {
  try {
    return labelRequirements(labelSelectorFromObject({ matchExpressions: [requirement] }).requirements)[0];
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
