import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { eventually } from '../../integration/server.js';
import { type Answer, type Call, digList, digText, treeOf } from '../../integration/client.js';
import { CLUSTER_VERSION, IS_YARDSTICK, type TestCluster } from '../cluster.js';
import { defineWidgets, GROUP, widgetText } from '../widgets.js';

/** The group of the same type in the cluster itself. */
const TWIN = 'twin.example.com';
const NAMESPACE = 'twins';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' };
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const METADATA = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
const METADATA_LIST = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };

type Headers = Readonly<Record<string, string>>;
type Step = readonly [
  what: string,
  method: string,
  path: string,
  body?: object | string | undefined,
  headers?: Headers,
];

const red = (name: string, spec: object = {}, metadata: object = {}): string =>
  widgetText(name, { colour: 'red', ...spec }, metadata);
const applied = (spec: object): string => widgetText('applied', spec);

/** The steps run in order, and each depends on the previous ones. Paths are relative to the collection. */
const STEPS: readonly Step[] = [
  ['an empty list', 'GET', ''],
  ['create', 'POST', '', red('one', { free: { a: [1, 'x', null], 'b.c': 1.5, $d: {} } }, { labels: { n: '1' } })],
  ['create what is there', 'POST', '', red('one')],
  [
    'create with a generated name in dry run',
    'POST',
    '?dryRun=All',
    red('', {}, { name: undefined, generateName: 'gen-' }),
  ],
  ['create in dry run', 'POST', '?dryRun=All', red('dry')],
  ['what dry run made', 'GET', '/dry'],
  ['get', 'GET', '/one'],
  ['get what is not there', 'GET', '/none'],
  ['a value that is not in the enum', 'POST', '', widgetText('bad', { colour: 'pink' })],
  ['several wrong values', 'POST', '', widgetText('bad', { size: 'Not Good At All', replicas: -1, parts: [{}] })],
  ['a rule of CEL', 'POST', '', widgetText('bad', { colour: 'blue', replicas: 100 })],
  ['duplicates in a list of type map', 'POST', '', red('bad', { parts: [{ name: 'a' }, { name: 'a' }] })],
  ['a name that is none', 'POST', '', red('Not_A_Name')],
  ['unknown fields, ignored', 'POST', '?fieldValidation=Ignore', red('loose', { colr: 'x' })],
  ['unknown fields, warned of', 'POST', '?fieldValidation=Warn', red('warned', { colr: 'x' })],
  ['unknown fields, refused', 'POST', '?fieldValidation=Strict', red('strict', { colr: 'x' })],
  [
    'a duplicate key, refused',
    'POST',
    '?fieldValidation=Strict',
    red('strict').replace('"spec"', '"kind":"Widget","spec"'),
  ],
  ['no JSON', 'POST', '', '{'],
  ['another kind', 'POST', '', red('one').replace('"Widget"', '"Gadget"')],
  ['another namespace', 'POST', '', red('one', {}, { namespace: 'default' })],
  ['merge patch', 'PATCH', '/one', { spec: { size: 'big', parts: [{ name: 'a', count: 1 }] } }, MERGE],
  ['merge patch into something wrong', 'PATCH', '/one', { spec: { replicas: 'many' } }, MERGE],
  ['JSON patch', 'PATCH', '/one', [{ op: 'replace', path: '/spec/replicas', value: 60 }], JSON_PATCH],
  ['JSON patch whose test fails', 'PATCH', '/one', [{ op: 'test', path: '/spec/replicas', value: 1 }], JSON_PATCH],
  ['JSON patch of nothing', 'PATCH', '/one', [{ op: 'remove', path: '/spec/none' }], JSON_PATCH],
  ['a transition rule', 'PATCH', '/one', { spec: { replicas: 1 } }, MERGE],
  ['strategic merge patch', 'PATCH', '/one', { spec: { size: 'x' } }, STRATEGIC],
  ['status through the main resource', 'PATCH', '/one', { status: { replicas: 9 } }, MERGE],
  ['status', 'PATCH', '/one/status', { status: { replicas: 3 }, spec: { size: 'no' } }, MERGE],
  ['scale', 'GET', '/one/scale'],
  ['a new scale', 'PATCH', '/one/scale', { spec: { replicas: 70 } }, MERGE],
  ['a scale below zero', 'PATCH', '/one/scale', { spec: { replicas: -1 } }, MERGE],
  ['a subresource that is none', 'GET', '/one/log'],
  ['update with an old version', 'PUT', '/one', red('one', {}, { resourceVersion: '1' })],
  ['update under another name', 'PUT', '/one', red('two')],
  ['update without version', 'PUT', '/one', red('one', { replicas: 70 })],
  [
    'apply',
    'PATCH',
    '/applied?fieldManager=first',
    applied({ colour: 'red', parts: [{ name: 'a', count: 1 }] }),
    APPLY,
  ],
  [
    'apply by another',
    'PATCH',
    '/applied?fieldManager=second',
    applied({ colour: 'red', parts: [{ name: 'b' }] }),
    APPLY,
  ],
  ['apply into a conflict', 'PATCH', '/applied?fieldManager=second', applied({ colour: 'blue' }), APPLY],
  ['apply by force', 'PATCH', '/applied?fieldManager=second&force=true', applied({ colour: 'blue' }), APPLY],
  ['apply without manager', 'PATCH', '/applied', applied({ colour: 'blue' }), APPLY],
  ['selected by field', 'GET', '?fieldSelector=spec.colour%3Dblue'],
  ['selected by label', 'GET', '?labelSelector=n%20in%20(1,2)'],
  ['selected by a field that cannot be', 'GET', '?fieldSelector=spec.size%3Dbig'],
  ['a selector that is none', 'GET', '?labelSelector=a%20b'],
  ['a page', 'GET', '?limit=1'],
  ['a limit that is none', 'GET', '?limit=x'],
  ['a table', 'GET', '', undefined, TABLE],
  ['a table of one', 'GET', '/one', undefined, TABLE],
  ['metadata of one', 'GET', '/one', undefined, METADATA],
  ['metadata of all', 'GET', '', undefined, METADATA_LIST],
  ['YAML', 'GET', '/applied', undefined, { accept: 'application/yaml' }],
  ['a media type that there is not', 'GET', '/one', undefined, { accept: 'text/plain' }],
  ['Protobuf alone', 'GET', '/one', undefined, { accept: 'application/vnd.kubernetes.protobuf' }],
  ['a body of an unknown type', 'POST', '', 'x', { 'content-type': 'text/plain' }],
  ['a version that is not there yet', 'GET', '?resourceVersion=999999999&resourceVersionMatch=Exact'],
  ['a watch from something', 'GET', '?watch=true&resourceVersion=x'],
  ['with a finalizer', 'POST', '', red('held', {}, { finalizers: ['example.com/hold'] })],
  ['delete, held', 'DELETE', '/held'],
  ['delete again', 'DELETE', '/held'],
  ['a new finalizer while it goes', 'PATCH', '/held', { metadata: { finalizers: ['example.com/hold', 'b/c'] } }, MERGE],
  ['the last finalizer', 'PATCH', '/held', { metadata: { finalizers: null } }, MERGE],
  [
    'delete another incarnation',
    'DELETE',
    '/one',
    { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'x' } },
  ],
  ['delete in dry run', 'DELETE', '/one?dryRun=All'],
  ['delete', 'DELETE', '/one'],
  ['delete what is gone', 'DELETE', '/one'],
  ['delete the collection, selected', 'DELETE', '?labelSelector=n%3D5'],
  ['delete the collection', 'DELETE', ''],
  ['nothing is left', 'GET', ''],
];

/** Removes what differs between servers or between moments. */
function comparable(answer: Answer, group: string): object {
  const text = answer.text
    .replaceAll(group, 'GROUP')
    .replace(/"(uid|continue)":"[^"]+"/g, '"$1":"…"')
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID')
    .replace(/"?resourceVersion"?: ?"\d+"/g, '"resourceVersion":"…"')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .replace(/"name":"gen-\w{5}"/g, '"name":"gen-…"')
    .replace(/("Too large resource version: \d+, current: )\d+/g, '$1…')
    .replace(/current: \d+/g, 'current: …')
    .replace(/"cells":\["([^"]+)",("\w+",\d+),?[^\]]*\]/g, '"cells":["$1",$2]');
  const type = answer.headers['content-type'] ?? '';
  const json = type.startsWith('application/json');
  const body = json ? sorted(treeOf({ text })) : text;
  return { status: answer.status, type, warning: answer.headers.warning ?? '', body };
}

/** kube-apiserver lists the errors of one object's fields in the order of a Go map. */
function sorted(body: JsonObject): JsonObject {
  const details = body['details'];
  const causes = digList(details, 'causes');
  if (causes.length < 2) return body;
  const texts = causes.map((cause) => JSON.stringify(cause)).sort();
  const message = digText(body, 'message').replace(/\[.*\]$/, '[…]');
  return { ...body, message, details: { ...(details as JsonObject), causes: texts } };
}

/** Annex answers every request for a type as the cluster answers it for a type of its own. */
export function twins(cluster: TestCluster): void {
  const [comparison, why] = IS_YARDSTICK
    ? [describe, '']
    : [describe.skip, ` (skipped: the cluster is ${CLUSTER_VERSION ?? 'unknown'}, whose texts differ)`];
  comparison(`as a type of the cluster itself${why}`, () => {
    beforeAll(async () => {
      await defineWidgets(cluster, TWIN, 'cluster');
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      await eventually('the twin can be listed', async () =>
        (await cluster.http.get(`/apis/${TWIN}/v1/widgets`)).status === 200 ? true : undefined,
      );
    });

    test.each(STEPS.map((step) => [step[0], step] as const))('%s', async (_, [, method, path, body, headers = {}]) => {
      const ask = async (group: string): Promise<object> => {
        const call: Call = { method, path: `/apis/${group}/v1/namespaces/${NAMESPACE}/widgets${path}`, headers };
        const text = typeof body === 'object' ? JSON.stringify(body) : body;
        const sent = text === undefined ? call : { ...call, body: text.replaceAll(GROUP, group) };
        return comparable(await cluster.http.send(sent), group);
      };
      const [annex, own] = await Promise.all([ask(GROUP), ask(TWIN)]);
      expect(annex).toEqual(own);
    });
  });
}
