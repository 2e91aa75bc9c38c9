import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { eventually } from '../integration/server.js';
import type { Asked } from './ask.js';
import {
  collectionOf,
  definitionsOfMoved,
  isNamespaced,
  type Manifest,
  NAMESPACE,
  type Policy,
  type Published,
} from './published.js';

/** Objects with this label are refused if they violate the policy that it names. */
export const DENY = 'denied-by';
/** Objects with this label get warnings of one batch of policies, or of all. */
export const WARN = 'warned-by';
/** The number of policies that warn together without exceeding the limit on warnings. */
const BATCH = 6;

/** The policy that is installed last. */
const LAST = 'zz-last';
const PROBE: Manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe' } };

/** Returns the name of a policy as a label value. */
export const labelOf = (policy: string): string => policy.slice(-60).replace(/^[^a-z0-9]+/, '');

export const batchesOf = ({ policies }: Published): string[] =>
  Array.from({ length: Math.ceil(policies.length / BATCH) }, (_, i) => `batch-${String(i)}`);

/** A policy that was refused. */
export type Refusal = readonly [name: string, code: number, message: string];

/** Makes a server serve the types of the samples, and installs the policies, each with a binding that denies and one that warns. */
export async function install(server: Asked, published: Published): Promise<Refusal[]> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace' };
  await server.ensure({ ...namespace, metadata: { name: NAMESPACE, labels: { environment: 'staging' } } });
  for (const definition of [...definitionsOfMoved(published.objects), ...published.definitions]) {
    await server.ensure(definition);
    await isServed(server, definition);
  }
  for (const param of published.params) await server.ensure(param);
  const refusals: Refusal[] = [];
  for (const policy of published.policies) {
    const { code, message } = await server.create(policy);
    if (code !== 201) refusals.push([policy.metadata.name, code, message]);
  }
  for (const [index, policy] of published.policies.entries()) {
    const { name } = policy.metadata;
    const batch = `batch-${String(Math.floor(index / BATCH))}`;
    await server.ensure(bindingOf(policy, '', published.params, [{ key: DENY, values: [labelOf(name)] }]));
    if (policy.kind.startsWith('Mutating')) continue;
    await server.ensure(bindingOf(policy, '.warn', published.params, [{ key: WARN, values: [batch, 'all'] }]));
  }
  await areInForce(server, published);
  return refusals;
}

/** Removes the policies. Once it resolves, no response is affected by them. */
export async function uninstall(server: Asked): Promise<void> {
  for (const kind of ['validatingadmissionpolic', 'mutatingadmissionpolic']) {
    for (const ending of ['ybindings', 'ies']) {
      await server.send('DELETE', `/apis/admissionregistration.k8s.io/v1/${kind}${ending}`);
    }
  }
  await eventually('the last policy is gone', async () =>
    (await server.rehearse(PROBE, { [DENY]: LAST })).code === 201 ? true : undefined,
  );
}

function bindingOf(
  policy: Policy,
  suffix: '' | '.warn',
  params: readonly Manifest[],
  selected: readonly { readonly key: string; readonly values: string[] }[],
): Manifest {
  const { kind, apiVersion, metadata, spec } = policy;
  const matchExpressions = selected.map(({ key, values }) => ({ key, operator: 'In', values }));
  const param = params.find((candidate) => candidate.kind === spec.paramKind?.['kind']) ?? params[0];
  const paramRef = param && {
    name: param.metadata.name,
    parameterNotFoundAction: 'Deny',
    ...(isNamespaced(param) && { namespace: NAMESPACE }),
  };
  return {
    apiVersion,
    kind: `${kind}Binding`,
    metadata: { name: `${metadata.name}${suffix}` },
    spec: {
      policyName: metadata.name,
      matchResources: { objectSelector: { matchExpressions } },
      ...(kind.startsWith('Validating') && { validationActions: [suffix === '' ? 'Deny' : 'Warn'] }),
      ...(spec.paramKind !== undefined && paramRef !== undefined && { paramRef }),
    },
  };
}

async function isServed(server: Asked, definition: Manifest): Promise<void> {
  const { group, names, versions, scope } = definition['spec'] as JsonObject & {
    group: string;
    names: { plural: string };
    versions: { name: string }[];
    scope: string;
  };
  const namespace = scope === 'Namespaced' ? `/namespaces/${NAMESPACE}` : '';
  for (const version of versions) {
    const path = `/apis/${group}/${version.name}${namespace}/${names.plural}`;
    await eventually(`${path} is served`, async () =>
      (await server.send('GET', path)).code === 200 ? true : undefined,
    );
  }
}

/**
 * Waits until all policies are in force. Both servers load policies and bindings in the order of their creation; kube-apiserver finds the
 * kinds of params later.
 */
async function areInForce(server: Asked, { policies, objects }: Published): Promise<void> {
  const last = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' };
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
  const policy: Policy = {
    ...last,
    metadata: { name: LAST },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false' }] },
  };
  await server.ensure(policy);
  await server.ensure(bindingOf(policy, '', [], [{ key: DENY, values: [LAST] }]));
  await eventually('the last policy denies', async () =>
    (await server.rehearse(PROBE, { [DENY]: LAST })).code === 422 ? true : undefined,
  );
  for (const { metadata, spec } of policies.filter((each) => each.spec.paramKind !== undefined)) {
    const kinds = new Map(objects.map((object) => [collectionOf(object), object]));
    await eventually(`the params of ${metadata.name}: ${JSON.stringify(spec.paramKind)}`, async () => {
      for (const object of kinds.values()) {
        const { message } = await server.rehearse(object, { [DENY]: labelOf(metadata.name) });
        if (message.includes('failed to configure')) return undefined;
      }
      return true;
    });
  }
}
