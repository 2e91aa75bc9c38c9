import type { Dead, Row } from './conversion.js';
import { admissionregistration } from './groups/admissionregistration.js';
import { apiextensions } from './groups/apiextensions.js';
import { apps, deadApps } from './groups/apps.js';
import { authorization } from './groups/authorization.js';
import { autoscaling } from './groups/autoscaling.js';
import { batch } from './groups/batch.js';
import { certificates } from './groups/certificates.js';
import { discovery } from './groups/discovery.js';
import { events } from './groups/events.js';
import { flowcontrol } from './groups/flowcontrol.js';
import { networking } from './groups/networking.js';
import { deadPolicy, policy } from './groups/policy.js';
import { unchanged } from './groups/unchanged.js';

/** All conversions of built-in types, by group. */
const CONVERSIONS: readonly Row[] = [
  ...admissionregistration,
  ...apiextensions,
  ...apps,
  ...authorization,
  ...autoscaling,
  ...batch,
  ...certificates,
  ...discovery,
  ...events,
  ...flowcontrol,
  ...networking,
  ...policy,
  ...unchanged,
];

/** Kinds without a replacement. */
const DEAD: readonly Dead[] = [
  ...deadApps,
  ...deadPolicy,
  {
    from: ['settings.k8s.io/v1alpha1'],
    kinds: ['PodPreset'],
    reason: 'nothing replaces it: use an admission webhook or a MutatingAdmissionPolicy',
  },
  {
    from: ['auditregistration.k8s.io/v1alpha1'],
    kinds: ['AuditSink'],
    reason: 'nothing replaces it: configure an audit webhook with the flags of the API server',
  },
];

const keys = ({ from, kinds }: Dead | Row): string[] =>
  from.flatMap((version) => kinds.map((kind) => `${version} ${kind}`));
const rows = new Map(CONVERSIONS.flatMap((row) => keys(row).map((key) => [key, row] as const)));
const dead = new Map(DEAD.flatMap((row) => keys(row).map((key) => [key, row] as const)));
const targets: ReadonlySet<string> = new Set(CONVERSIONS.map(({ to }) => to));

export const conversionOf = (apiVersion: string, kind: string): Row | undefined => rows.get(`${apiVersion} ${kind}`);
export const deadOf = (apiVersion: string, kind: string): Dead | undefined => dead.get(`${apiVersion} ${kind}`);

/** Reports whether a conversion leads to a version. */
export const isTarget = (apiVersion: string): boolean => targets.has(apiVersion);
