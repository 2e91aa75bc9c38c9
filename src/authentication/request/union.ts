import { ApiError } from '../../apimachinery/meta/errors.js';
import { messageOf } from '../../util/error-message.js';
import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/**
 * Combines several errors into one: an ApiError first (a method was unavailable), then one whose message clients may
 * see, else all messages.
 */
function combined(errors: readonly unknown[]): AuthenticationError | ApiError {
  const apiError = errors.find((error): error is ApiError => error instanceof ApiError);
  if (apiError !== undefined) return apiError;
  const texts = [...new Set(errors.map((error) => messageOf(error)))];
  const clientError = errors.find(
    (error): error is AuthenticationError => error instanceof AuthenticationError && error.exposeToClient,
  );
  if (clientError !== undefined) return clientError;
  return new AuthenticationError(texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`);
}

/** Tries one method after the other; the first that recognizes the user decides. Errors count only if none does. */
function firstOf<T>(
  methods: readonly T[],
  ask: (method: T) => MaybePromise<AuthenticationResponse | undefined>,
): MaybePromise<AuthenticationResponse | undefined> {
  let errors: unknown[] | undefined;
  for (let i = 0; i < methods.length; i++) {
    const method = methods[i];
    if (method === undefined) continue;
    try {
      const answer = ask(method);
      if (answer instanceof Promise) return restOf(methods, i + 1, answer, errors ?? [], ask);
      if (answer !== undefined) return answer;
    } catch (error) {
      (errors ??= []).push(error);
    }
  }
  if (errors !== undefined) throw combined(errors);
  return undefined;
}

async function restOf<T>(
  methods: readonly T[],
  from: number,
  pending: Promise<AuthenticationResponse | undefined>,
  errors: unknown[],
  ask: (method: T) => MaybePromise<AuthenticationResponse | undefined>,
): Promise<AuthenticationResponse | undefined> {
  let waiting: MaybePromise<AuthenticationResponse | undefined> = pending;
  for (let i = from; ; i++) {
    try {
      const answer = await waiting;
      if (answer !== undefined) return answer;
    } catch (error) {
      errors.push(error);
    }
    const method = methods[i];
    if (method === undefined) break;
    try {
      waiting = ask(method);
    } catch (error) {
      errors.push(error);
      waiting = undefined;
    }
  }
  if (errors.length > 0) throw combined(errors);
  return undefined;
}

/** Combines several methods of request authentication. */
export class UnionRequestAuthenticator implements RequestAuthenticator {
  constructor(private readonly methods: readonly RequestAuthenticator[]) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    return firstOf(this.methods, (method) => method.authenticateRequest(request));
  }
}

/** Combines several kinds of tokens. */
export class UnionTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly methods: readonly TokenAuthenticator[]) {}

  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined> {
    return firstOf(this.methods, (method) => method.authenticateToken(token, audiences, signal));
  }
}
