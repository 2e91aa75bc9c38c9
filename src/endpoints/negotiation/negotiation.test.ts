import { ApiError } from '../../apimachinery/meta/errors.js';
import { cacheBytes } from '../../../test/fakes/util/cache-bytes.js';
import { parseAccept } from './accept.js';
import {
  checkPatchRoute,
  checkRoute,
  negotiate,
  negotiateInput,
  negotiatePatch,
  negotiateStatus,
  type Offer,
} from './media.js';

const custom: Offer = { noProtobuf: true, cbor: false, transforms: true };
const builtIn: Offer = { noProtobuf: false, cbor: false, transforms: true };
/** Endpoints whose routes check Accept first. */
const routes = new Map<Offer, 'object' | 'list'>([[builtIn, 'object']]);
const list: Offer = { ...builtIn };
routes.set(list, 'list');
const agent = { userAgent: 'kubectl/v1.36.3' };

const g = 'g=meta.k8s.io';
const accepted = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
const notAccepted = `only the following media types are accepted: ${accepted}`;
const notRouted = `406: Not Acceptable\n\nAvailable representations: ${accepted}`;

function outcome(header: string | undefined, offer: Offer, hints = agent): string {
  try {
    const route = routes.get(offer);
    if (route !== undefined) checkRoute(header, route, offer.cbor);
    const media = negotiate(header, offer, hints);
    if (media.streamError !== undefined) throw media.streamError;
    const form = media.as === undefined ? '' : ` ${media.as} ${media.asVersion ?? ''}`;
    return `${media.mediaType}${form}${media.pretty ? ' pretty' : ''}`;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

describe('the order of alternatives', () => {
  test.each<[string, string[]]>([
    ['application/yaml;q=0.5, application/json', ['application/json', 'application/yaml']],
    ['*/*;q=0.9, application/json;q=0.1', ['application/json', '*/*']],
    ['application/*, application/yaml', ['application/yaml', 'application/*']],
    ['application, */json, text/html/x, *, a/', ['*/json', '*/*']],
    ['a/b;q=x, c/d;q=0.1', ['c/d', 'a/b']],
  ])('%s', (header, order) => {
    expect(parseAccept(header).map((clause) => `${clause.type}/${clause.subtype}`)).toEqual(order);
  });

  test('malformed parameters are ignored', () => {
    const [clause] = parseAccept('application/json; as = Table ;g=;v=1=2;x');
    expect([...(clause?.params ?? [])]).toEqual([['as', 'Table']]);
  });
});

describe('responses', () => {
  test.each<[string, string | undefined, Offer, string]>([
    ['nothing', undefined, builtIn, 'application/json'],
    ['empty', '', custom, 'application/json'],
    ['anything', '*/*', builtIn, 'application/json'],
    ['a family, custom', 'application/*', custom, 'application/json'],
    ['a family, built-in', 'application/*', builtIn, `406 ${notRouted}`],
    ['quality', 'application/json;q=0.1,application/yaml;q=0.9', custom, 'application/yaml'],
    ['fall-back', 'text/html,application/json;q=0.5', builtIn, 'application/json'],
    ['protobuf', 'application/vnd.kubernetes.protobuf', builtIn, 'application/vnd.kubernetes.protobuf'],
    ['protobuf, custom', 'application/vnd.kubernetes.protobuf', custom, `406 ${notAccepted}`],
    ['protobuf, custom, fall-back', 'application/vnd.kubernetes.protobuf,application/json', custom, 'application/json'],
    [
      'protobuf of metadata, custom',
      `application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;${g}`,
      custom,
      'application/vnd.kubernetes.protobuf PartialObjectMetadata v1',
    ],
    ['Table', `application/json;as=Table;v=v1;${g},application/json`, list, 'application/json Table v1'],
    ['old Table', `application/json;as=Table;v=v1beta1;${g}`, list, 'application/json Table v1beta1'],
    ['Table in YAML', `application/yaml;as=Table;v=v1;${g}`, list, 'application/yaml Table v1'],
    ['Table in Protobuf', `application/vnd.kubernetes.protobuf;as=Table;v=v1;${g}`, builtIn, `406 ${notAccepted}`],
    ['Table of no version', `application/json;as=Table;v=v2;${g}`, builtIn, `406 ${notAccepted}`],
    ['unknown form', `application/json;as=Foo;v=v1;${g}`, builtIn, `406 ${notAccepted}`],
    ['unknown form, fall-back', `application/json;as=Foo;v=v1;${g}, */*`, builtIn, 'application/json'],
    ['charset', 'application/json;charset=utf-8', custom, 'application/json'],
    ['stream on an object', 'application/json;stream=watch', builtIn, 'application/json'],
    ['unknown stream', 'application/json;stream=foo', custom, `406 ${notAccepted}`],
    ['stream in YAML', 'application/yaml;stream=watch', custom, `406 ${notAccepted}`],
    ['server version', 'application/json;sv=1', builtIn, `406 ${notAccepted}`],
    ['pretty', 'application/json;pretty=1', custom, 'application/json pretty'],
    ['only a comma', ',', custom, `406 ${notAccepted}`],
    ['CBOR', 'application/cbor', custom, `406 ${notAccepted}`],
    ['CBOR, built-in', 'application/cbor', builtIn, `406 ${notRouted}`],
    ['CBOR with the gate', 'application/cbor', { ...custom, cbor: true }, 'application/cbor'],
    ['unknown with the gate', 'x/y', { ...custom, cbor: true }, `406 ${notAccepted}, application/cbor`],
  ])('%s', (_name, header, offer, expected) => {
    expect(outcome(header, offer)).toBe(expected);
  });

  test('errors for lists of built-in types name the stream types', () => {
    expect(outcome('foo/bar', list)).toBe(
      `406 ${notRouted}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch`,
    );
  });

  test.each<[string, string, string]>([
    ['JSON', '*/*', 'application/json'],
    ['Protobuf', 'application/vnd.kubernetes.protobuf', 'application/vnd.kubernetes.protobuf;stream=watch'],
    ['CBOR', 'application/cbor', 'application/cbor-seq'],
    [
      'YAML',
      'application/yaml',
      '406 only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq',
    ],
  ])('watches in %s', (_name, header, expected) => {
    expect(outcome(header, { ...list, cbor: true, watch: true })).toBe(expected);
  });

  test.each<[string, { pretty?: string; userAgent: string }, boolean]>([
    ['a program', agent, false],
    ['curl', { userAgent: 'curl/8.5' }, true],
    ['wget', { userAgent: 'Wget/1.21' }, true],
    ['a browser', { userAgent: 'Mozilla/5.0 (X11)' }, true],
    ['curl with pretty=false', { userAgent: 'curl/8.5', pretty: 'false' }, false],
    ['curl with an empty pretty', { userAgent: 'curl/8.5', pretty: '' }, true],
    ['curl with nonsense', { userAgent: 'curl/8.5', pretty: 'yes' }, false],
    ['a program with pretty=1', { ...agent, pretty: '1' }, true],
  ])('pretty for %s', (_name, hints, pretty) => {
    expect(negotiate('application/json', custom, hints).pretty).toBe(pretty);
    expect(negotiate('application/yaml', custom, hints).pretty).toBe(false);
  });

  test('errors are never transformed', () => {
    expect(negotiateStatus(`application/json;as=Table;v=v1;${g}`, false, agent)).toBeUndefined();
    expect(negotiateStatus('application/vnd.kubernetes.protobuf', false, agent)?.encoding).toBe('protobuf');
  });
});

describe('bodies', () => {
  const refused = `415 the body of the request was in an unknown format - accepted media types include: ${accepted}`;

  test.each<[string | undefined, boolean, string]>([
    [undefined, true, 'json'],
    ['', false, 'json'],
    ['application/json; charset=utf-8', false, 'json'],
    ['APPLICATION/JSON', false, 'json'],
    ['application/json;', false, 'json'],
    ['application/json;;', false, refused],
    ['application/json;charset', false, refused],
    ['application/json;a=b;A=c', false, refused],
    ['application/json;a=b;a=b', false, 'json'],
    ['application/json,text/plain', false, refused],
    ['application/yaml; a="b;c"', true, 'yaml'],
    ['text/plain', true, refused],
    ['foo', true, refused],
    ['application/vnd.kubernetes.protobuf', false, 'protobuf'],
    ['application/vnd.kubernetes.protobuf', true, refused],
    ['application/cbor', true, refused],
  ])('%s (custom: %s)', (contentType, isCustom, expected) => {
    let result: string;
    try {
      result = negotiateInput(contentType, { noProtobuf: isCustom, cbor: false });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      result = `${error.code} ${error.message}`;
    }
    expect(result).toBe(expected);
  });

  test.each<[string | undefined, boolean, string]>([
    ['application/merge-patch+json', true, 'application/merge-patch+json'],
    ['application/merge-patch+json; charset=utf-8', false, 'application/merge-patch+json'],
    ['application/json', false, '415: Unsupported Media Type'],
    [undefined, false, '415: Unsupported Media Type'],
    [
      'application/json',
      true,
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json',
    ],
  ])('patches: %s (custom: %s)', (contentType, isCustom, expected) => {
    const patchTypes = ['application/json-patch+json', 'application/merge-patch+json'];
    let result: string;
    try {
      if (!isCustom) checkPatchRoute(contentType, patchTypes);
      result = negotiatePatch(contentType, patchTypes);
    } catch (error) {
      result = error instanceof ApiError && error.code === 415 ? error.message : String(error);
    }
    expect(result).toBe(expected);
  });
});

test('negotiated media types are kept by bytes', async () => {
  for (let i = 0; i < 3000; i++) outcome(`application/json;x=${String(i)}${'y'.repeat(480)}`, custom);
  const kept = (await cacheBytes('media_types')) ?? NaN;
  expect(kept).toBeGreaterThan(256 << 10);
  expect(kept).toBeLessThanOrEqual(512 << 10);
});
