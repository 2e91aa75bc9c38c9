import { redact } from './redact.js';

test.each([
  ['user and password', 'mongodb://annex:p4ss@a:1,b:2/?tls=true', 'auth of annex:p4ss failed', 'auth of *** failed'],
  ['a password alone', 'mongodb://annex:p4ss@a:1/', 'refused: p4ss', 'refused: ***'],
  ['an escaped password', 'mongodb://annex:p%40ss@a:1/', 'p@ss, p%40ss', '***, ***'],
  ['a password, and an @ in the options', 'mongodb://annex:p4ss@a:1/?appName=x@y', 'p4ss of annex', '*** of annex'],
  ['a password with an @', 'mongodb://annex:p@4s/s@a:1/', 'bad p@4s/s', 'bad ***'],
  ['a misspelt scheme', ' MongoDB:/annex:p4ss@a:1/', 'invalid MongoDB:/annex:p4ss@a:1/', 'invalid MongoDB:/***@a:1/'],
  ['a missing scheme', 'annex:p4ss@a:1/', 'invalid p4ss', 'invalid ***'],
  [
    'the password of a key',
    'mongodb://a:1/?tlsCertificateKeyFilePassword=k%2Fy&tls=true',
    'k/y or k%2Fy',
    '*** or ***',
  ],
  ['a session token', 'mongodb://a/?authMechanismProperties=X:1,AWS_SESSION_TOKEN:t0k', 'bad t0k', 'bad ***'],
  ['nothing', 'mongodb://a:1/', 'connect ECONNREFUSED a:1\n  again', 'connect ECONNREFUSED a:1 again'],
])('redacts %s', (_name, uri, message, expected) => {
  expect(redact(message, uri)).toBe(expected);
});
