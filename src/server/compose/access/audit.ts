import type { Registry } from 'prom-client';
import { Auditor, type AuditMetrics } from '../../../endpoints/audit/auditor.js';
import { LogFile } from '../../../endpoints/audit/log-file.js';
import { AuditPolicy } from '../../../endpoints/audit/policy.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';
import { metricsOf } from '../../../util/metrics/metrics.js';
import { readFile, StartError } from '../../certificates/data-directory.js';
import type { AUDIT_FLAGS } from '../../options/audit-options.js';
import type { FlagValues } from '../../options/flags.js';

const MIB = 1024 * 1024;

type Values = FlagValues<typeof AUDIT_FLAGS>;

export interface Audit {
  readonly hook: Auditor;
  /** Writes the pending events and closes the log. */
  close(): void;
}

interface Context {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

function auditMetrics(registry: Registry): AuditMetrics & { failed(): void } {
  const { counter } = metricsOf(registry);
  const levels = counter('apiserver_audit_level_total', 'Counter of policy levels for audit events (1 per request).', [
    'level',
  ]);
  const events = counter(
    'apiserver_audit_event_total',
    'Counter of audit events generated and sent to the audit backend.',
  );
  const errors = counter(
    'apiserver_audit_error_total',
    'Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.',
    ['plugin'],
  );
  return {
    level: (level) => levels.withLabelValues(level).inc(),
    event: () => events.withLabelValues().inc(),
    failed: () => errors.withLabelValues('log').inc(),
  };
}

/** Returns the auditing that the flags configure; undefined if it is off. Throws StartError if a file cannot be used. */
export function makeAudit(options: Values, { clock, logger, registry }: Context): Audit | undefined {
  const { auditPolicyFile: policyFile, auditLogPath: path } = options;
  if (policyFile === '') {
    if (path !== '') logger.warn('no audit policy file provided, no events will be recorded for log backend');
    return undefined;
  }
  const policy = loadPolicy(policyFile);
  if (path === '') {
    logger.warn('an audit policy is set without --audit-log-path; no audit events will be recorded');
    return undefined;
  }
  const metrics = auditMetrics(registry);
  if (path === '-') {
    const output = { write: (line: string): void => void process.stdout.write(`${line}\n`) };
    return { hook: new Auditor(policy, output, metrics, clock), close: () => undefined };
  }
  const file = openLog(options, clock, (error) => {
    metrics.failed();
    logger.error('cannot write audit events', { error: messageOf(error) });
  });
  return { hook: new Auditor(policy, file, metrics, clock), close: () => file.close() };
}

function loadPolicy(path: string): AuditPolicy {
  const content = readFile(path, '--audit-policy-file');
  try {
    return AuditPolicy.parse(content);
  } catch (error) {
    throw new StartError(`--audit-policy-file: ${messageOf(error)}: from file ${path}`);
  }
}

function openLog(options: Values, clock: Clock, onError: (error: unknown) => void): LogFile {
  try {
    return new LogFile({
      path: options.auditLogPath,
      maxBytes: options.auditLogMaxsize * MIB,
      maxBackups: options.auditLogMaxbackup,
      maxAgeDays: options.auditLogMaxage,
      clock,
      onError,
    });
  } catch (error) {
    throw new StartError(`--audit-log-path: ensureLogFile: ${messageOf(error)}`);
  }
}
