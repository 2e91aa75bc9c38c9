import { conditionsOf } from '../../../../apimachinery/meta/conditions.js';
import { type JsonValue, textOf } from '../../../../apimachinery/json/json.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { timeMillis } from '../../../../apimachinery/meta/time.js';
import { getOwn } from '../../../../util/get-own.js';
import { numberOf } from '../../shared/fields.js';
import { Age, type Cell, tableOf } from '../../shared/table.js';

const NONE = '<none>';

interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  /** The time of the last restart of a container, in milliseconds since the epoch. */
  restartedAt: number | undefined;
}

/** Adds the restarts of a container to the counts. */
function addRestarts(counts: Pick<Summary, 'restarts' | 'restartedAt'>, status: core.ContainerStatus): void {
  counts.restarts += numberOf(status.restartCount);
  const ended = status.lastState?.terminated;
  const at = timeMillis(ended?.finishedAt ?? '');
  if (at !== undefined && (counts.restartedAt === undefined || at > counts.restartedAt)) counts.restartedAt = at;
}

const terminated = (status: core.ContainerStatus): core.ContainerStateTerminated | undefined =>
  status.state?.terminated;
const waiting = (status: core.ContainerStatus): core.ContainerStateWaiting | undefined => status.state?.waiting;

/** Returns the reason why a container terminated. */
function endReason(state: core.ContainerStateTerminated): string {
  const reason = state.reason ?? '';
  if (reason !== '') return reason;
  const signal = numberOf(state.signal);
  return signal === 0 ? `ExitCode:${String(numberOf(state.exitCode))}` : `Signal:${String(signal)}`;
}

const isTrue = (pod: core.Pod, type: string): boolean =>
  conditionsOf(pod).some((c) => c['type'] === type && c['status'] === 'True');

function restartableInitContainers(pod: core.Pod): Set<string> {
  const containers = pod.spec?.initContainers ?? [];
  return new Set(containers.filter((c) => c.restartPolicy === 'Always').map((c) => c.name ?? ''));
}

/** Adds the init containers to the summary. Returns true if one of them has not finished. */
function summarizeInit(pod: core.Pod, summary: Summary, restartable: ReadonlySet<string>): boolean {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const total = (pod.spec?.initContainers ?? []).length;
  for (const [i, status] of statuses.entries()) {
    addRestarts(summary, status);
    const ended = terminated(status);
    if (ended !== undefined && numberOf(ended.exitCode) === 0) continue;
    if (restartable.has(status.name ?? '') && status.started === true) {
      if (status.ready === true) summary.ready++;
      continue;
    }
    const wait = waiting(status)?.reason ?? '';
    if (ended !== undefined) summary.reason = `Init:${endReason(ended)}`;
    else if (wait !== '' && wait !== 'PodInitializing') summary.reason = `Init:${wait}`;
    else summary.reason = `Init:${String(i)}/${String(total)}`;
    return true;
  }
  return false;
}

function summarizeContainers(pod: core.Pod, summary: Summary): void {
  let running = false;
  let error = '';
  for (const status of (pod.status?.containerStatuses ?? []).reverse()) {
    addRestarts(summary, status);
    const wait = waiting(status)?.reason ?? '';
    const ended = terminated(status);
    if (wait !== '') summary.reason = wait;
    else if (ended !== undefined) {
      summary.reason = endReason(ended);
      if (numberOf(ended.exitCode) !== 0) error = summary.reason;
    } else if (status.ready === true && status.state?.running !== undefined) {
      running = true;
      summary.ready++;
    }
  }
  if (summary.reason !== 'Completed') return;
  if (running && isTrue(pod, 'Ready')) summary.reason = 'Running';
  else if (error !== '') summary.reason = error;
  else if (running) summary.reason = 'NotReady';
}

function summarize(pod: core.Pod, restartable: ReadonlySet<string>): Summary {
  const status = pod.status;
  const phase = status?.phase ?? '';
  const summary: Summary = {
    reason: status?.reason || phase,
    ready: 0,
    restarts: 0,
    restartedAt: undefined,
  };
  const gated = (status?.conditions ?? []).some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated');
  if (gated) summary.reason = 'SchedulingGated';
  const initializing = summarizeInit(pod, summary, restartable);
  if (!initializing || isTrue(pod, 'Initialized')) {
    const init = (status?.initContainerStatuses ?? []).filter((s) => restartable.has(s.name ?? ''));
    summary.restarts = 0;
    summary.restartedAt = undefined;
    for (const one of init) addRestarts(summary, one);
    summarizeContainers(pod, summary);
  }
  if (hasDeletionTimestamp(pod)) {
    if (status?.reason === 'NodeLost') summary.reason = 'Unknown';
    else if (phase !== 'Failed' && phase !== 'Succeeded') summary.reason = 'Terminating';
  }
  return summary;
}

function gates(pod: core.Pod): string {
  const wanted = (pod.spec?.readinessGates ?? []).map((gate) => gate.conditionType ?? '');
  if (wanted.length === 0) return NONE;
  const met = wanted.filter((type) => isTrue(pod, type)).length;
  return `${String(met)}/${String(wanted.length)}`;
}

function restartsCell({ restarts, restartedAt }: Summary): Cell {
  if (restarts === 0 || restartedAt === undefined) return String(restarts);
  return new Age(restartedAt, `${String(restarts)} (`, ' ago)');
}

function row(pod: core.Pod): Cell[] {
  const spec = pod.spec;
  const status = pod.status;
  const restartable = restartableInitContainers(pod);
  const summary = summarize(pod, restartable);
  const total = (spec?.containers ?? []).length + restartable.size;
  return [
    pod.metadata.name ?? '',
    `${String(summary.ready)}/${String(total)}`,
    summary.reason,
    restartsCell(summary),
    Age.of(pod),
    textOf((status?.podIPs ?? [])[0]?.ip) || (status?.podIP ?? '') || NONE,
    spec?.nodeName || NONE,
    status?.nominatedNodeName || NONE,
    gates(pod),
  ];
}

const ENDINGS: Readonly<Record<string, string>> = {
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
};

/** Returns the condition by which clients recognize finished pods. */
function conditions(pod: core.Pod): JsonValue | undefined {
  const phase = pod.status?.phase ?? '';
  const message = getOwn(ENDINGS, phase);
  return message === undefined ? undefined : [{ type: 'Completed', status: 'True', reason: phase, message }];
}

export const podTable = tableOf<core.Pod>('api/v1/pods', row, conditions);
