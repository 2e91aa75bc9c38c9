import { type DiscoveredType, missingInDiscovery } from '../preflight/discovery.js';
import { renewApiServices } from '../../client/api-services.js';
import { type ClusterClient, ClusterError } from '../../client/cluster-client.js';
import { missingText, type Readiness, readinessOf } from '../preflight/readiness.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Clock } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import type { AdoptionCondition } from '../protocol/condition.js';
import { apiServicesOf, discoveredType } from '../cluster/cluster-definitions.js';
import { DISCOVERED, notDiscovered } from '../move/discovery.js';
import type { KubeApiserver, KubeApiservers } from '../cluster/kube-apiservers.js';

const LOOK_MILLIS = 60_000;
/** The shorter interval while something blocks the switch, or a kube-apiserver does not list the types. */
const LOOK_AGAIN_MILLIS = 5_000;

export interface ReadinessCheckerOptions {
  readonly client: Pick<ClusterClient, 'call' | 'must' | 'metadata'>;
  readonly clock: Clock;
  readonly servers: Pick<KubeApiservers, 'everywhere'>;
  /** True if Annex enforces the cluster's webhooks and policies on what it serves. */
  readonly admissionFromCluster: boolean;
}

/** A kube-apiserver that lists the types late, by itself, has done so by this look. */
const RENEWED_FROM = 2;

interface Check {
  readonly at: number;
  readonly statements: readonly AdoptionCondition[];
  /** How many looks in a row have found a kube-apiserver that does not list the types. */
  readonly unlisted: number;
}

/** Periodically checks whether rehearsed groups can be switched, and has kube-apiservers list the types of the group. */
export class ReadinessChecker {
  private readonly lastChecks = new Map<string, Check>();

  constructor(private readonly options: ReadinessCheckerOptions) {}

  /** Returns the last result, after a new check if one is due. */
  async of(group: string, crds: readonly KubeObject[]): Promise<readonly AdoptionCondition[]> {
    const { client, clock } = this.options;
    const last = this.lastChecks.get(group);
    const wait =
      last?.statements.every(([type, holds]) => holds || type === 'AdmissionEnforced') === true
        ? LOOK_MILLIS
        : LOOK_AGAIN_MILLIS;
    if (last !== undefined && clock.monotonic() - last.at < wait) return last.statements;
    const types = crds.map(discoveredType);
    let statements: readonly AdoptionCondition[];
    try {
      statements = this.conditionsFor(group, await readinessOf(client, group, types, 'own'));
    } catch (error) {
      statements = [condition('Switchable', false, 'ClusterError', messageOf(error))];
    }
    if (statements.some(([type, holds]) => type === 'Switchable' && holds)) {
      const unreachable = await this.unreachable();
      const found = condition('Switchable', false, 'KubeAPIServerUnreachable', unreachable);
      if (unreachable !== '') statements = statements.map((one) => (one[0] === 'Switchable' ? found : one));
    }
    const discovered = await this.discovered(types, last?.unlisted ?? 0);
    statements = [...statements, ...discovered.statements];
    this.lastChecks.set(group, { at: clock.monotonic(), statements, unlisted: discovered.unlisted });
    return statements;
  }

  /** Returns which kube-apiserver cannot be reached, and why; '' if each can, or if Annex may not look for them. The switch asks each of them. */
  private async unreachable(): Promise<string> {
    const responds = async (server: KubeApiserver): Promise<boolean> =>
      (await server.plain('GET', '/livez')).status > 0;
    try {
      await this.options.servers.everywhere('the switch asks each kube-apiserver', responds, 0, NEVER_ABORTED);
      return '';
    } catch (error) {
      return error instanceof ClusterError ? '' : messageOf(error);
    }
  }

  /** Reports whether every kube-apiserver lists the resources of the group; nothing if Annex may not look at each. Has those look again that do not. */
  private async discovered(
    types: readonly DiscoveredType[],
    before: number,
  ): Promise<Pick<Check, 'statements' | 'unlisted'>> {
    const lacking: string[] = [];
    const isListed = async (server: KubeApiserver): Promise<boolean> => {
      const missing = await missingInDiscovery(server, types);
      if (missing === '') return true;
      lacking.push(missing);
      throw new Error(missing);
    };
    try {
      await this.options.servers.everywhere('discovery', isListed, 0, NEVER_ABORTED);
      return { statements: [DISCOVERED], unlisted: 0 };
    } catch (error) {
      if (error instanceof ClusterError) return { statements: [], unlisted: 0 };
      const unlisted = lacking.length > 0 ? before + 1 : 0;
      const remedy = unlisted > 0 ? `; ${await this.renew(types, unlisted)}` : '';
      const [type, holds, reason, message] = notDiscovered(messageOf(error));
      return { statements: [condition(type, holds, reason, `${message}${remedy}`)], unlisted };
    }
  }

  /** Has kube-apiservers look again: when they lack a type for the second time, the fourth, the eighth and so on. Returns what is done. */
  private async renew(types: readonly DiscoveredType[], unlisted: number): Promise<string> {
    const names = apiServicesOf(types);
    const services = names.join(' ');
    try {
      if (unlisted >= RENEWED_FROM && isPowerOfTwo(unlisted)) await renewApiServices(this.options.client, names);
      return `Annex deletes the APIServices ${services}, which kube-apiserver makes anew, until it lists them`;
    } catch (error) {
      return `kubectl delete apiservice ${services} makes it look again: Annex cannot: ${messageOf(error)}`;
    }
  }

  forget(group: string): void {
    this.lastChecks.delete(group);
  }

  private conditionsFor(group: string, { blocks, missing, admission }: Readiness): readonly AdoptionCondition[] {
    const isEnforced = ({ enforced }: Readiness['admission'][number]): boolean =>
      enforced && this.options.admissionFromCluster;
    const lost = admission.filter((one) => !isEnforced(one));
    const text = (one: Readiness['admission'][number]): string =>
      `${one.name} (${this.options.admissionFromCluster ? one.note : '--admission-from-cluster=false'})`;
    return [
      blocks.length > 0
        ? condition('Switchable', false, 'Blocked', blocks.join('; '))
        : missing.length > 0
          ? condition(
              'Switchable',
              false,
              'RightsMissing',
              `Annex may not ${missingText(missing)}; annex adopt ${group} --dry-run prints the ClusterRole`,
            )
          : condition('Switchable', true, 'NothingInTheWay', 'nothing prevents switching the group to Annex'),
      lost.length > 0
        ? condition(
            'AdmissionEnforced',
            false,
            'NotEnforced',
            `when Annex serves the group, these are not enforced: ${lost.map(text).join(', ')}`,
          )
        : condition(
            'AdmissionEnforced',
            true,
            'AllEnforced',
            `Annex enforces everything that matches the group: ${admission.map(({ name }) => name).join(', ') || 'none'}`,
          ),
    ];
  }
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

const condition = (type: string, holds: boolean, reason: string, message: string): AdoptionCondition => [
  type,
  holds,
  reason,
  message.slice(0, 1024),
];
