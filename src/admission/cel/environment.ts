import {
  AUTHORIZER_TYPES,
  JSON_PATCH_LIBRARY,
  kubernetesEnvironment,
  types,
  type Environment,
  type ExpressionOrigin,
  type VariableDecl,
} from '@annex/cel';
import { NAMESPACE_TYPE, REQUEST_TYPE, admissionStruct, patchStruct } from './types.js';

/** The variables that only some expressions have. */
export interface OptionalVariables {
  readonly params: boolean;
  readonly authorizer: boolean;
  /** `Object{…}`, `JSONPatch{…}` and jsonpatch.escapeKey, for mutations. */
  readonly patchTypes?: boolean;
}

const { DYN } = types;

const environments = new Map<string, Environment>();

/**
 * Returns the environment of admission expressions, without `variables`. New expressions may only use what the previous
 * version supports; stored ones may use everything.
 */
export function admissionEnvironment(origin: ExpressionOrigin, optional: OptionalVariables): Environment {
  const { params, authorizer, patchTypes = false } = optional;
  const key = `${origin} ${String(params)} ${String(authorizer)} ${String(patchTypes)}`;
  let environment = environments.get(key);
  if (environment === undefined)
    environments.set(key, (environment = create(origin, { params, authorizer, patchTypes })));
  return environment;
}

function create(
  origin: ExpressionOrigin,
  { params, authorizer, patchTypes }: Required<OptionalVariables>,
): Environment {
  const variables: VariableDecl[] = [
    { name: 'object', type: DYN },
    { name: 'oldObject', type: DYN },
    { name: 'namespaceObject', type: NAMESPACE_TYPE },
    { name: 'request', type: REQUEST_TYPE },
  ];
  if (params) variables.push({ name: 'params', type: DYN });
  if (authorizer) {
    variables.push({ name: 'authorizer', type: AUTHORIZER_TYPES.authorizer });
    variables.push({ name: 'authorizer.requestResource', type: AUTHORIZER_TYPES.resourceCheck });
  }
  const base = kubernetesEnvironment(origin).extend(variables, admissionStruct);
  return patchTypes ? base.with(JSON_PATCH_LIBRARY).extend([], patchStruct) : base;
}
