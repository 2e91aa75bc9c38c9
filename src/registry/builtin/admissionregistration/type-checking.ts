import { admissionStruct, NAMESPACE_TYPE, REQUEST_TYPE } from '../../../admission/cel/types.js';
import { Composition } from '../../../admission/cel/variables.js';
import { AUTHORIZER_TYPES, type Environment, kubernetesEnvironment, types, type VariableDecl } from '@annex/cel';
import { ObjectType } from '../../../expressions/types.js';
import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import {
  compareUtf8,
  formatGroupVersionKind,
  type GroupVersionKind,
  type GroupVersionResource,
  type KubeObject,
  parseGroupVersion,
} from '../../../apimachinery/meta/meta.js';

const MAX_TYPES = 10;

/** Looks up the types that policies match. */
export interface KnownTypes {
  /** Returns the kind of a served resource. */
  kindOf(resource: GroupVersionResource): GroupVersionKind | undefined;
  /** Returns the whole schema of a kind. */
  schemaOf(kind: GroupVersionKind): JsonObject | undefined;
}

export interface ExpressionWarning extends JsonObject {
  fieldRef: string;
  warning: string;
}

/** Checks the expressions of a policy against the types that it matches (status.typeChecking). */
export function checkPolicyTypes(policy: KubeObject, known: KnownTypes): ExpressionWarning[] {
  const spec = objectAt(policy, 'spec') ?? {};
  const environments = typesToCheck(spec, known).flatMap((kind): CheckedType[] => {
    const schema = known.schemaOf(kind);
    return schema === undefined ? [] : [{ kind, environment: environmentFor(spec, kind, schema, known) }];
  });
  const warnings: ExpressionWarning[] = [];
  objectsOf(spec['validations']).forEach((validation, i) => {
    for (const field of ['expression', 'messageExpression']) {
      const expression = textAt(validation, field);
      if (expression === '' && field === 'messageExpression') continue;
      const warning = checkExpression(expression, environments);
      if (warning !== '') warnings.push({ fieldRef: `spec.validations[${String(i)}].${field}`, warning });
    }
  });
  return warnings;
}

interface CheckedType {
  readonly kind: GroupVersionKind;
  readonly environment: Environment;
}

function checkExpression(expression: string, checked: readonly CheckedType[]): string {
  return checked
    .flatMap(({ kind, environment }) => {
      const { failure } = environment.compile(expression);
      return failure === undefined ? [] : [`${formatGroupVersionKind(kind)}: ${failure.text}\n`];
    })
    .join('\n');
}

/** Returns an environment in which `object`, `oldObject` and `params` have the types of their schemas. */
function environmentFor(spec: JsonObject, kind: GroupVersionKind, schema: JsonObject, known: KnownTypes): Environment {
  const variables: VariableDecl[] = [
    { name: 'request', type: REQUEST_TYPE },
    { name: 'namespaceObject', type: NAMESPACE_TYPE },
    { name: 'authorizer', type: AUTHORIZER_TYPES.authorizer },
  ];
  const paramKind = objectAt(spec, 'paramKind');
  const paramSchema = paramKind === undefined ? undefined : known.schemaOf(kindOfParams(paramKind));
  if (paramKind !== undefined && paramSchema === undefined) variables.push({ name: 'params', type: types.DYN });
  let base = kubernetesEnvironment('stored').extend(variables, admissionStruct);
  base = new ObjectType(kind.kind, schema).within(base, 'object', 'oldObject');
  if (paramSchema !== undefined) base = new ObjectType(`params.${kind.kind}`, paramSchema).within(base, 'params');
  const composition = new Composition();
  const environment = composition.within(base);
  for (const variable of objectsOf(spec['variables'])) {
    composition.add(environment, textAt(variable, 'name'), textAt(variable, 'expression'));
  }
  return environment;
}

function kindOfParams(paramKind: JsonObject): GroupVersionKind {
  const { group, version } = parseGroupVersion(textAt(paramKind, 'apiVersion')) ?? { group: '', version: '' };
  return { group, version, kind: textAt(paramKind, 'kind') };
}

/** Returns the kinds that rules name without wildcards, at most ten. */
function typesToCheck(spec: JsonObject, known: KnownTypes): GroupVersionKind[] {
  const found = new Map<string, GroupVersionKind>();
  for (const rule of objectsOf(objectAt(spec, 'matchConstraints')?.['resourceRules'])) {
    let count = 0;
    for (const resource of namedResources(rule)) {
      const kind = known.kindOf(resource);
      if (kind === undefined) continue;
      found.set(formatGroupVersionKind(kind), kind);
      if (++count === MAX_TYPES) return sorted(found);
    }
  }
  return sorted(found);
}

const sorted = (found: ReadonlyMap<string, GroupVersionKind>): GroupVersionKind[] =>
  [...found.values()].sort(
    (a, b) => compareUtf8(a.group, b.group) || compareUtf8(a.version, b.version) || compareUtf8(a.kind, b.kind),
  );

function namedResources(rule: JsonObject): GroupVersionResource[] {
  const names = (key: string): string[] => stringsOf(rule[key]).sort(compareUtf8);
  const groups = names('apiGroups');
  const versions = names('apiVersions');
  if ([...groups, ...versions].some((name) => name.includes('*'))) return [];
  const resources = names('resources').filter((name) => !/[*/]/.test(name));
  return groups.flatMap((group) =>
    versions.flatMap((version) => resources.map((resource) => ({ group, version, resource }))),
  );
}
