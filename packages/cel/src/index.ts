/**
 * The Common Expression Language: compiles expressions against declared variables and types, evaluates them with metered
 * cost, and estimates their maximum cost. See the README of this package.
 */
export { Environment } from './environment.js';
export type { CompileFailure, CompileResult, EnvironmentOptions } from './environment.js';
export type { Library } from './library/library.js';
export { LIMIT_EXCEEDED, Program } from './program.js';
export type { Bindings, Outcome } from './program.js';
export type { FunctionDecl, OverloadDecl, StructDecl, VariableDecl } from './declarations.js';
export { fn, method, overload } from './declarations.js';
export * as types from './types.js';
export { isOptional, Type } from './types.js';
export {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  EntryMap,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  typeName,
} from './values/value.js';
export type { Value } from './values/value.js';
export { fromJson } from './schema/json.js';
export { formatDuration, formatTimestamp } from './values/time.js';
export { DeclType, SchemaTypes, adapterOf, withTypeAndObjectMeta } from './schema/decl-type.js';
export type { Adapter } from './schema/json.js';
export { escapeIdentifier, unescapeIdentifier } from './schema/decl-type.js';
export { kubernetesEnvironment } from './kubernetes.js';
export { Quantity } from './library/kubernetes/quantity.js';
export type { ExpressionOrigin } from './kubernetes.js';
export { AUTHORIZER_TYPES, AnswerPending, AuthorizerValue, ResourceCheck } from './library/authorizer.js';
export type { AuthorizationAnswer, AuthorizationQuery, Authorize, ResourceQuery } from './library/authorizer.js';
export { JSON_PATCH_LIBRARY } from './library/extensions.js';
export { estimateCost } from './cost/estimate.js';
export type { VariableTypes } from './cost/estimate.js';
export type { Range } from './cost/functions.js';
export { UNBOUNDED } from './cost/functions.js';
export { formatIssues } from './source.js';
export type { Issue } from './source.js';
export { walk } from './ast.js';
export type { Expr } from './ast.js';
