// Writes the chart's Grafana dashboards, charts/annex/files/dashboards: node hack/dashboards.mjs
// With --check nothing is written; it fails where the files differ from what they would be.
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

/** Title, unit, description, and queries with their legends. */
const OPERATIONS = {
  Traffic: [
    [
      'Requests by verb',
      'reqps',
      'Requests that were answered. A watch counts when it ends.',
      [[sum('verb', rate(REQUESTS)), '{{verb}}']],
    ],
    ['Requests by code', 'reqps', 'Requests by status code.', [[sum('code', rate(REQUESTS)), '{{code}}']]],
    [
      'Requests in flight',
      'short',
      'The most requests at once since the last scrape. The limits are --max-requests-inflight and --max-mutating-requests-inflight.',
      [[of('apiserver_current_inflight_requests'), '{{instance}} {{request_kind}}']],
    ],
    [
      'Requests by replica',
      'reqps',
      'How the load spreads over the replicas.',
      [[sum('instance', rate(REQUESTS)), '{{instance}}']],
    ],
    [
      'Bytes',
      'Bps',
      'Bytes of answers to reads, of watch events, and of request bodies.',
      [
        [sum('', rate('apiserver_response_sizes_sum')), 'answers'],
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
      'Share of server errors',
      'percentunit',
      'Requests that ended with a code from 500 on, of all. AnnexErrorRate fires above 3 %.',
      [[`(${sum('', rate(REQUESTS, 'code=~"5.."'))} or vector(0)) / ${sum('', rate(REQUESTS))}`, 'server errors']],
    ],
    [
      'Errors by verb and code',
      'reqps',
      'Requests with a code from 400 on. 404 and 409 are ordinary.',
      [[sum('verb, code', rate(REQUESTS, 'code=~"[45].."')), '{{verb}} {{code}}']],
    ],
    [
      'Refused requests',
      'reqps',
      'Requests refused with 429 because the limits of requests in flight were reached, and requests ended in self-defence.',
      [
        [
          sum('instance, request_kind', rate('apiserver_dropped_requests_total')),
          '{{instance}} {{request_kind}} refused',
        ],
        [sum('instance, code', rate('apiserver_request_terminations_total')), '{{instance}} {{code}} ended'],
      ],
    ],
    [
      'Failed connections',
      'ops',
      'TLS handshakes that failed, HTTP/2 connections ended because of the client, and answers cut off.',
      [
        [sum('instance', rate('apiserver_tls_handshake_errors_total')), '{{instance}} TLS'],
        [sum('instance, code', rate('annex_http2_connection_errors_total')), '{{instance}} HTTP/2 {{code}}'],
        [sum('instance', rate('apiserver_request_aborts_total')), '{{instance}} answers cut off'],
      ],
    ],
    [
      'Readiness checks',
      'short',
      '1 while the check holds, 0 while it fails.',
      [[of('kubernetes_healthcheck', 'type="readyz"'), '{{instance}} {{name}}']],
    ],
    [
      'Links to the cluster',
      'short',
      '1 while what Annex needs of the cluster, or of its certificate files, is missing.',
      [[of('annex_cluster_link_broken'), '{{instance}} {{link}}']],
    ],
  ],
  Adoptions: [
    [
      'Phase',
      'short',
      'The phase that the Adoption of a group is in. Writes are refused while it is Fencing, Switching or Returning.',
      [[`max by (group, phase) (${of('annex_adoption_phase')})`, '{{group}} {{phase}}']],
    ],
    [
      'Objects to copy',
      'short',
      'Objects of the cluster that the copy does not have yet.',
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
      'How long ago the copy was known to be complete; 0 while changes are followed.',
      [[`max by (group, resource) (${of('annex_adoption_lag_seconds')})`, '{{group}} {{resource}}']],
    ],
  ],
  Latency: [
    [
      '99 % by verb',
      's',
      '99 % of the requests are answered within this time, webhooks not counted.',
      [[quantile(0.99, 'verb', SLI, SHORT), '{{verb}}']],
    ],
    [
      'Median by verb',
      's',
      'Half of the requests are answered within this time, webhooks not counted.',
      [[quantile(0.5, 'verb', SLI, SHORT), '{{verb}}']],
    ],
    [
      '99 % by replica',
      's',
      'The same by replica: one that is slower than the others stands out.',
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
      'Store latency, 99 %',
      's',
      '99 % of the requests to the store end within this time.',
      [[quantile(0.99, 'operation', 'etcd_request_duration_seconds'), '{{operation}}']],
    ],
    [
      'Store errors',
      'ops',
      'Requests to the store that failed.',
      [[sum('instance, operation', rate('etcd_request_errors_total')), '{{instance}} {{operation}}']],
    ],
    [
      'MongoDB change streams and indexes',
      'ops',
      'Change streams that failed, and indexes that could not be updated.',
      [
        [sum('instance', rate('annex_store_change_stream_errors_total')), '{{instance}} change streams'],
        [sum('instance', rate('annex_store_index_errors_total')), '{{instance}} indexes'],
      ],
    ],
    [
      'Collections behind the log',
      's',
      'For how long the oldest committed write has waited to be seen in the collections of MongoDB. AnnexProjectionBehind fires above 300 s.',
      [[of('annex_store_projection_lag_seconds'), '{{instance}}']],
    ],
  ],
  Cache: [
    [
      'Derived bytes',
      'bytes',
      'Representations of objects that are kept, and the limit.',
      [
        [of('annex_cache_derived_bytes'), '{{instance}}'],
        [of('annex_cache_derived_limit_bytes'), '{{instance}} limit'],
      ],
    ],
    [
      'Hit ratio',
      'percentunit',
      'Representations that were there when they were needed.',
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
      'Representations that went for want of room.',
      [[sum('instance', rate('annex_cache_derived_evictions_total')), '{{instance}}']],
    ],
    [
      'History',
      'bytes',
      'Bytes of the recent changes that are kept for watches.',
      [[of('annex_cache_history_bytes'), '{{instance}}']],
    ],
    [
      'Revisions behind',
      'short',
      'How far the cache of a replica is behind the most recent one, over all types.',
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
      'Watches that clients have open.',
      [[sum('instance', of('apiserver_longrunning_requests', 'verb="WATCH"')), '{{instance}}']],
    ],
    [
      'Watches that the cache feeds',
      'short',
      'By replica; Annex watches some types itself.',
      [[sum('instance', of('annex_watch_cache_watchers')), '{{instance}}']],
    ],
    [
      'Watch events',
      'ops',
      'Events that went to clients.',
      [[sum('instance', rate('apiserver_watch_events_total')), '{{instance}}']],
    ],
  ],
  Process: [
    [
      'Event loop lag',
      's',
      'How late timers run. AnnexEventLoopBlocked fires when p99 stays above 250 ms.',
      [
        [of('nodejs_eventloop_lag_p50_seconds'), '{{instance}} p50'],
        [of('nodejs_eventloop_lag_p99_seconds'), '{{instance}} p99'],
        [of('nodejs_eventloop_lag_max_seconds'), '{{instance}} max'],
      ],
    ],
    [
      'Processor time',
      'percentunit',
      '1 is one core. The event loop has one; workers and garbage collection use others.',
      [[sum('instance', rate('process_cpu_seconds_total')), '{{instance}}']],
    ],
    [
      'Garbage collection',
      'percentunit',
      'Share of the time spent in it.',
      [[sum('instance, kind', rate('nodejs_gc_duration_seconds_sum')), '{{instance}} {{kind}}']],
    ],
    [
      'Memory',
      'bytes',
      'Resident memory, and the limit of the container where it has one.',
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
      'Connections and files',
      'short',
      'Open file descriptors and their limit.',
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
      'Threads for large writes that run, and writes that wait for one.',
      [
        [of('annex_large_write_workers'), '{{instance}} threads'],
        [of('annex_large_writes_queued'), '{{instance}} waiting'],
      ],
    ],
    [
      'Large writes, 99 %',
      's',
      'Time from the queue to the answer.',
      [[quantile(0.99, 'instance', 'annex_large_write_duration_seconds'), '{{instance}}']],
    ],
    [
      'Large writes refused',
      'ops',
      'Refused because too many bytes were waiting.',
      [[sum('instance', rate('annex_large_writes_refused_total')), '{{instance}}']],
    ],
  ],
  Admission: [
    [
      'Steps, 99 %',
      's',
      'Time of mutating (admit) and validating admission.',
      [
        [
          quantile(0.99, 'type, operation', 'apiserver_admission_step_admission_duration_seconds'),
          '{{type}} {{operation}}',
        ],
      ],
    ],
    [
      'Plugins, 99 %',
      's',
      'Time of each plugin.',
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
      'Requests that a plugin rejected.',
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
      'Checks by policy, binding and what came of them.',
      [
        [
          sum('policy, policy_binding, enforcement_action', rate('apiserver_validating_admission_policy_check_total')),
          '{{policy}} {{policy_binding}} {{enforcement_action}}',
        ],
      ],
    ],
    [
      'Validating policies, 99 %',
      's',
      'Time of the expressions of a policy.',
      [[quantile(0.99, 'policy', 'apiserver_validating_admission_policy_check_duration_seconds'), '{{policy}}']],
    ],
    [
      'Webhooks, 99 %',
      's',
      'Time that webhooks took to answer.',
      [[quantile(0.99, 'name', 'apiserver_admission_webhook_admission_duration_seconds'), '{{name}}']],
    ],
    [
      'Webhook rejections and failures',
      'ops',
      'Requests that a webhook rejected (no_error), that were rejected because it failed, and that went on although it failed.',
      [
        [sum('name, error_type', rate('apiserver_admission_webhook_rejection_count')), '{{name}} {{error_type}}'],
        [sum('name', rate('apiserver_admission_webhook_fail_open_count')), '{{name}} ignored'],
      ],
    ],
    [
      'Age of the cluster’s configuration',
      's',
      'For how long the cluster has not confirmed its webhook configurations and policies.',
      [[of('annex_admission_configuration_age_seconds'), '{{instance}} {{resource}}']],
    ],
    [
      'Unreadable params',
      'short',
      '1 while the params of this kind cannot be read.',
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
    ['Objects', 'short', 'Objects of each type.', [[`${LAST}(${of('apiserver_resource_objects', ...TYPE)})`, NAME]]],
    [
      'Growth',
      'short',
      'Objects that came within an hour, less those that went.',
      [[`${LAST}(delta(${of('apiserver_resource_objects', ...TYPE)}[1h]))`, NAME]],
    ],
    [
      'Watches',
      'short',
      'Watches that the caches feed.',
      [[sum('group, resource', of('annex_watch_cache_watchers', ...TYPE)), NAME]],
    ],
  ],
  Writes: [
    ['Writes', 'reqps', 'Requests that create, change or delete objects.', [[byType(REQUESTS, WRITES), NAME]]],
    ['Writes by verb', 'reqps', 'The same by verb.', [[sum('verb', rate(REQUESTS, ...TYPE, WRITES)), '{{verb}}']]],
    [
      'Writes refused',
      'reqps',
      'Writes with a code from 400 on.',
      [[byType(REQUESTS, WRITES, 'code=~"[45].."'), NAME]],
    ],
    [
      'Writes, 99 %',
      's',
      '99 % of the writes are answered within this time, webhooks not counted.',
      [[quantile(0.99, 'group, resource', SLI, ...TYPE, WRITES), NAME]],
    ],
    [
      'Changes from the store',
      'ops',
      'Changes that the store told this and other replicas.',
      [[byType('apiserver_storage_events_received_total'), NAME]],
    ],
  ],
  Reads: [
    ['Reads', 'reqps', 'Requests for objects and lists.', [[byType(REQUESTS, 'verb=~"GET|LIST"'), NAME]]],
    [
      'Lists, 99 %',
      's',
      '99 % of the lists are answered within this time.',
      [[quantile(0.99, 'group, resource', SLI, ...TYPE, 'verb="LIST"'), NAME]],
    ],
    ['Watch events', 'ops', 'Events that went to clients.', [[byType('apiserver_watch_events_total'), NAME]]],
  ],
  Bytes: [
    ['Bytes read', 'Bps', 'Bytes of answers to reads.', [[byType('apiserver_response_sizes_sum'), NAME]]],
    [
      'Bytes of watch events',
      'Bps',
      'Bytes of the events that went to clients.',
      [[byType('apiserver_watch_events_sizes_sum'), NAME]],
    ],
    [
      'Bytes written',
      'Bps',
      'Bytes of request bodies. A group alone does not narrow it: this metric has both in one label.',
      [
        [
          sum('resource', rate('apiserver_request_body_size_bytes_sum', 'resource=~"($resource)([.]($group))?"')),
          '{{resource}}',
        ],
      ],
    ],
    [
      'Mean size of read answers',
      'bytes',
      'Bytes of an answer to a read.',
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
    console.error(`${name} is not what hack/dashboards.mjs makes: run \`make manifests\``);
    process.exitCode = 1;
  }
}
