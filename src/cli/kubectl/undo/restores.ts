import { type JsonObject, objectAt, objectsOf, textAt } from '../../../apimachinery/json/json.js';
import { conditionsOf } from '../../../apimachinery/meta/conditions.js';
import { sleep } from '../../../util/clock.js';
import { pathOf } from '../discovery.js';
import { Failure, FAILED } from '../failure.js';
import type { Session } from '../session.js';
import { undoResource } from './revisions.js';

const POLL_MILLIS = 200;

export interface RestoreFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly output?: 'json';
}

const countAt = (status: JsonObject, name: string): number => Number(status[name] ?? 0);

/** Shows what a restore would do, asks, does it, and reports. `what`: what is brought back, in words. */
export async function planAndRestore(
  session: Session,
  spec: JsonObject,
  what: string,
  flags: RestoreFlags,
): Promise<void> {
  const plan = await restored(session, { ...spec, dryRun: true });
  const selected = countAt(plan, 'selected');
  if (flags.dryRun === true || selected === 0) {
    report(session, plan, flags, true);
    return;
  }
  session.terminal.error(summaryOf(plan, `${what}: would be`));
  for (const line of detailsOf(plan)) session.terminal.error(line);
  if (countAt(plan, 'restored') > 0 || spec['contents'] === true)
    await session.confirm(`Bring back ${what}?`, flags.yes === true);
  else {
    report(session, plan, flags, true);
    return;
  }
  report(session, await restored(session, spec), flags, false);
}

/** Creates an ObjectRestore and returns its status once it has ended. */
async function restored(session: Session, spec: JsonObject): Promise<JsonObject> {
  const kind = await undoResource(session, 'objectrestores');
  const body = {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { generateName: 'kubectl-annex-' },
    spec,
  };
  const created = await session.request({ method: 'POST', path: pathOf(kind, undefined), body });
  const path = `${pathOf(kind, undefined)}/${textAt(objectAt(created.body, 'metadata'), 'name')}`;
  const progress = session.progress();
  for (;;) {
    const { body: restore } = await session.request({ method: 'GET', path });
    const status = objectAt(restore, 'status') ?? {};
    const phase = textAt(status, 'phase');
    if (phase === 'Complete' || phase === 'Failed') {
      progress.clear();
      if (phase === 'Complete') return status;
      throw new Failure(textAt(conditionsOf(restore)[0], 'message'));
    }
    const done = ['restored', 'unchanged', 'conflicts', 'refused'].reduce(
      (sum, name) => sum + countAt(status, name),
      0,
    );
    progress.step(done, countAt(status, 'selected'), 'objects');
    await sleep(session.clock, POLL_MILLIS);
  }
}

function report(session: Session, status: JsonObject, { output }: RestoreFlags, isPlan: boolean): void {
  const isWhole = countAt(status, 'conflicts') === 0 && countAt(status, 'refused') === 0;
  if (!isWhole || objectsOf(status['refusals']).length > 0) process.exitCode = FAILED;
  if (output === 'json') {
    session.terminal.out(`${JSON.stringify(status, undefined, 4)}\n`);
    return;
  }
  session.terminal.out(`${summaryOf(status, isPlan ? 'would be' : '')}\n`);
  for (const line of detailsOf(status)) session.terminal.out(`${line}\n`);
}

function summaryOf(status: JsonObject, before: string): string {
  const parts = [`${before} brought back: ${String(countAt(status, 'restored'))}`.trim()];
  for (const [name, words] of [
    ['unchanged', 'unchanged'],
    ['conflicts', 'in conflict with newer objects or changes'],
    ['refused', 'refused'],
  ] as const) {
    const count = countAt(status, name);
    if (count > 0) parts.push(`${words}: ${String(count)}`);
  }
  return parts.join(', ');
}

function detailsOf(status: JsonObject): string[] {
  const refusals = objectsOf(status['refusals']).map(
    (one) =>
      `  ${textAt(one, 'reason')} (${String(countAt(one, 'count'))}), such as ${textAt(one, 'example')}: ${textAt(one, 'message')}`,
  );
  const owners = objectsOf(status['ownersLeftOut']).map(
    (one) => `  ${textAt(one, 'object')}: without its owner ${textAt(one, 'owner')}, which is gone`,
  );
  const conflicts = conditionsOf({ status }).map((one) => textAt(one, 'message'));
  return [
    ...refusals,
    ...owners,
    ...(countAt(status, 'conflicts') > 0 ? conflicts.map((message) => `  ${message}`) : []),
  ];
}
