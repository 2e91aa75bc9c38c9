import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { AuthorizationResult, AuthorizerAttributes } from '../../../src/authorization/authorizer/interfaces.js';
import type { AuthenticationResponse } from '../../../src/authentication/authenticator/interfaces.js';
import { FakeClock } from '../util/clock.js';
import { Turns } from '../../../src/scheduling/turns.js';
import { FeatureGates } from '../../../src/util/feature-gates.js';
import { silentLogger } from '../../../src/util/logger.js';
import { TimerWheel } from '../../../src/util/timer-wheel.js';
import { Registry } from 'prom-client';
import { buildHandlerChain } from '../../../src/endpoints/filters/chain.js';
import type { ChainConfig, Step } from '../../../src/endpoints/filters/chain-config.js';
import { Exchange } from '../../../src/endpoints/filters/exchange.js';
import { ChainMetrics } from '../../../src/endpoints/filters/metrics.js';
import { writeJsonStatus } from './status.js';
import type { MaybePromise } from '../../../src/util/maybe-promise.js';

/** Records the body that would be sent. */
export class RecordedResponse extends ServerResponse {
  body = '';
  continued = false;

  override end(chunk?: unknown): this {
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) this.body += chunk.toString();
    return super.end();
  }

  override writeContinue(): void {
    this.continued = true;
  }
}

export interface TestRequest {
  method?: string;
  url?: string;
  headers?: Record<string, string>;
  /** Used instead of `headers` if a name occurs twice: alternating names and values. */
  rawHeaders?: readonly string[];
  http2?: boolean;
  expectsContinue?: boolean;
}

export const ALICE: AuthenticationResponse = { user: { name: 'alice', uid: '', groups: [], extra: {} } };
export const MASTER: AuthenticationResponse = {
  user: { name: 'root', uid: '', groups: ['system:masters'], extra: {} },
};

/** The whole chain around a handler, with authenticators and authorizers that tests set. */
export class TestChain {
  readonly clock = new FakeClock();
  readonly registry = new Registry();
  readonly metrics = new ChainMetrics(this.registry);
  readonly log: string[] = [];
  retired = 0;
  authenticate: () => MaybePromise<AuthenticationResponse | undefined> = () => ALICE;
  authorize: (attributes: AuthorizerAttributes) => AuthorizationResult = () => ({ decision: 'allow', reason: '' });
  handler: Step = (exchange) => {
    exchange.response.end('done');
  };
  readonly step: Step;

  constructor(config: Partial<ChainConfig> = {}) {
    this.step = buildHandlerChain((exchange) => {
      this.log.push('handler');
      return this.handler(exchange);
    }, this.config(config));
  }

  private config(config: Partial<ChainConfig>): ChainConfig {
    return {
      authenticator: {
        authenticateRequest: () => {
          this.log.push('authenticate');
          return this.authenticate();
        },
      },
      authorizer: {
        authorize: (attributes) => {
          this.log.push(`authorize ${attributes.verb} ${attributes.resource}`);
          return this.authorize(attributes);
        },
      },
      clock: this.clock,
      wheel: new TimerWheel(this.clock),
      logger: silentLogger,
      gates: new FeatureGates(),
      metrics: this.metrics,
      writeStatus: writeJsonStatus,
      requestTimeout: 60_000,
      maxRequestsInFlight: 1,
      maxMutatingRequestsInFlight: 1,
      maxWatchesPerUser: 100,
      goawayChance: 0,
      random: () => 0.5,
      strictTransportSecurity: '',
      // Every requested turn is granted at once.
      turns: new Turns((callback) => {
        callback();
      }),
      unavailableReason: () => undefined,
      audit: undefined,
      tracer: undefined,
      parseSelectors: undefined,
      ...config,
    };
  }

  start(scene: TestRequest = {}): { response: RecordedResponse; running: MaybePromise<void>; exchange: Exchange } {
    const { method = 'GET', url = '/api/v1/pods', headers = {} } = scene;
    const [path = '', query = ''] = url.split('?');
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method, url, rawHeaders: scene.rawHeaders ?? Object.entries(headers).flat() });
    const response = new RecordedResponse(request);
    const connection = {
      socket: undefined,
      http2: scene.http2 === true,
      retire: () => {
        this.retired++;
      },
    };
    const { clock } = this;
    const exchange = new Exchange(request, response, connection, 'id', clock.now(), clock.monotonic(), path, query);
    exchange.expectsContinue = scene.expectsContinue === true;
    return { response, running: this.step(exchange), exchange };
  }

  async run(scene: TestRequest = {}): Promise<RecordedResponse> {
    const { response, running } = this.start(scene);
    await running;
    return response;
  }
}

/** Returns the message of a Status. */
export const message = (response: RecordedResponse): unknown =>
  (JSON.parse(response.body) as { message: unknown }).message;
