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

function reported(answer: () => AuthenticationResponse | undefined, headers: Record<string, string>): string[] {
  const reasons: string[] = [];
  const counter = new ForgedHeaderCount(
    { authenticateRequest: answer },
    () => config,
    (reason, message) => reasons.push(`${reason} ${message}`),
  );
  try {
    expect(counter.authenticateRequest(request(headers))).toBe(answer());
  } catch (error) {
    expect(error).toBeInstanceOf(AuthenticationError);
  }
  return reasons;
}

const wrong = (text: string) => (): never => {
  throw new AuthenticationError(text);
};
const UNKNOWN = 'x509: certificate signed by unknown authority';
const EXPIRED =
  'x509: certificate has expired or is not yet valid: current time 2026-01-02T00:00:00Z is after 2026-01-01T00:00:00Z';
const NAME = 'x509: subject with cn=x is not in the allowed list';
const admin = { 'x-remote-user': 'admin' };

test.each<[string, () => AuthenticationResponse | undefined, Record<string, string>, string[]]>([
  ['headers without certificate', () => undefined, admin, ['no-certificate ']],
  ['a group alone', () => undefined, { 'x-remote-group': 'system:masters' }, ['no-certificate ']],
  ['headers with a certificate of somebody', wrong(UNKNOWN), admin, [`unknown-authority ${UNKNOWN}`]],
  ['headers with one that has expired', wrong(EXPIRED), admin, [`expired ${EXPIRED}`]],
  ['headers with one of another name', wrong(NAME), admin, [`name ${NAME}`]],
  ['headers with one that is none', wrong('asn1: structure error'), admin, ['other asn1: structure error']],
  ['a wrong certificate alone', wrong(UNKNOWN), {}, []],
  ['headers of the front proxy', () => known, admin, []],
  ['neither', () => undefined, { 'user-agent': 'x' }, []],
])('%s', (_, answer, headers, expected) => {
  expect(reported(answer, headers)).toEqual(expected);
});
