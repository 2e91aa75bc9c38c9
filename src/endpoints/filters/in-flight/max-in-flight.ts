import { ApiError, newTooManyRequests } from '../../../apimachinery/meta/errors.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import { SYSTEM_PRIVILEGED_GROUP } from '../../../authentication/user/user.js';
import { type MaybePromise, then, runFinally } from '../../../util/maybe-promise.js';
import type { ChainConfig, Step } from '../chain-config.js';
import type { Exchange } from '../exchange.js';
import { FairQueue, type RejectReason } from '../../../scheduling/fair-queue.js';
import { writeText } from '../status.js';
import { WatchSeats } from './watch-seats.js';

/** The maximum wait for a seat is the request timeout divided by this, as in kube-apiserver. */
const WAIT_PART = 4;
/** Verbs that read whole collections, each of which may use up a time slice at once. */
const WIDE: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

type Kind = 'readOnly' | 'mutating';

/**
 * Limits the requests in flight, mutating and read-only ones separately; watches have a limit of their own. Beyond the limit,
 * requests wait in fair queues, one per user, and get a 429 if a queue is full or the wait is too long. Requests that read whole
 * collections start one per turn of the event loop, alternating between users.
 */
export function withMaxInFlight(next: Step, config: ChainConfig): Step {
  const { clock, wheel, metrics } = config;
  const waitMillis = config.requestTimeout / WAIT_PART;
  const queueOf = (seats: number): FairQueue => new FairQueue({ seats, waitMillis, wheel, clock });
  const levels = {
    readOnly: { queue: queueOf(config.maxRequestsInFlight), exempt: 0 },
    mutating: { queue: queueOf(config.maxMutatingRequestsInFlight), exempt: 0 },
  };
  metrics.setQueues(() => ({ readOnly: levels.readOnly.queue, mutating: levels.mutating.queue }));
  const takeTurn = limitCollectionReads(next, config);
  const startWatch = limitWatches(takeTurn, config);
  return (exchange) => {
    if (exchange.longRunning) return startWatch(exchange);
    const { verb } = exchange.info;
    const kind = verb === 'get' || verb === 'list' ? 'readOnly' : 'mutating';
    const level = levels[kind];
    const { queue } = level;
    const { name, groups } = exchange.user;
    const run = (leave: () => void): MaybePromise<void> => {
      metrics.inFlight(kind, queue.running + level.exempt);
      return runFinally(
        () => takeTurn(exchange),
        () => {
          leave();
          metrics.inFlight(kind, queue.running + level.exempt);
        },
      );
    };
    if (groups.includes(SYSTEM_PRIVILEGED_GROUP)) {
      level.exempt++;
      return run(() => level.exempt--);
    }
    const leave = (): void => queue.release(name);
    if (queue.tryEnter(name)) return run(leave);
    const began = clock.monotonic();
    return then(queue.wait(name, exchange.signal), (refusal) => {
      const waited = clock.monotonic() - began;
      exchange.stopwatch?.record('apf-queue-wait', waited);
      metrics.queued(kind, refusal === undefined, waited);
      if (refusal === undefined) return run(leave);
      refuse(exchange, kind, refusal, metrics);
      return undefined;
    });
  };
}

/** Rejects the watches of a user who has too many. They do not wait, because none may end for a long time. */
function limitWatches(next: Step, { maxWatchesPerUser, metrics, writeStatus }: ChainConfig): Step {
  const seats = new WatchSeats(maxWatchesPerUser);
  metrics.setMostWatches(() => seats.most);
  return (exchange) => {
    const { info, user, rawQuery } = exchange;
    if (info.verb !== 'watch' || user.groups.includes(SYSTEM_PRIVILEGED_GROUP)) return next(exchange);
    const leave = seats.take(user.name, rawQuery);
    if (leave !== undefined) return runFinally(() => next(exchange), leave);
    metrics.dropped('readOnly');
    metrics.terminated(exchange, 429);
    const why = `user ${quote(user.name)} already has ${maxWatchesPerUser} watches on this server`;
    writeStatus(exchange, newTooManyRequests(why, 1));
    return undefined;
  };
}

/** Starts requests that read whole collections one per turn of the event loop, and rejects those that memory has no room for. */
function limitCollectionReads(
  next: Step,
  { clock, turns, unavailableReason, metrics, writeStatus }: ChainConfig,
): Step {
  return (exchange) => {
    const { verb } = exchange.info;
    if (!WIDE.has(verb)) return next(exchange);
    const reason = verb === 'list' || verb === 'watch' ? unavailableReason(verb) : undefined;
    if (reason !== undefined) {
      metrics.terminated(exchange, 503);
      writeStatus(exchange, new ApiError(503, 'ServiceUnavailable', reason, { retryAfterSeconds: 1 }));
      return undefined;
    }
    const turn = turns.take(exchange.user.name);
    if (turn === undefined) return next(exchange);
    const began = clock.monotonic();
    return turn.then(() => {
      exchange.stopwatch?.record('apf-queue-wait', clock.monotonic() - began);
      return exchange.timedOut ? undefined : next(exchange);
    });
  };
}

function refuse(exchange: Exchange, kind: Kind, refusal: RejectReason, metrics: ChainConfig['metrics']): void {
  metrics.rejected(kind, refusal);
  if (refusal === 'cancelled' || exchange.timedOut) return;
  metrics.dropped(kind);
  metrics.terminated(exchange, 429);
  exchange.response.setHeader('Retry-After', '1');
  writeText(exchange.response, 429, 'Too many requests, please try again later.');
}
