import { Registry } from 'prom-client';
import { authorizationMetrics } from './metrics.js';

test('metrics have the names of kube-apiserver', async () => {
  const registry = new Registry();
  const metrics = authorizationMetrics('server', registry);
  metrics.decision('RBAC', 'rbac', 'allowed');
  metrics.decision('RBAC', 'rbac', 'allowed');
  metrics.webhookEvaluation('w', 'timeout', 0.3);
  metrics.webhookFailOpen('w', 'timeout');
  metrics.matchConditions('w', 0.02);
  metrics.matchConditionError('w');
  metrics.matchConditionExclusion('w');
  metrics.configReload('success', 5_000);
  metrics.configInUse('old');
  metrics.configInUse('new');
  const text = await registry.metrics();
  const server = 'apiserver_id_hash="sha256:b3eacd33433b31b5252351032c9b3e7a2e7aa7738d5decdf0dd6c62680853c06"';
  for (const line of [
    'apiserver_authorization_decisions_total{type="RBAC",name="rbac",decision="allowed"} 2',
    'apiserver_authorization_webhook_evaluations_total{name="w",result="timeout"} 1',
    'apiserver_authorization_webhook_duration_seconds_count{name="w",result="timeout"} 1',
    'apiserver_authorization_webhook_evaluations_fail_open_total{name="w",result="timeout"} 1',
    'apiserver_authorization_match_condition_evaluation_seconds_count{type="Webhook",name="w"} 1',
    'apiserver_authorization_match_condition_evaluation_errors_total{type="Webhook",name="w"} 1',
    'apiserver_authorization_match_condition_exclusions_total{type="Webhook",name="w"} 1',
    `apiserver_authorization_config_controller_automatic_reloads_total{status="success",${server}} 1`,
    `apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds{status="success",${server}} 5`,
  ]) {
    expect(text).toContain(line);
  }
  expect(text.match(/^apiserver_authorization_config_controller_last_config_info\{.*\} 1$/gm)).toHaveLength(1);
});
