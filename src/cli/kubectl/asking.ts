import type { IncomingHttpHeaders } from 'node:http';
import type { Discovery } from './discovery.js';
import { fullName, type Resource } from './discovery.js';
import { Failure, UsageError } from './failure.js';

/** What Annex has and kube-apiserver has not: parameters of lists and watches. */
export interface AskingFlags {
  readonly where?: string;
  readonly orderBy?: string;
  readonly sortBy?: string;
}

/** Returns the parameters of a list or watch that ask Annex for something. */
export function askedFor({ where, orderBy, sortBy }: AskingFlags, count = false): Readonly<Record<string, string>> {
  if (orderBy !== undefined && sortBy !== undefined)
    throw new UsageError('--order-by and --sort-by exclude each other');
  for (const [flag, value] of Object.entries({ where, 'order-by': orderBy, 'sort-by': sortBy })) {
    // A shell variable that is empty must not turn a question into a list of everything.
    if (value?.trim() === '') throw new UsageError(`--${flag}: the expression is empty`);
  }
  const order = orderBy ?? (sortBy === undefined ? undefined : orderOfPath(sortBy));
  return {
    ...(where !== undefined && { where }),
    ...(order !== undefined && { orderBy: order }),
    ...(count && { count: 'exact' }),
  };
}

/** Throws a Failure if an answer does not say that the server applied what it was asked for. */
export function checkApplied(
  asked: Readonly<Record<string, string>>,
  headers: IncomingHttpHeaders,
  discovery: Discovery,
  resource: Resource,
): void {
  const header = headers['annex-applied'];
  const applied = new Set(
    [header ?? []]
      .flat()
      .join(',')
      .split(',')
      .map((name) => name.trim()),
  );
  const missing = Object.keys(asked).filter((name) => !applied.has(name));
  if (missing.length === 0) return;
  const flags = missing.map((name) => FLAGS[name] ?? name).join(' and ');
  throw new Failure(`the server did not apply ${flags}, and its answer is not used: ${reasonFor(discovery, resource)}`);
}

const FLAGS: Readonly<Record<string, string>> = { where: '--where', orderBy: '--order-by', count: 'the count' };

function reasonFor(discovery: Discovery, resource: Resource): string {
  if (!discovery.hasAnnex) return 'it is no Annex, and no Annex extends it (it has no group kubeannex.io)';
  const group = resource.group === '' ? 'the core group' : `the group ${resource.group}`;
  return (
    `${fullName(resource)} is not served by Annex; ${group} belongs to the cluster's own API server, ` +
    'or was released to it (kubectl get adoptions, kubectl get rd)'
  );
}

/** Returns the order that a path of `--sort-by` means: `.metadata.labels.app` is `object.metadata.labels['app']`. */
export function orderOfPath(path: string): string {
  const inner = /^\{(.*)\}$/s.exec(path.trim())?.[1] ?? path.trim();
  const steps = [...inner.matchAll(/\.?((?:\\.|[^.[\]\\'])+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]/gy)];
  const read = steps.reduce((sum, [text]) => sum + text.length, 0);
  if (steps.length === 0 || read !== inner.length || steps.some(([, name]) => name === '*' || name === '@'))
    throw new UsageError(`--sort-by: ${path} is not a path of fields; write an expression with --order-by`);
  let out = 'object';
  let inMap = false;
  for (const [, name, index, key] of steps) {
    if (index !== undefined) out += `[${index}]`;
    else {
      const field = (name ?? key ?? '').replaceAll(/\\(.)/g, '$1');
      out +=
        inMap || key !== undefined || !IDENTIFIER.test(field)
          ? `['${field.replaceAll(/['\\]/g, '\\$&')}']`
          : `.${field}`;
      inMap = MAPS.has(field);
    }
  }
  return out;
}

const IDENTIFIER = /^[A-Za-z_]\w*$/;
/** Their keys are no fields. */
const MAPS: ReadonlySet<string> = new Set(['labels', 'annotations', 'matchLabels']);
