import { missingIn } from './rights.js';

describe('missingIn', () => {
  const all = missingIn([], 'annex');
  test.each([
    ['the database', [{ resource: { db: 'annex', collection: '' }, actions: all }], []],
    ['every database', [{ resource: { db: '', collection: '' }, actions: all }], []],
    ['everything', [{ resource: { anyResource: true }, actions: all }], []],
    ['another database', [{ resource: { db: 'x', collection: '' }, actions: all }], all],
    ['one collection', [{ resource: { db: 'annex', collection: 'c' }, actions: all }], all],
    [
      'reading alone',
      [{ resource: { db: 'annex', collection: '' }, actions: ['find', 'changeStream'] }],
      all.filter((action) => action !== 'find' && action !== 'changeStream'),
    ],
  ])('with privileges on %s', (_, privileges, missing) => {
    expect(missingIn(privileges, 'annex')).toEqual(missing);
  });
});
