import { MongoNetworkError, MongoServerError, MongoServerSelectionError, type TopologyDescription } from 'mongodb';
import { StorageError } from '../../errors.js';
import { classifyFailure } from './connection.js';

const answered = (code: number): MongoServerError => new MongoServerError({ message: 'no', code });
const resolver = (code: string): Error => Object.assign(new Error(`querySrv ${code}`), { code });
const selection = (text: string): Error =>
  new MongoServerSelectionError(text, Object.create(null) as TopologyDescription);

test.each<[string, unknown]>([
  ['no primary', selection('Server selection timed out after 5000 ms')],
  ['a broken connection', new MongoNetworkError('connection 3 to 127.0.0.1:27017 closed')],
  ['a primary that steps down', answered(10107)],
  ['a stopping server', answered(11600)],
  ['a server that is shutting down', answered(91)],
  ['a resolver that does not exist yet', resolver('EAI_AGAIN')],
  ['a name that does not exist yet', resolver('ENOTFOUND')],
  ['what was found to be temporary', new StorageError('unavailable', 'MongoDB does not answer')],
])('%s is temporary', (_name, error) => {
  expect(classifyFailure(error)).toBe('unavailable');
});

test.each<[string, unknown]>([
  ['refused credentials', answered(18)],
  ['a user without permissions', answered(13)],
  ['a server that is too old', selection('Server at a:1 reports maximum wire version 4, but this version requires 8')],
  ['a refused command', answered(59)],
  ['an unknown format', new StorageError('unusable', 'the MongoDB database has format 99')],
  ['an internal error', new TypeError('undefined is not a function')],
])('%s fails the start', (_name, error) => {
  expect(classifyFailure(error)).toBe('unusable');
});
