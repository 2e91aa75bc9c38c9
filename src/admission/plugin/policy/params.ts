import type { JsonObject } from '../../../apimachinery/json/json.js';
import { objectAt, stringAt, textAt } from '../../../apimachinery/json/json.js';
import { labelSelectorFromObject } from '../../../apimachinery/selectors/label-selector-object.js';
import { SelectorError } from '../../../apimachinery/selectors/labels.js';
import { formatGroupVersionKind, type KubeObject } from '../../../apimachinery/meta/meta.js';
import type { ParamSource, ParamStore } from '../../sources.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';
import { kindOfParams, type Binding, type ParamKind } from './hooks.js';

/** A policy or a binding cannot be evaluated; the failure policy decides. */
export class ConfigurationError extends Error {}

const formatParamKind = ({ apiVersion, kind }: ParamKind): string =>
  `&ParamKind{APIVersion:${apiVersion},Kind:${kind},}`;

/** Opens the store of a policy's params. Throws ConfigurationError. */
export async function openParams(source: ParamSource, paramKind: ParamKind): Promise<ParamStore> {
  const kind = kindOfParams(paramKind);
  const store = await source.open(kind);
  if (store !== undefined) return store;
  throw new ConfigurationError(`failed to find resource referenced by paramKind: '${formatGroupVersionKind(kind)}'`);
}

const WITHOUT_PARAMS: readonly undefined[] = [undefined];

/**
 * Returns the params that a binding evaluates its policy with, each once; undefined among them means without params.
 * Empty: there are no params and the binding allows that, so nothing is evaluated. Throws ConfigurationError.
 */
export function collectParams(
  paramKind: ParamKind | undefined,
  store: ParamStore | undefined,
  { paramRef }: Binding,
  namespace: string,
): MaybePromise<readonly (KubeObject | undefined)[]> {
  if (paramKind === undefined || store === undefined || paramRef === undefined) return WITHOUT_PARAMS;
  return findParams(paramKind, store, paramRef, namespace);
}

async function findParams(
  paramKind: ParamKind,
  store: ParamStore,
  paramRef: JsonObject,
  namespace: string,
): Promise<readonly KubeObject[]> {
  const given = textAt(paramRef, 'namespace');
  const wanted = given === '' ? namespace : given;
  if (store.namespaced && wanted === '') {
    throw new ConfigurationError(
      'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    );
  }
  if (!(await store.synced())) {
    throw new ConfigurationError(
      `paramKind kind \`${formatParamKind(paramKind)}\` not yet synced to use for admission`,
    );
  }
  if (given !== '' && !store.namespaced) {
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  const found = await select(store, paramRef, store.namespaced ? wanted : '');
  if (found.length === 0 && stringAt(paramRef, 'parameterNotFoundAction') === 'Deny') {
    throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return found.map((param) => typed(param, paramKind));
}

async function select(store: ParamStore, paramRef: JsonObject, namespace: string): Promise<readonly KubeObject[]> {
  const name = textAt(paramRef, 'name');
  const selector = objectAt(paramRef, 'selector');
  if (name !== '') {
    if (selector !== undefined) {
      throw new ConfigurationError('paramRef.name and paramRef.selector are mutually exclusive');
    }
    const param = await store.get(namespace, name);
    return param === undefined ? [] : [param];
  }
  if (selector === undefined) throw new ConfigurationError('one of name or selector must be provided');
  try {
    return await store.list(namespace, labelSelectorFromObject(selector));
  } catch (error) {
    if (error instanceof SelectorError) throw new ConfigurationError(error.message);
    throw error;
  }
}

const completed = new WeakMap<KubeObject, KubeObject>();

/** Returns the param with its kind, which stored objects may lack but expressions see. */
function typed(param: KubeObject, { apiVersion, kind }: ParamKind): KubeObject {
  if (param.kind !== undefined && param.apiVersion !== undefined) return param;
  let whole = completed.get(param);
  if (whole === undefined) completed.set(param, (whole = { ...param, apiVersion, kind }));
  return whole;
}
