import { isAbsolute } from 'node:path';
import {
  aggregate,
  duplicate,
  FieldError,
  FieldPath,
  invalid,
  notSupported,
  required,
  Printed,
  tooMany,
} from '../../apimachinery/meta/field-error.js';
import { isDns1123Subdomain } from '../../apimachinery/validation/names.js';
import { formatGoDuration } from '../../go/duration.js';
import { aggregateTexts } from '../authorizer/results.js';
import type { CompileMatchExpression, MatchExpression } from '../webhook/match-conditions.js';
import {
  AUTHORIZER_TYPES,
  AuthorizationConfigError,
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  type WebhookConfiguration,
} from './types.js';

const MAX_MATCH_CONDITIONS = 64;
const MAX_TIMEOUT = 30_000;

export interface ConfigValidation {
  readonly compileCondition: CompileMatchExpression;
  /** `missing` is the message of the system call (`stat /x: no such file or directory`). */
  statFile(path: string): { readonly regular: boolean } | { readonly missing: string };
  /** The types at startup, which a reload must keep. */
  readonly requiredTypes: readonly string[];
}

/** Throws AuthorizationConfigError with all problems. */
export function validateAuthorizationConfiguration(
  configuration: AuthorizationConfiguration,
  validation: ConfigValidation,
): void {
  const errors: FieldError[] = [];
  const { authorizers } = configuration;
  const path = FieldPath.of('authorizers');
  if (authorizers.length === 0) errors.push(required(path, 'at least one authorization mode must be defined'));
  const seen = { types: new Set<string>(), names: new Set<string>() };
  authorizers.forEach((item, index) => errors.push(...validateAuthorizer(item, path.index(index), seen, validation)));
  if (errors.length > 0) throw new AuthorizationConfigError(aggregate(errors));
  const texts = nameProblems(authorizers, validation.requiredTypes);
  if (texts.length > 0) throw new AuthorizationConfigError(aggregateTexts(texts));
}

/** The types that the file may use; the other modes are only available through the flag. */
const FILE_TYPES = new Set(['Webhook', 'Node', 'RBAC']);

function nameProblems(authorizers: readonly AuthorizerConfiguration[], requiredTypes: readonly string[]): string[] {
  const texts: string[] = [];
  const present = new Set(authorizers.map(({ type }) => type));
  for (const { type, name } of authorizers) {
    const expected = type.toLowerCase();
    if (type !== 'Webhook' && expected !== name) {
      texts.push(`expected name ${expected} for authorizer ${type} instead of ${name}`);
    }
  }
  const missing = requiredTypes.filter((type) => !present.has(type)).sort();
  if (missing.length > 0) texts.push(`missing required types: [${missing.join(' ')}]`);
  return texts;
}

function validateAuthorizer(
  { type, name, webhook }: AuthorizerConfiguration,
  path: FieldPath,
  seen: { readonly types: Set<string>; readonly names: Set<string> },
  validation: ConfigValidation,
): FieldError[] {
  if (type === '') return [required(path.child('type'))];
  if (!FILE_TYPES.has(type)) {
    return [
      notSupported(
        path.child('type'),
        type,
        AUTHORIZER_TYPES.filter((known) => FILE_TYPES.has(known)),
      ),
    ];
  }
  if (seen.types.has(type) && type !== 'Webhook') return [duplicate(path.child('type'), type)];
  seen.types.add(type);
  const errors = validateName(name, path.child('name'), seen.names);
  seen.names.add(name);
  if (type !== 'Webhook') {
    if (webhook !== undefined) {
      errors.push(invalid(path.child('webhook'), 'non-null', 'may only be specified when type=Webhook'));
    }
  } else if (webhook === undefined) errors.push(required(path.child('webhook'), 'required when type=Webhook'));
  else errors.push(...validateWebhook(webhook, path, validation));
  return errors;
}

function validateName(name: string, path: FieldPath, names: ReadonlySet<string>): FieldError[] {
  if (name === '') return [required(path)];
  if (names.has(name)) return [duplicate(path, name)];
  const texts = isDns1123Subdomain(name);
  return texts.length === 0 ? [] : [invalid(path, name, `authorizer name is invalid: ${texts.join(', ')}`)];
}

/** As in kube-apiserver, the field paths omit `webhook`. */
function validateWebhook(webhook: WebhookConfiguration, path: FieldPath, validation: ConfigValidation): FieldError[] {
  const errors: FieldError[] = [];
  const { timeout } = webhook;
  if (timeout === 0) errors.push(required(path.child('timeout')));
  else if (timeout > MAX_TIMEOUT || timeout < 0) {
    errors.push(invalid(path.child('timeout'), formatGoDuration(timeout), 'must be > 0s and <= 30s'));
  }
  for (const field of ['authorizedTTL', 'unauthorizedTTL'] as const) {
    if (webhook[field] < 0) errors.push(invalid(path.child(field), formatGoDuration(webhook[field]), 'must be > 0s'));
  }
  errors.push(
    ...validateChoice(webhook.subjectAccessReviewVersion, path.child('subjectAccessReviewVersion'), ['v1', 'v1beta1']),
    ...validateConditionVersion(webhook, path.child('matchConditionSubjectAccessReviewVersion')),
    ...validateChoice(webhook.failurePolicy, path.child('failurePolicy'), ['NoOpinion', 'Deny']),
    ...validateConnection(webhook, path.child('connectionInfo'), validation),
    ...compileMatchConditions(webhook.matchConditions, path, validation.compileCondition).errors,
  );
  return errors;
}

function validateChoice(value: string, path: FieldPath, choices: readonly string[]): FieldError[] {
  if (value === '') return [required(path)];
  return choices.includes(value) ? [] : [notSupported(path, value, choices)];
}

function validateConditionVersion(webhook: WebhookConfiguration, path: FieldPath): FieldError[] {
  const version = webhook.matchConditionSubjectAccessReviewVersion;
  if (version !== '') return validateChoice(version, path, ['v1']);
  return webhook.matchConditions.length === 0 ? [] : [required(path, 'required if match conditions are specified')];
}

function validateConnection(
  { connectionInfo }: WebhookConfiguration,
  path: FieldPath,
  validation: ConfigValidation,
): FieldError[] {
  const { type, kubeConfigFile } = connectionInfo;
  const filePath = path.child('kubeConfigFile');
  switch (type) {
    case '':
      return [required(path.child('type'))];
    case 'InClusterConfig':
      if (kubeConfigFile !== undefined) {
        return [invalid(filePath, kubeConfigFile, 'can only be set when type=KubeConfigFile')];
      }
      return [
        invalid(
          path.child('type'),
          type,
          'the webhook would call this server itself, which serves the SubjectAccessReview API',
        ),
      ];
    case 'KubeConfigFile':
      return validateFile(kubeConfigFile ?? '', filePath, validation);
    default: {
      // Go prints the whole struct here, with its fields in order.
      const shown = new Printed(JSON.stringify({ Type: type, KubeConfigFile: kubeConfigFile ?? null }));
      const choices = 'supported values: "InClusterConfig", "KubeConfigFile"';
      return [new FieldError('FieldValueNotSupported', path.child('type').toString(), shown, choices)];
    }
  }
}

function validateFile(file: string, path: FieldPath, validation: ConfigValidation): FieldError[] {
  if (file === '') return [required(path)];
  if (!isAbsolute(file)) return [invalid(path, file, 'must be an absolute path')];
  const info = validation.statFile(file);
  if ('missing' in info) return [invalid(path, file, `error loading file: ${info.missing}`)];
  return info.regular ? [] : [invalid(path, file, 'must be a regular file')];
}

export interface CompiledConditions {
  readonly conditions: readonly MatchExpression[];
  readonly errors: readonly FieldError[];
}

export function compileMatchConditions(
  expressions: readonly string[],
  path: FieldPath,
  compile: CompileMatchExpression,
): CompiledConditions {
  const at = path.child('matchConditions');
  if (expressions.length > MAX_MATCH_CONDITIONS) {
    return { conditions: [], errors: [tooMany(at, expressions.length, MAX_MATCH_CONDITIONS)] };
  }
  const conditions: MatchExpression[] = [];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  expressions.forEach((expression, index) => {
    const where = at.index(index).child('expression');
    if (expression.trim() === '') {
      errors.push(required(where));
      return;
    }
    if (seen.has(expression)) {
      errors.push(duplicate(where, expression));
      return;
    }
    seen.add(expression);
    const compiled = compile(expression);
    if ('error' in compiled) errors.push(invalid(where, expression, compiled.error));
    else conditions.push(compiled);
  });
  return { conditions, errors };
}
