import { addFacts, FACTS, type JsonObject } from '../apimachinery/json/json.js';
import { encodeObject } from './encode.js';
import { encodeRecord, INCOMPLETE, readRecord, recordOf, UNSEEN_MEMBERS } from './record.js';

const encoded = encodeObject({ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' } });
const text = '{"apiVersion":"v1","kind":"Thing","metadata":{"resourceVersion":"7","name":"a"}}';

test.each([0, INCOMPLETE, UNSEEN_MEMBERS, INCOMPLETE | UNSEEN_MEMBERS])('round-trips the flags %d', (flags) => {
  const record = encodeRecord({ ...encoded, flags }, 7);
  expect(record.toString('latin1')).toBe(`\u0001${String.fromCharCode(flags)}${text}`);
  const state = readRecord(record);
  expect({ ...state, bytes: Buffer.from(state.bytes).toString() }).toEqual({ bytes: text, flags });
  expect(recordOf(state)).toEqual(record);
});

test('leaves room before a record to the caller', () => {
  for (const record of [encodeRecord(encoded, 7, 5), recordOf({ bytes: Buffer.from(text), flags: 0 }, 5)]) {
    record.fill(0xff, 0, 5);
    expect(Buffer.from(readRecord(record, 5).bytes).toString()).toBe(text);
  }
});

test.each([
  ['a newer format', Buffer.from(`\u0002\u0000${text}`)],
  ['a text without a header', Buffer.from(text)],
  ['nothing', Buffer.alloc(0)],
])('%s is not an object', (_name, record) => {
  expect(readRecord(record)).toEqual({ bytes: Buffer.alloc(0), flags: 0 });
});

test('facts that the store keeps become flags, and stored objects have no facts', () => {
  const flagsOf = (facts: JsonObject[typeof FACTS]): number => {
    const object: JsonObject = { metadata: { name: 'a' } };
    addFacts(object, { ...facts, mutated: true });
    const made = encodeObject(object);
    expect(made.object[FACTS]).toBeUndefined();
    expect(object[FACTS]?.mutated).toBe(true);
    return made.flags;
  };
  expect(flagsOf({})).toBe(0);
  expect(flagsOf({ incomplete: true, unseenMembers: 'stored' })).toBe(INCOMPLETE | UNSEEN_MEMBERS);
  expect(flagsOf({ unseenMembers: 'dropped' })).toBe(0);
});
