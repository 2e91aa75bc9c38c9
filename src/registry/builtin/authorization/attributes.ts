import type { FieldSelectorRequirement, LabelSelectorRequirement } from '../../../apimachinery/generated/meta.js';
import type * as authorization from '../../../apimachinery/generated/authorization.js';
import { parseFieldSelector } from '../../../apimachinery/selectors/field-selectors.js';
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

type Requirement = FieldSelectorRequirement | LabelSelectorRequirement;

const NOTHING: Parsed = { requirements: [], failed: false };

/** Returns the user that a SubjectAccessReview's spec names. */
export function userFrom(spec: authorization.SubjectAccessReviewSpec): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  for (const [key, values] of Object.entries(spec.extra ?? {})) extra[key] = values ?? [];
  return {
    name: spec.user ?? '',
    uid: spec.uid ?? '',
    groups: spec.groups ?? [],
    extra,
  };
}

/** Returns the attributes of a valid spec for the authorizer. */
export function attributesFrom(user: UserInfo, spec: authorization.SubjectAccessReviewSpec): ReviewAttributes {
  const resource = spec.resourceAttributes;
  if (resource === undefined) {
    const nonResource = spec.nonResourceAttributes;
    const names = { namespace: '', apiGroup: '', apiVersion: '', resource: '', subresource: '', name: '' };
    const path = nonResource?.path ?? '';
    const verb = nonResource?.verb ?? '';
    return { attributes: { user, verb, path, resourceRequest: false, ...names }, selectorErrors: [] };
  }
  const text = (key: 'verb' | 'namespace' | 'group' | 'version' | 'resource' | 'subresource' | 'name'): string =>
    resource[key] ?? '';
  const field = readSelector(resource.fieldSelector, parseFields, fieldRequirement);
  const label = readSelector(resource.labelSelector, parseLabels, labelRequirement);
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
  selector: authorization.FieldSelectorAttributes | authorization.LabelSelectorAttributes | undefined,
  parse: (raw: string) => readonly SelectorRequirement[],
  read: (requirement: Requirement) => SelectorRequirement | undefined,
): Parsed {
  if (selector === undefined) return NOTHING;
  const list = selector.requirements ?? [];
  if (list.length > 0) {
    // Invalid requirements are omitted. As all of them must be met, this only makes the question broader.
    const requirements = list.map(read).filter((requirement) => requirement !== undefined);
    return { requirements, failed: requirements.length < list.length };
  }
  const raw = selector.rawSelector ?? '';
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

function fieldRequirement(requirement: Requirement): SelectorRequirement | undefined {
  const operator = requirement.operator ?? '';
  const values = requirement.values ?? [];
  if ((operator !== 'In' && operator !== 'NotIn') || values.length !== 1) return undefined;
  return { key: requirement.key ?? '', operator, values };
}

function labelRequirement(requirement: Requirement): SelectorRequirement | undefined {
  try {
    return labelRequirements(labelSelectorFromObject({ matchExpressions: [requirement] }).requirements)[0];
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
