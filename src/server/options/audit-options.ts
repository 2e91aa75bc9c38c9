import { flagsOf, int, oneOf, text } from './flags.js';

const flag = flagsOf('Auditing flags:');
/** Flags of the audit log. */
export const AUDIT_FLAGS = {
  auditPolicyFile: flag(
    'audit-policy-file',
    text,
    '',
    'File with an audit.k8s.io/v1 Policy, which defines what is recorded for each request.',
  ),
  auditLogPath: flag('audit-log-path', text, '', 'File for audit events; - for standard output.'),
  auditLogFormat: flag(
    'audit-log-format',
    oneOf('json'),
    'json',
    'Format of the events in the file: json, one event per line.',
  ),
  auditLogMaxage: flag('audit-log-maxage', int(0), 366, 'Days to keep old files. 0: forever.'),
  auditLogMaxbackup: flag('audit-log-maxbackup', int(0), 100, 'Number of old files to keep. 0: all.'),
  auditLogMaxsize: flag('audit-log-maxsize', int(0), 100, 'Size in megabytes at which the file is rotated. 0: never.'),
} as const;
