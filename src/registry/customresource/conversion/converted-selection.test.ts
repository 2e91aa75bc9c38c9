import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { EVERYTHING } from '../../../apimachinery/selectors/selection-predicate.js';
import type { CachedList, CachedObject, WatchEvent, WatchEventType } from '../../../storage/cacher/interfaces.js';
import { compileSelection, parseFieldSelector } from '../../../apimachinery/selectors/field-selectors.js';
import { parseLabelSelector } from '../../../apimachinery/selectors/label-parser.js';
import { ConvertedSelection, selectableAsStored } from './converted-selection.js';

const SEPARATOR = { id: 'test', separator: ',', render: (object: CachedObject): Uint8Array => Buffer.from(object.key) };

/** Returns an object whose color has the given value in the requested version. */
const painted = (key: string, colour: string): CachedObject => ({
  key,
  revision: 1,
  bytes: Buffer.from(colour),
  flags: 0,
  object: undefined,
  attributes: { labels: undefined, fields: { 'metadata.name': key } },
  undecodable: false,
  incomplete: false,
  decode: () => ({}),
  render: (representation) => representation.render(painted(key, colour)),
});

const selecting = (fields: string): ConvertedSelection =>
  new ConvertedSelection(compileSelection(parseLabelSelector(''), parseFieldSelector(fields)), (object) => ({
    labels: undefined,
    fields: { colour: Buffer.from(object.bytes).toString() },
  }));

const event = (type: WatchEventType, object: CachedObject | undefined): WatchEvent => ({
  type,
  revision: 7,
  object,
  initialEventsEnd: false,
  encoded: (frame) => frame.encode(event(type, object)),
});

const RED = painted('a', 'red');
const BLUE = painted('a', 'blue');

test.each<[string, WatchEvent, CachedObject | undefined, WatchEventType | undefined]>([
  ['new and selected', event('ADDED', RED), undefined, 'ADDED'],
  ['new and not selected', event('ADDED', BLUE), undefined, undefined],
  ['changed within the selection', event('MODIFIED', RED), RED, 'MODIFIED'],
  ['entered the selection', event('MODIFIED', RED), BLUE, 'ADDED'],
  ['left the selection', event('MODIFIED', BLUE), RED, 'DELETED'],
  ['changed outside of the selection', event('MODIFIED', BLUE), BLUE, undefined],
  ['deleted while selected', event('DELETED', RED), undefined, 'DELETED'],
  ['deleted without being selected', event('DELETED', BLUE), undefined, undefined],
  ['a bookmark', event('BOOKMARK', undefined), undefined, 'BOOKMARK'],
])('an event is selected by state: %s', (_name, given, before, expected) => {
  const selected = selecting('colour=red').event(given, before);
  expect(selected?.type).toBe(expected);
  if (expected === 'DELETED') expect(Buffer.from(selected?.object?.bytes ?? []).toString()).toBe('red');
});

function listOf(...items: CachedObject[]): CachedList {
  const none = (): Iterable<Uint8Array> => [];
  const items_ = (): Iterable<CachedObject> => items;
  return {
    revision: 9,
    length: items.length,
    lastKey: undefined,
    remaining: 0,
    items: items_,
    chunks: none,
    gzipChunks: none,
  };
}

const ALL = listOf(painted('a', 'red'), painted('b', 'blue'), painted('c', 'red'), painted('d', 'red'));

test.each([
  ['all', 0, ['a', 'c', 'd'], undefined],
  ['a page with more to come', 2, ['a', 'c'], 'c'],
  ['a page that is just full', 3, ['a', 'c', 'd'], undefined],
])('lists %s', async (_name, limit, keys, lastKey) => {
  const options = { prefix: '', from: '', limit, predicate: EVERYTHING };
  const page = await selecting('colour=red').page(ALL, options, new FakeClock());
  expect([...page.items()].map(({ key }) => key)).toEqual(keys);
  expect([page.revision, page.length, page.lastKey, page.remaining]).toEqual([
    9,
    keys.length,
    lastKey,
    lastKey === undefined ? 0 : undefined,
  ]);
  expect(Buffer.concat([...page.chunks(SEPARATOR)]).toString()).toBe(keys.join(','));
});

test('names and namespaces are selected in the stored form', () => {
  const asStored = selectableAsStored(
    compileSelection(parseLabelSelector('a=b'), parseFieldSelector('metadata.name=x,colour=red')),
  );
  expect(asStored.name).toBe('x');
  expect(asStored.matches(undefined, { 'metadata.name': 'x' }, RED)).toBe(true);
  expect(asStored.matches(undefined, { 'metadata.name': 'y' }, RED)).toBe(false);
});
