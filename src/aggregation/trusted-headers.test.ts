import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
} from '../authentication/authenticator/interfaces.js';
import { ForgedHeaderCount } from './trusted-headers.js';

const config = {
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: [],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: [],
  allowedNames: [],
};
const known: AuthenticationResponse = { user: { name: 'u', uid: '', groups: [], extra: {} } };

const request = (headers: Record<string, string>): AuthenticationRequest => ({
  headers,
  rawHeaders: Object.entries(headers).flat(),
  socket: undefined,
  signal: new AbortController().signal,
});

function count(answer: () => AuthenticationResponse | undefined, headers: Record<string, string>): number {
  let forged = 0;
  const counter = new ForgedHeaderCount(
    { authenticateRequest: answer },
    () => config,
    () => forged++,
  );
  try {
    expect(counter.authenticateRequest(request(headers))).toBe(answer());
  } catch (error) {
    expect(error).toBeInstanceOf(AuthenticationError);
  }
  return forged;
}

const wrong = (): never => {
  throw new AuthenticationError('x509: certificate signed by unknown authority');
};

test.each<[string, () => AuthenticationResponse | undefined, Record<string, string>, number]>([
  ['headers without certificate', () => undefined, { 'x-remote-user': 'admin' }, 1],
  ['a group alone', () => undefined, { 'x-remote-group': 'system:masters' }, 1],
  ['headers with a wrong certificate', wrong, { 'x-remote-user': 'admin' }, 1],
  ['a wrong certificate alone', wrong, {}, 0],
  ['headers of the front proxy', () => known, { 'x-remote-user': 'admin' }, 0],
  ['neither', () => undefined, { 'user-agent': 'x' }, 0],
])('%s', (_, answer, headers, expected) => {
  expect(count(answer, headers)).toBe(expected);
});
