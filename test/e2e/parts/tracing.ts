import { eventually, NOBODY } from '../../integration/server.js';
import type { ReceivedSpan } from '../../integration/tracing/otlp-receiver.js';
import type { TestCluster } from '../cluster.js';
import { GROUP } from '../widgets.js';

const PATH = `/apis/${GROUP}/v1/namespaces/tracing/widgets`;
const CALLER = 'b7ad6b7169203331';
const WANTED = '1af7651916cd43dd8448eb211c80319c';
const UNWANTED = '2af7651916cd43dd8448eb211c80319c';
const asked = (trace: string): Record<string, string> => ({ traceparent: `00-${trace}-${CALLER}-01` });

/** Traces of requests through the aggregator. */
export function tracing(cluster: TestCluster): void {
  /** Returns the span and its ancestors, up to the caller. */
  const pathOf = (span: ReceivedSpan, all: readonly ReceivedSpan[]): ReceivedSpan[] => {
    const parent = all.find(({ spanId }) => spanId === span.parentId);
    return parent === undefined ? [span] : [span, ...pathOf(parent, all)];
  };

  test("the span of a request is a child of the API server's span", async () => {
    await cluster.kubectl.ok(['create', 'namespace', 'tracing']);
    // Only an administrator may turn on tracing.
    expect((await cluster.http.send({ path: PATH, token: NOBODY, headers: asked(UNWANTED) })).status).toBe(403);
    expect((await cluster.http.get(PATH, asked(WANTED))).status).toBe(200);
    const { spans } = cluster.collector;
    const served = await eventually('Annex and the cluster export what they traced', () => {
      const mine = spans.filter(({ traceId }) => traceId === WANTED);
      const list = mine.find(({ name }) => name === 'cacher.GetList' || name === 'List');
      const path = list === undefined ? [] : pathOf(list, mine);
      return Promise.resolve(path.at(-1)?.parentId === CALLER ? path : undefined);
    });
    // From the inside out: Annex's handler and request, the aggregator's call, the cluster's request.
    const instances = served.map(({ resource }) => resource['service.instance.id']);
    expect(new Set(instances).size).toBe(2);
    const entry = served.findLast(({ resource }) => resource['service.instance.id'] === instances[0]);
    expect(entry).toMatchObject({
      name: `GET /apis/${GROUP}/v1/namespaces/{:namespace}/widgets`,
      attributes: { 'http.status_code': 200 },
    });
    const above = served.slice(served.findIndex((span) => span === entry) + 1);
    expect(above.length).toBeGreaterThan(0);
    expect(new Set(above.map(({ resource }) => resource['service.instance.id'])).size).toBe(1);
    expect(spans.filter(({ traceId }) => traceId === UNWANTED)).toEqual([]);
  });
}
