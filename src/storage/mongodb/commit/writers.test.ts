import { MongoClient } from 'mongodb';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { MAIN_LOG } from '../documents.js';
import { Writers } from './writers.js';

test('each restart continues with a new client, and closes the one before unless others use it', () => {
  const closed: MongoClient[] = [];
  const newClient = (): MongoClient => {
    const client = new MongoClient('mongodb://127.0.0.1:1');
    client.close = () => Promise.resolve(void closed.push(client));
    return client;
  };
  const client = newClient();
  const options = { client, database: 'annex', clock: new FakeClock(), id: 'one', log: MAIN_LOG, layout: '' };
  const writers = new Writers({ ...options, connect: newClient });
  writers.startOver();
  const second = writers.client;
  writers.startOver();
  expect(new Set([client, second, writers.client]).size).toBe(3);
  expect(closed).toEqual([second]);
});
