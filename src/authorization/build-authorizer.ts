import { featureGates } from '../util/feature-gates.js';
import { aggregate, FieldPath } from '../apimachinery/meta/field-error.js';
import type { Clock } from '../util/clock.js';
import { AbacAuthorizer } from './abac/abac.js';
import { parsePolicyFile } from './abac/policy.js';
import { alwaysAllow, alwaysDeny } from './authorizer/constant.js';
import { InstrumentedAuthorizer, type AuthorizationMetrics } from './authorizer/instrumentation.js';
import type { Authorizer, RuleResolver } from './authorizer/interfaces.js';
import { aggregateTexts } from './authorizer/results.js';
import { loadAuthorizationConfiguration } from './config/load.js';
import { configurationFromModes, validateOptions, type AuthorizationOptions } from './config/options.js';
import { ReloadingChain, type Chain } from './config/reload.js';
import {
  AuthorizationConfigError,
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  type WebhookConfiguration,
} from './config/types.js';
import {
  compileMatchConditions,
  validateAuthorizationConfiguration,
  type ConfigValidation,
} from './config/validate.js';
import { NodeAuthorizer } from './node/node-authorizer.js';
import type { NodeGraph } from './node/node-graph.js';
import type { RbacIndex } from './rbac/rbac-index.js';
import { privilegedGroupAuthorizer, UnionAuthorizer, UnionRuleResolver } from './union/union.js';
import type { WebhookTransport } from '../client/webhook/connection.js';
import { MatchConditions, type CompileMatchExpression } from './webhook/match-conditions.js';
import { WebhookAuthorizer } from './webhook/webhook-authorizer.js';

interface WebhookConnection extends WebhookTransport {
  close(): void;
}

export interface AuthorizationDependencies {
  readonly rbac: RbacIndex;
  readonly nodes: NodeGraph;
  readonly compileCondition: CompileMatchExpression;
  readonly metrics: AuthorizationMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readFile(path: string): Promise<string>;
  statFile: ConfigValidation['statFile'];
  /** Calls `changed` when the file may have changed, until the signal is aborted. */
  watchFile(path: string, changed: () => void, signal: AbortSignal): void;
  /** Reads the settings of the connection; throws if they cannot be used. */
  connect(kubeConfigFile: string, timeoutMillis: number): Promise<WebhookConnection>;
  /** Called for configuration files that a reload rejects. */
  failed(text: string): void;
}

export interface BuiltAuthorizer {
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  /** The authorizer types in the chain at startup, in order. */
  readonly modes: readonly string[];
}

/**
 * Builds the server's authorizer from its flags: first members of system:masters, then the modes in order. Throws
 * AuthorizationConfigError (or the error of a file) if the server must not start. Reloading stops when the signal is
 * aborted.
 */
export async function buildAuthorizer(
  options: AuthorizationOptions,
  dependencies: AuthorizationDependencies,
  signal: AbortSignal,
): Promise<BuiltAuthorizer> {
  const errors = validateOptions(options);
  if (errors.length > 0) throw new AuthorizationConfigError(aggregateTexts(errors));
  if (options.configFile === '') {
    const configuration = configurationFromModes(options);
    const chain = await new ChainBuilder(options, dependencies, undefined).build(configuration);
    signal.addEventListener('abort', () => chain.close(), { once: true });
    return { ...chain, modes: configuration.authorizers.map(({ type }) => type) };
  }
  return fromFile(options, dependencies, signal);
}

async function fromFile(
  options: AuthorizationOptions,
  dependencies: AuthorizationDependencies,
  signal: AbortSignal,
): Promise<BuiltAuthorizer> {
  const { configFile } = options;
  const load = (text: string, requiredTypes: readonly string[]): AuthorizationConfiguration => {
    const configuration = loadAuthorizationConfiguration(text);
    validateAuthorizationConfiguration(configuration, { ...dependencies, requiredTypes });
    return configuration;
  };
  const text = await dependencies.readFile(configFile);
  const initial = load(text, []);
  const modes = initial.authorizers.map(({ type }) => type);
  const kept = [...new Set(modes)].filter((type) => type !== 'Webhook');
  const builder = new ChainBuilder(options, dependencies, kept);
  const chain = new ReloadingChain(await builder.build(initial), text, {
    read: () => dependencies.readFile(configFile),
    build: (changed) => builder.build(load(changed, kept)),
    watch: (changed, until) => dependencies.watchFile(configFile, changed, until),
    clock: dependencies.clock,
    metrics: dependencies.metrics,
    onError: (why) => dependencies.failed(why),
  });
  chain.start(signal);
  return { authorizer: chain, ruleResolver: chain, modes };
}

/** Builds chains. All chains of a process share the RBAC index and the node graph. */
class ChainBuilder {
  constructor(
    private readonly options: AuthorizationOptions,
    private readonly dependencies: AuthorizationDependencies,
    /** The types at startup. A reload cannot add others, because no informer feeds them. Undefined: no reloads. */
    private readonly initialTypes: readonly string[] | undefined,
  ) {}

  async build({ authorizers }: AuthorizationConfiguration): Promise<Chain> {
    const members: Authorizer[] = [privilegedGroupAuthorizer];
    const resolvers: RuleResolver[] = [];
    const connections: WebhookConnection[] = [];
    const close = (): void => connections.forEach((connection) => connection.close());
    try {
      for (const item of authorizers) {
        const member = await this.member(item, connections);
        members.push(new InstrumentedAuthorizer(item.type, item.name, member, this.dependencies.metrics));
        resolvers.push(member);
      }
    } catch (error) {
      close();
      throw error;
    }
    return { authorizer: new UnionAuthorizer(members), ruleResolver: new UnionRuleResolver(resolvers), close };
  }

  private async member(
    { type, name, webhook }: AuthorizerConfiguration,
    connections: WebhookConnection[],
  ): Promise<Authorizer & RuleResolver> {
    if (this.initialTypes !== undefined && type !== 'Webhook' && !this.initialTypes.includes(type)) {
      throw new AuthorizationConfigError(
        `authorizer type ${type} is not allowed if it was not enabled at initial server startup`,
      );
    }
    switch (type) {
      case 'Node':
        return new NodeAuthorizer(this.dependencies.nodes, {
          selectors: featureGates.enabled('AuthorizeNodeWithSelectors'),
        });
      case 'RBAC':
        return this.dependencies.rbac;
      case 'ABAC':
        return this.abac();
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      default:
        if (webhook === undefined) throw new AuthorizationConfigError(`unknown authorization mode ${type} specified`);
        return this.webhook(name, webhook, connections);
    }
  }

  private async abac(): Promise<AbacAuthorizer> {
    const { policyFile } = this.options;
    return new AbacAuthorizer(parsePolicyFile(policyFile, await this.dependencies.readFile(policyFile)));
  }

  private async webhook(
    name: string,
    webhook: WebhookConfiguration,
    connections: WebhookConnection[],
  ): Promise<WebhookAuthorizer> {
    const { compileCondition, metrics, clock, random } = this.dependencies;
    const { conditions, errors } = compileMatchConditions(webhook.matchConditions, FieldPath.empty, compileCondition);
    if (errors.length > 0) throw new AuthorizationConfigError(aggregate(errors));
    const { kubeConfigFile = '' } = webhook.connectionInfo;
    const transport = await this.dependencies.connect(kubeConfigFile, webhook.timeout);
    connections.push(transport);
    return new WebhookAuthorizer(
      {
        name,
        version: webhook.subjectAccessReviewVersion === 'v1' ? 'v1' : 'v1beta1',
        authorizedTtl: webhook.cacheAuthorizedRequests ? webhook.authorizedTTL : 0,
        unauthorizedTtl: webhook.cacheUnauthorizedRequests ? webhook.unauthorizedTTL : 0,
        timeout: webhook.timeout,
        onError: webhook.failurePolicy === 'Deny' ? 'deny' : 'no-opinion',
        matchConditions: new MatchConditions(name, conditions, metrics, clock),
      },
      { transport, clock, metrics, random },
    );
  }
}
