import { Http1 } from './client.js';
import { run, scratchFolder, serverForFile } from './server.js';

const server = serverForFile([
  '--disabled-metrics=apiserver_longrunning_requests',
  "--allow-metric-labels=apiserver_request_total,verb='GET'",
]);
const folder = scratchFolder();

test('the metric flags take effect', async () => {
  const http = new Http1(server.current);
  await http.get('/api/v1/namespaces');
  const { text } = await http.get('/metrics');
  expect(text).toContain('# HELP apiserver_request_total [STABLE] ');
  // Process and runtime metrics from libraries have no stability level, as in kube-apiserver.
  const own = text.match(/^# HELP (?!process_|nodejs_).*$/gm) ?? [];
  expect(own.length).toBeGreaterThan(50);
  expect(own.filter((line) => !/^# HELP \w+ \[(ALPHA|BETA|STABLE)\] /.test(line))).toEqual([]);
  expect(text).toContain('# HELP apiserver_storage_objects [STABLE] (Deprecated since 1.34.0) ');
  expect(text).not.toContain('apiserver_longrunning_requests');
  expect(text).toMatch(/^apiserver_request_total\{[^}]*verb="unexpected"/m);
  expect(text).not.toMatch(/^apiserver_request_total\{[^}]*verb="LIST"/m);
  expect(text).toMatch(/^disabled_metrics_total 1$/m);
  expect(text).toMatch(/^registered_metrics_total\{stability_level="STABLE",deprecated_version=""\} [1-9]/m);
});

test.each([
  ['--show-hidden-metrics-for-version=1.30', "must be omitted or have the value '1.36'"],
  ['--allow-metric-labels=verb', "must be <metric>,<label>='<value>,<value>'"],
])('%s is refused', async (flag, message) => {
  const ended = await run(['serve', '--data-dir', folder, flag]);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain(message);
});
