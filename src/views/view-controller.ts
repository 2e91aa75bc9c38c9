import { deepEqual, type JsonObject, objectAt } from '../apimachinery/json/json.js';
import { conditionsOf, transitionTime } from '../apimachinery/meta/conditions.js';
import { hasDeletionTimestamp, type KubeObject } from '../apimachinery/meta/meta.js';
import type { FieldError } from '../apimachinery/meta/field-error.js';
import { computedApi } from '../registry/generic/computed.js';
import type { ApiRegistry, StoredApi } from '../registry/generic/store/api-registry.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import type { Clock } from '../util/clock.js';
import { RowFeed } from './row-feed.js';
import { rowKind } from './row-kind.js';
import { VIEWS_GROUP } from './row.js';
import { sourceOf } from './sources.js';
import { readView, ViewPlan, type ViewSpec } from './view-plan.js';

/** Custom groups come after the built-in ones in discovery. */
const GROUP_PRIORITY = 1_000;
const STATUS_MILLIS = 2_000;
/** How often numbers in messages are brought up to date. */
const NUMBERS_MILLIS = 30_000;

export interface ViewControllerOptions {
  readonly client: LoopbackClient;
  readonly registry: ApiRegistry;
  readonly clock: Clock;
  readonly historyMillis: number;
  readonly onError: (name: string, error: unknown) => void;
}

/** A view that is served, or why it is not. */
interface Served {
  readonly view: KubeObject;
  readonly spec: ViewSpec;
  /** What the rows depend on: they are made anew when it changes. */
  readonly basis: readonly unknown[];
  readonly feed: RowFeed | undefined;
  readonly refusal: { readonly reason: string; readonly message: string } | undefined;
}

/** Serves the rows of the views, and reports in the views' status how that goes. */
export class ViewController {
  private readonly views = new Map<string, KubeObject>();
  private readonly served = new Map<string, Served>();
  private isDue = false;
  private isSynced = false;
  private readonly written = new Map<string, number>();

  constructor(private readonly options: ViewControllerOptions) {}

  /** Resolves when the views that exist are served. */
  start(signal: AbortSignal): Promise<void> {
    const { client, registry, clock } = this.options;
    registry.onChange(() => this.due());
    const report = (): void => {
      if (signal.aborted) return;
      void this.report().finally(() => clock.setTimer(STATUS_MILLIS, report));
    };
    clock.setTimer(STATUS_MILLIS, report);
    signal.addEventListener('abort', () => {
      for (const { feed } of this.served.values()) feed?.stop();
    });
    return new Promise((resolve) => {
      client.watch(
        {
          upsert: (view) => {
            this.views.set(view.metadata.name ?? '', view);
            this.due();
          },
          delete: (view) => {
            this.views.delete(view.metadata.name ?? '');
            this.due();
          },
          reset: () => this.views.clear(),
          synced: () => {
            this.isSynced = true;
            this.sync();
            resolve();
          },
        },
        signal,
      );
    });
  }

  /** Looks at all views once what is happening now is over. */
  private due(): void {
    if (this.isDue || !this.isSynced) return;
    this.isDue = true;
    setImmediate(() => {
      this.isDue = false;
      this.sync();
    });
  }

  private sync(): void {
    for (const name of [...this.served.keys()]) if (!this.views.has(name)) this.withdraw(name);
    for (const [name, view] of this.views) {
      try {
        this.serve(name, view);
      } catch (error) {
        this.options.onError(name, error);
      }
    }
  }

  private serve(name: string, view: KubeObject): void {
    const { registry, clock, historyMillis } = this.options;
    const spec = readView(view);
    const api = sourceOf(registry, spec.source);
    const source = api?.kind === 'stored' ? api : undefined;
    const basis = [view.metadata.uid, view.metadata.generation, this.rival(view, spec), ...basisOf(source)];
    const before = this.served.get(name);
    if (before?.basis.length === basis.length && basis.every((part, i) => part === before.basis[i])) {
      this.served.set(name, { ...before, view });
      return;
    }
    this.stop(before);
    const { refusal, plan } = this.judge(view, spec, source);
    if (plan === undefined || source === undefined) {
      this.served.set(name, { view, spec, basis, feed: undefined, refusal });
      if (before?.feed !== undefined) registry.remove({ group: VIEWS_GROUP, resource: before.spec.plural });
      return;
    }
    const feed = new RowFeed({ source: source.store.cache, plan, clock, historyMillis });
    this.served.set(name, { view, spec, basis, feed, refusal: undefined });
    feed.start();
    registry.install({
      groupResource: { group: VIEWS_GROUP, resource: spec.plural },
      apis: [computedApi(rowKind(spec, plan, feed, source, clock))],
      groupPriority: GROUP_PRIORITY,
    });
  }

  private judge(
    view: KubeObject,
    spec: ViewSpec,
    source: StoredApi | undefined,
  ): { readonly plan?: ViewPlan; readonly refusal?: Served['refusal'] } {
    if (hasDeletionTimestamp(view)) return { refusal: { reason: 'Deleting', message: 'the view is being deleted' } };
    const rival = this.rival(view, spec);
    if (rival !== undefined)
      return { refusal: { reason: 'NamesConflict', message: `the View ${rival} has the kind ${spec.kind} already` } };
    const { group, version, resource } = spec.source;
    const shown = [resource, version, group].filter((part) => part !== '').join('.');
    if (source === undefined)
      return { refusal: { reason: 'SourceNotServed', message: `the source ${shown} is not served` } };
    const errors: FieldError[] = [];
    const plan = ViewPlan.compile(spec, source.served, errors);
    if (errors.length === 0) return { plan };
    return { refusal: { reason: 'ExpressionInvalid', message: errors.map(String).join('; ') } };
  }

  /** Returns the name of an older view with the same kind. */
  private rival(view: KubeObject, { kind }: ViewSpec): string | undefined {
    const place = ({ metadata }: KubeObject): string => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
    for (const [name, other] of this.views) {
      if (other !== view && name !== view.metadata.name && readView(other).kind === kind && place(other) < place(view))
        return name;
    }
    return undefined;
  }

  private stop(served: Served | undefined): void {
    served?.feed?.stop();
  }

  private withdraw(name: string): void {
    const served = this.served.get(name);
    this.served.delete(name);
    this.written.delete(name);
    if (served?.feed === undefined) return;
    this.options.registry.remove({ group: VIEWS_GROUP, resource: served.spec.plural });
    this.stop(served);
  }

  /** Writes the conditions that have changed. Replicas come to the same ones. */
  private async report(): Promise<void> {
    const { client, clock, onError } = this.options;
    for (const [name, served] of [...this.served]) {
      const status = this.statusOf(served);
      const { view } = served;
      if (deepEqual(status, view['status'])) continue;
      const now = clock.monotonic();
      const isUrgent = withoutNumbers(status) !== withoutNumbers(objectAt(view, 'status') ?? {});
      if (!isUrgent && now - (this.written.get(name) ?? -Infinity) < NUMBERS_MILLIS) continue;
      this.written.set(name, now);
      await client.updateStatus({ ...view, status }).catch((error: unknown) => {
        const code = (error as { code?: unknown }).code;
        if (code !== 409 && code !== 404) onError(name, error);
      });
    }
  }

  private statusOf({ view, feed, refusal, spec }: Served): JsonObject {
    const { generation = 1 } = view.metadata;
    const isReady = feed?.isBuilt === true;
    const readiness = refusal ?? (isReady ? { reason: 'Served', message: 'the rows are served' } : BUILDING);
    const wanted: [string, boolean | undefined, string, string][] = [
      ['Ready', isReady, readiness.reason, readiness.message],
    ];
    if (feed === undefined || !isReady)
      for (const type of ['Complete', 'ExpressionsSucceed'])
        wanted.push([type, undefined, readiness.reason, readiness.message]);
    else {
      const { beyond, failures, rows } = feed;
      wanted.push(
        beyond === 0
          ? ['Complete', true, 'AllRows', 'no rows are left out']
          : [
              'Complete',
              false,
              'TooManyRows',
              `${String(beyond)} objects are in no row: a view has at most ${String(rows.size)} rows`,
            ],
      );
      const [first] = failures;
      wanted.push(
        first === undefined
          ? ['ExpressionsSucceed', true, 'NoFailures', 'no expression fails']
          : [
              'ExpressionsSucceed',
              false,
              'ExpressionFails',
              `an expression fails on ${String(failures.size)} objects: ${spec.source.resource}/${first[0]}: ${first[1]}`,
            ],
      );
    }
    const known = conditionsOf(view);
    const conditions = wanted.map(([type, is, reason, message]): JsonObject => {
      const status = is === undefined ? 'Unknown' : is ? 'True' : 'False';
      const before = known.find((condition) => condition['type'] === type);
      const lastTransitionTime = transitionTime(before, status, this.options.clock.now());
      return { type, status, reason, message, lastTransitionTime, observedGeneration: generation };
    });
    return { observedGeneration: generation, conditions };
  }
}

const BUILDING = { reason: 'Building', message: 'the rows are being made' };

/** What the rows depend on of a source: its objects, and how they are shown. */
const basisOf = (source: StoredApi | undefined): readonly unknown[] =>
  source === undefined
    ? []
    : [source.served.definition?.watchCancellation ?? source.served, source.served.gvk.version, source.store.resource];

/** Returns what tells conditions apart besides the numbers in their messages. */
const withoutNumbers = (status: JsonObject): string =>
  JSON.stringify(
    conditionsOf({ status }).map(({ type, status: is, reason, observedGeneration }) => [
      type,
      is,
      reason,
      observedGeneration,
    ]),
  );
