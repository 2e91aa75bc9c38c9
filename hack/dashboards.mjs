// Writes the chart's Grafana dashboards, charts/annex/files/dashboards: node hack/dashboards.mjs
// With --check it writes nothing, and fails if a file is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../charts/annex/files/dashboards');

const of = (metric, ...more) => `${metric}{${['job="$job"', 'instance=~"$instance"', ...more].join(', ')}}`;
const rate = (metric, ...more) => `rate(${of(metric, ...more)}[$__rate_interval])`;
const sum = (by, inner) => (by === '' ? `sum(${inner})` : `sum by (${by}) (${inner})`);
const quantile = (q, by, metric, ...more) =>
  `histogram_quantile(${q}, ${sum(['le', by].filter(Boolean).join(', '), rate(`${metric}_bucket`, ...more))})`;
const REQUESTS = 'apiserver_request_total';
const SLI = 'apiserver_request_sli_duration_seconds';
const SHORT = 'verb!~"WATCH|CONNECT"';

/** Panels as title, unit, description, and queries with their legends. */
const OPERATIONS = {
  Traffic: [
    [
      'Requests by verb',
      'reqps',
      'Completed requests. A watch is counted when it ends.',
      [[sum('verb', rate(REQUESTS)), '{{verb}}']],
    ],
    ['Requests by code', 'reqps', 'Requests by status code.', [[sum('code', rate(REQUESTS)), '{{code}}']]],
    [
      'Requests in flight',
      'short',
      'Maximum number of concurrent requests since the last scrape. The limits are --max-requests-inflight and --max-mutating-requests-inflight.',
      [[of('apiserver_current_inflight_requests'), '{{instance}} {{request_kind}}']],
    ],
    [
      'Requests by replica',
      'reqps',
      'Distribution of the load across replicas.',
      [[sum('instance', rate(REQUESTS)), '{{instance}}']],
    ],
    [
      'Bytes',
      'Bps',
      'Bytes of responses to reads, watch events, and request bodies.',
      [
        [sum('', rate('apiserver_response_sizes_sum')), 'responses'],
        [sum('', rate('apiserver_watch_events_sizes_sum')), 'watch events'],
        [sum('', rate('apiserver_request_body_size_bytes_sum')), 'request bodies'],
      ],
    ],
    [
      'Authentication and authorization',
      'ops',
      'Decisions by result.',
      [
        [sum('result', rate('authentication_attempts')), 'authentication {{result}}'],
        [sum('result', rate('authorization_attempts_total')), 'authorization {{result}}'],
      ],
    ],
  ],
  Errors: [
    [
      'Server error ratio',
      'percentunit',
      'Share of requests with a 5xx status code. AnnexErrorRate fires above 3 %.',
      [[`(${sum('', rate(REQUESTS, 'code=~"5.."'))} or vector(0)) / ${sum('', rate(REQUESTS))}`, 'server errors']],
    ],
    [
      'Errors by verb and code',
      'reqps',
      'Requests with a 4xx or 5xx status code. 404 and 409 are normal.',
      [[sum('verb, code', rate(REQUESTS, 'code=~"[45].."')), '{{verb}} {{code}}']],
    ],
    [
      'Rejected requests',
      'reqps',
      'Requests rejected with 429 because the limits on requests in flight were reached, and requests terminated to protect the server.',
      [
        [
          sum('instance, request_kind', rate('apiserver_dropped_requests_total')),
          '{{instance}} {{request_kind}} rejected',
        ],
        [sum('instance, code', rate('apiserver_request_terminations_total')), '{{instance}} {{code}} terminated'],
      ],
    ],
    [
      'Failed connections',
      'ops',
      'Failed TLS handshakes, HTTP/2 connections closed because of the client, and aborted responses.',
      [
        [sum('instance', rate('apiserver_tls_handshake_errors_total')), '{{instance}} TLS'],
        [sum('instance, code', rate('annex_http2_connection_errors_total')), '{{instance}} HTTP/2 {{code}}'],
        [sum('instance', rate('apiserver_request_aborts_total')), '{{instance}} aborted responses'],
      ],
    ],
    [
      'Readiness checks',
      'short',
      '1 while the check passes, 0 while it fails.',
      [[of('kubernetes_healthcheck', 'type="readyz"'), '{{instance}} {{name}}']],
    ],
    [
      'Links to the cluster',
      'short',
      '1 while Annex cannot read or write something that it needs from the cluster or from its certificate files.',
      [[of('annex_cluster_link_broken'), '{{instance}} {{link}}']],
    ],
  ],
  Adoptions: [
    [
      'Phase',
      'short',
      'Current phase of the Adoption of each group. Writes are refused in Fencing, Switching and Returning.',
      [[`max by (group, phase) (${of('annex_adoption_phase')})`, '{{group}} {{phase}}']],
    ],
    [
      'Objects to copy',
      'short',
      'Objects in the cluster that have not been copied yet.',
      [
        [
          `max by (group, resource) (${of('annex_adoption_source_objects')} - ${of('annex_adoption_copied_objects')})`,
          '{{group}} {{resource}}',
        ],
      ],
    ],
    [
      'Lag',
      's',
      'Time since the copy was last known to be complete; 0 while changes are followed.',
      [[`max by (group, resource) (${of('annex_adoption_lag_seconds')})`, '{{group}} {{resource}}']],
    ],
  ],
  Latency: [
    [
      'p99 by verb',
      's',
      '99 % of requests complete within this time, excluding webhooks.',
      [[quantile(0.99, 'verb', SLI, SHORT), '{{verb}}']],
    ],
    [
      'Median by verb',
      's',
      'Half of the requests complete within this time, excluding webhooks.',
      [[quantile(0.5, 'verb', SLI, SHORT), '{{verb}}']],
    ],
    [
      'p99 by replica',
      's',
      'The same, by replica: a slow replica stands out.',
      [[quantile(0.99, 'instance', SLI, SHORT), '{{instance}}']],
    ],
  ],
  Store: [
    [
      'Store requests',
      'ops',
      'Requests to MongoDB or to the embedded store.',
      [[sum('operation', rate('etcd_requests_total')), '{{operation}}']],
    ],
    [
      'Store latency, p99',
      's',
      '99 % of requests to the store complete within this time.',
      [[quantile(0.99, 'operation', 'etcd_request_duration_seconds'), '{{operation}}']],
    ],
    [
      'Store errors',
      'ops',
      'Failed requests to the store.',
      [[sum('instance, operation', rate('etcd_request_errors_total')), '{{instance}} {{operation}}']],
    ],
    [
      'MongoDB change stream and index errors',
      'ops',
      'Failures of change streams, and failed index updates.',
      [
        [sum('instance', rate('annex_store_change_stream_errors_total')), '{{instance}} change streams'],
        [sum('instance', rate('annex_store_index_errors_total')), '{{instance}} indexes'],
      ],
    ],
    [
      'Projection lag',
      's',
      'Time for which the oldest committed write has waited to be projected into the MongoDB collections. AnnexProjectionBehind fires above 300 s.',
      [[of('annex_store_projection_lag_seconds'), '{{instance}}']],
    ],
  ],
  Cache: [
    [
      'Derived bytes',
      'bytes',
      'Bytes of cached derived representations of objects, and the limit.',
      [
        [of('annex_cache_derived_bytes'), '{{instance}}'],
        [of('annex_cache_derived_limit_bytes'), '{{instance}} limit'],
      ],
    ],
    [
      'Hit ratio',
      'percentunit',
      'Share of lookups of derived representations that the cache served.',
      [
        [
          `${sum('instance', rate('annex_cache_derived_hits_total'))} / (${sum('instance', rate('annex_cache_derived_hits_total'))} + ${sum('instance', rate('annex_cache_derived_misses_total'))})`,
          '{{instance}}',
        ],
      ],
    ],
    [
      'Evictions',
      'ops',
      'Derived representations evicted to free space.',
      [[sum('instance', rate('annex_cache_derived_evictions_total')), '{{instance}}']],
    ],
    [
      'History',
      'bytes',
      'Bytes of recent events kept for watches.',
      [[of('annex_cache_history_bytes'), '{{instance}}']],
    ],
    [
      'Revisions behind',
      'short',
      'How far the watch cache of a replica is behind the most recent one; the maximum over all types.',
      [
        [
          'max by (instance) (max by (group, resource) (' +
            of('apiserver_watch_cache_resource_version') +
            ') - on (group, resource) group_right () ' +
            of('apiserver_watch_cache_resource_version') +
            ')',
          '{{instance}}',
        ],
      ],
    ],
  ],
  Watchers: [
    [
      'Open watches',
      'short',
      'Open watches of clients.',
      [[sum('instance', of('apiserver_longrunning_requests', 'verb="WATCH"')), '{{instance}}']],
    ],
    [
      'Watches served from the cache',
      'short',
      'Watches by replica, including those of Annex itself.',
      [[sum('instance', of('annex_watch_cache_watchers')), '{{instance}}']],
    ],
    [
      'Watch events',
      'ops',
      'Events sent to clients.',
      [[sum('instance', rate('apiserver_watch_events_total')), '{{instance}}']],
    ],
  ],
  Process: [
    [
      'Event loop lag',
      's',
      'Delay of timers. AnnexEventLoopBlocked fires when p99 stays above 250 ms.',
      [
        [of('nodejs_eventloop_lag_p50_seconds'), '{{instance}} p50'],
        [of('nodejs_eventloop_lag_p99_seconds'), '{{instance}} p99'],
        [of('nodejs_eventloop_lag_max_seconds'), '{{instance}} max'],
      ],
    ],
    [
      'CPU usage',
      'percentunit',
      '1 is one core. The event loop uses at most one; worker threads and garbage collection use others.',
      [[sum('instance', rate('process_cpu_seconds_total')), '{{instance}}']],
    ],
    [
      'Garbage collection',
      'percentunit',
      'Share of time spent in garbage collection.',
      [[sum('instance, kind', rate('nodejs_gc_duration_seconds_sum')), '{{instance}} {{kind}}']],
    ],
    [
      'Memory',
      'bytes',
      'Resident memory, and the memory limit of the container if it has one.',
      [
        [of('process_resident_memory_bytes'), '{{instance}}'],
        [`${of('annex_memory_limit_bytes')} > 0`, '{{instance}} limit'],
      ],
    ],
    [
      'Heap',
      'bytes',
      'The JavaScript heap and its limit.',
      [
        [of('nodejs_heap_size_used_bytes'), '{{instance}}'],
        [of('annex_heap_limit_bytes'), '{{instance}} limit'],
      ],
    ],
    [
      'File descriptors',
      'short',
      'Open file descriptors, including connections, and their limit.',
      [
        [of('process_open_fds'), '{{instance}}'],
        [of('process_max_fds'), '{{instance}} limit'],
      ],
    ],
  ],
  Workers: [
    [
      'Worker threads',
      'short',
      'Running worker threads for large writes, and writes waiting for one.',
      [
        [of('annex_large_write_workers'), '{{instance}} threads'],
        [of('annex_large_writes_queued'), '{{instance}} waiting'],
      ],
    ],
    [
      'Large writes, p99',
      's',
      'Time from queueing to the response.',
      [[quantile(0.99, 'instance', 'annex_large_write_duration_seconds'), '{{instance}}']],
    ],
    [
      'Rejected large writes',
      'ops',
      'Large writes rejected because too many bytes were queued.',
      [[sum('instance', rate('annex_large_writes_refused_total')), '{{instance}}']],
    ],
  ],
  Admission: [
    [
      'Steps, p99',
      's',
      'Duration of mutating (admit) and validating admission.',
      [
        [
          quantile(0.99, 'type, operation', 'apiserver_admission_step_admission_duration_seconds'),
          '{{type}} {{operation}}',
        ],
      ],
    ],
    [
      'Plugins, p99',
      's',
      'Duration of each admission plugin.',
      [
        [
          quantile(0.99, 'name, type', 'apiserver_admission_controller_admission_duration_seconds'),
          '{{name}} {{type}}',
        ],
      ],
    ],
    [
      'Rejections',
      'ops',
      'Requests rejected by an admission plugin.',
      [
        [
          sum(
            'name, operation',
            rate('apiserver_admission_controller_admission_duration_seconds_count', 'rejected="true"'),
          ),
          '{{name}} {{operation}}',
        ],
      ],
    ],
    [
      'Validating policies',
      'ops',
      'Checks by policy, binding and enforcement action.',
      [
        [
          sum('policy, policy_binding, enforcement_action', rate('apiserver_validating_admission_policy_check_total')),
          '{{policy}} {{policy_binding}} {{enforcement_action}}',
        ],
      ],
    ],
    [
      'Validating policies, p99',
      's',
      'Time to evaluate the expressions of a policy.',
      [[quantile(0.99, 'policy', 'apiserver_validating_admission_policy_check_duration_seconds'), '{{policy}}']],
    ],
    [
      'Webhooks, p99',
      's',
      'Response time of webhooks.',
      [[quantile(0.99, 'name', 'apiserver_admission_webhook_admission_duration_seconds'), '{{name}}']],
    ],
    [
      'Webhook rejections and failures',
      'ops',
      'Requests rejected by a webhook (no_error), rejected because the webhook failed, and admitted although it failed.',
      [
        [sum('name, error_type', rate('apiserver_admission_webhook_rejection_count')), '{{name}} {{error_type}}'],
        [sum('name', rate('apiserver_admission_webhook_fail_open_count')), '{{name}} ignored'],
      ],
    ],
    [
      'Age of the admission configuration',
      's',
      'Time since the cluster last confirmed its webhook configurations and policies.',
      [[of('annex_admission_configuration_age_seconds'), '{{instance}} {{resource}}']],
    ],
    [
      'Unreadable params',
      'short',
      '1 while Annex cannot read params of this kind.',
      [[of('annex_admission_params_unreadable'), '{{instance}} {{kind}}']],
    ],
  ],
};

const TYPE = ['group=~"$group"', 'resource=~"$resource"'];
const NAME = '{{resource}}.{{group}}';
const byType = (metric, ...more) => sum('group, resource', rate(metric, ...TYPE, ...more));
const WRITES = 'verb=~"POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION"';
const LAST = 'max by (group, resource) ';

const TYPES = {
  Objects: [
    // Every replica counts all objects.
    [
      'Objects',
      'short',
      'Number of objects of each type.',
      [[`${LAST}(${of('apiserver_resource_objects', ...TYPE)})`, NAME]],
    ],
    [
      'Growth',
      'short',
      'Change in the number of objects over one hour.',
      [[`${LAST}(delta(${of('apiserver_resource_objects', ...TYPE)}[1h]))`, NAME]],
    ],
    [
      'Watches',
      'short',
      'Watches served from the cache.',
      [[sum('group, resource', of('annex_watch_cache_watchers', ...TYPE)), NAME]],
    ],
  ],
  Writes: [
    ['Writes', 'reqps', 'Requests that create, change or delete objects.', [[byType(REQUESTS, WRITES), NAME]]],
    ['Writes by verb', 'reqps', 'The same, by verb.', [[sum('verb', rate(REQUESTS, ...TYPE, WRITES)), '{{verb}}']]],
    [
      'Failed writes',
      'reqps',
      'Writes with a 4xx or 5xx status code.',
      [[byType(REQUESTS, WRITES, 'code=~"[45].."'), NAME]],
    ],
    [
      'Writes, p99',
      's',
      '99 % of writes complete within this time, excluding webhooks.',
      [[quantile(0.99, 'group, resource', SLI, ...TYPE, WRITES), NAME]],
    ],
    [
      'Store events',
      'ops',
      'Events that replicas received from the store.',
      [[byType('apiserver_storage_events_received_total'), NAME]],
    ],
  ],
  Reads: [
    ['Reads', 'reqps', 'Get and list requests.', [[byType(REQUESTS, 'verb=~"GET|LIST"'), NAME]]],
    [
      'Lists, p99',
      's',
      '99 % of lists complete within this time.',
      [[quantile(0.99, 'group, resource', SLI, ...TYPE, 'verb="LIST"'), NAME]],
    ],
    ['Watch events', 'ops', 'Events sent to clients.', [[byType('apiserver_watch_events_total'), NAME]]],
  ],
  Bytes: [
    ['Bytes read', 'Bps', 'Bytes of responses to reads.', [[byType('apiserver_response_sizes_sum'), NAME]]],
    [
      'Bytes of watch events',
      'Bps',
      'Bytes of events sent to clients.',
      [[byType('apiserver_watch_events_sizes_sum'), NAME]],
    ],
    [
      'Bytes written',
      'Bps',
      'Bytes of request bodies. Selecting only a group has no effect: the metric has group and resource in one label.',
      [
        [
          sum('resource', rate('apiserver_request_body_size_bytes_sum', 'resource=~"($resource)([.]($group))?"')),
          '{{resource}}',
        ],
      ],
    ],
    [
      'Mean response size',
      'bytes',
      'Mean bytes per response to a read.',
      [[`${byType('apiserver_response_sizes_sum')} / ${byType('apiserver_response_sizes_count')}`, NAME]],
    ],
  ],
};

const SOURCE = { type: 'prometheus', uid: '${datasource}' };

function variable(name, label, query, several) {
  const all = several ? { includeAll: true, allValue: '.*', current: { text: 'All', value: '$__all' } } : {};
  return {
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: several,
    ...all,
  };
}

const COMMON = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1 },
  variable('job', 'Job', 'label_values(annex_heap_limit_bytes, job)', false),
  variable('instance', 'Replica', 'label_values(annex_heap_limit_bytes{job="$job"}, instance)', true),
];
const OF_TYPES = ['group', 'resource'].map((name) =>
  variable(
    name,
    name === 'group' ? 'Group' : 'Resource',
    `label_values(${of('apiserver_resource_objects', ...(name === 'group' ? [] : [TYPE[0]]))}, ${name})`,
    true,
  ),
);

const COLUMNS = 3;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;

function panelsOf(rows) {
  const panels = [];
  let y = 0;
  const add = (panel) => panels.push({ id: panels.length + 1, ...panel });
  for (const [row, members] of Object.entries(rows)) {
    add({ type: 'row', title: row, collapsed: false, panels: [], gridPos: { h: 1, w: 24, x: 0, y: y++ } });
    members.forEach(([title, unit, description, queries], i) => {
      const gridPos = { h: HEIGHT, w: WIDTH, x: (i % COLUMNS) * WIDTH, y: y + Math.floor(i / COLUMNS) * HEIGHT };
      const targets = queries.map(([expr, legendFormat], n) => ({
        refId: String.fromCharCode(65 + n),
        datasource: SOURCE,
        expr,
        legendFormat,
        range: true,
      }));
      const fieldConfig = {
        defaults: { unit, min: title === 'Growth' ? undefined : 0, custom: { fillOpacity: 10, showPoints: 'never' } },
        overrides: [],
      };
      const options = {
        legend: { displayMode: 'list', placement: 'bottom' },
        tooltip: { mode: 'multi', sort: 'desc' },
      };
      add({ type: 'timeseries', title, description, datasource: SOURCE, gridPos, targets, fieldConfig, options });
    });
    y += Math.ceil(members.length / COLUMNS) * HEIGHT;
  }
  return panels;
}

const dashboard = (uid, title, rows, variables) => ({
  uid,
  title,
  tags: ['annex'],
  editable: true,
  graphTooltip: 1,
  refresh: '30s',
  schemaVersion: 39,
  time: { from: 'now-1h', to: 'now' },
  templating: { list: variables },
  panels: panelsOf(rows),
});

const files = {
  'operations.json': dashboard('annex-operations', 'Annex / Operations', OPERATIONS, COMMON),
  'types.json': dashboard('annex-types', 'Annex / Types', TYPES, [...COMMON, ...OF_TYPES]),
};
for (const [name, value] of Object.entries(files)) {
  const text = `${JSON.stringify(value, null, 1)}\n`;
  const path = join(folder, name);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${name} is out of date: run \`make manifests\``);
    process.exitCode = 1;
  }
}
