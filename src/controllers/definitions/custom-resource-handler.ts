import { isConditionTrue } from '../../apimachinery/meta/conditions.js';
import { setMaxListeners } from 'node:events';
import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';
import { deepEqual, type JsonValue, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { type Definition, readDefinition, storedType } from '../../registry/customresource/definition.js';
import { CompiledDefinition, compileSliced } from '../../registry/customresource/compiled.js';
import { customAttributes } from '../../registry/customresource/attributes.js';
import type { Handover, HandoverReason } from '../../registry/generic/handover.js';
import { serveDefinition } from '../../registry/customresource/serve.js';
import type { OffloadConversion, Verification } from '../../registry/customresource/serve-options.js';
import type { Conversion } from '../../registry/customresource/conversion/conversion.js';
import { ResourceStore } from '../../registry/generic/store/resource-store.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import type { Cacher } from '../../storage/cacher/interfaces.js';
import type { Backend, StoreBackend } from '../../storage/interfaces.js';
import type { VerifiedMarks } from '../../storage/verified-marks.js';
import { isOnMainLog } from '../../storage/routed-backend.js';
import { sliced } from '../../scheduling/slicer.js';
import type { Clock } from '../../util/clock.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** How long watches under an earlier definition may still receive the last events. */
const WATCH_GRACE_MILLIS = 1000;
/** How long the cache of a deleted definition's objects is kept. */
const FORGET_MILLIS = 5000;
/** Custom groups come after the built-in ones in discovery. */
const CUSTOM_GROUP_PRIORITY = 1000;

export interface ServingOptions {
  readonly registry: ApiRegistry;
  readonly backend: Backend;
  readonly cacher: Cacher;
  readonly clock: Clock;
  readonly cbor: boolean;
  /** How objects of a definition are converted between its versions. */
  readonly conversionOf: (definition: Definition) => Conversion;
  /** Converts large objects to other versions on another thread. */
  readonly offloadConversion: OffloadConversion;
  /** Where it is kept what was verified, and how to read the newest definition; undefined if that is not kept. */
  readonly verified?: { readonly marks: VerifiedMarks; newest(name: string): Promise<KubeObject | undefined> };
  /** Definitions of Annex's own types, which are not stored as objects. */
  readonly own?: readonly KubeObject[];
  /** Notified of each definition before it is served, and when it is gone. */
  readonly observer?: { seen(crd: KubeObject): void; gone(crd: KubeObject): void };
  /** Knows which types another server is about to serve. */
  readonly handover?: Pick<Handover, 'relist'>;
  /** Guards the writes to a type before they reach the store. */
  readonly gate?: WriteGate;
  readonly onError: (name: string, error: unknown) => void;
}

interface WriteGate {
  through(backend: StoreBackend, type: GroupResource): StoreBackend;
}

/** The fields that a Definition is read from. */
interface Inputs {
  readonly uid: string;
  readonly generation: JsonValue | undefined;
  readonly spec: JsonValue | undefined;
  readonly names: JsonValue | undefined;
}

/** The inputs and the result of compiling a definition's schemas. */
interface Compilation {
  readonly inputs: Inputs;
  readonly definition: Definition;
  result: MaybePromise<CompiledDefinition>;
}

/** The state that determines how a definition is served. */
interface ServedState {
  readonly compilation: Compilation;
  readonly terminating: boolean;
  readonly established: boolean;
  /** Set if clients are to watch the type elsewhere. */
  readonly leaving: HandoverReason | undefined;
}

interface Serving extends ServedState {
  readonly groupResource: GroupResource;
  /** Aborted when what is served for the definition is replaced or withdrawn. */
  readonly retired: AbortController;
  /** Ends the watches, which continue while spec and names of the definition do not change. */
  readonly watchEnd: AbortController;
}

/** Starts and stops serving definitions as their objects change. */
export class CustomResourceHandler {
  private readonly serving = new Map<string, Serving>();
  private epoch = 0;
  /** Revisions at which definitions were first seen, by UID; 0 for those present at startup. */
  private readonly births = new Map<string, number>();
  private live = false;
  private readonly known = new Map<string, KubeObject>();
  private readonly compilations = new Map<string, Compilation>();

  private readonly own: ReadonlySet<string>;

  constructor(private readonly options: ServingOptions) {
    const { own = [] } = options;
    this.own = new Set(own.map((crd) => crd.metadata.name ?? ''));
    for (const crd of own) this.serve(crd);
  }

  /** Called when all definitions present at startup have been delivered; later ones are new. Resolves when the former are served. */
  async started(): Promise<void> {
    this.live = true;
    await Promise.allSettled([...this.compilations.values()].map(({ result }) => Promise.resolve(result)));
  }

  /** Resolves when the definition, which no other component has seen yet, can be served at once. */
  async prepare(crd: KubeObject): Promise<void> {
    await this.compilationOf(crd).result;
  }

  /**
   * Updates what is served for a definition: at once, or, if its schemas are large, after they were compiled in slices of time. Does
   * nothing if nothing relevant changed.
   */
  update(crd: KubeObject): void {
    if (this.isOwn(crd)) return;
    this.options.observer?.seen(crd);
    this.serve(crd);
  }

  private serve(crd: KubeObject): void {
    const name = crd.metadata.name ?? '';
    const uid = crd.metadata.uid ?? '';
    if (!this.births.has(uid)) this.births.set(uid, this.live ? Number(crd.metadata.resourceVersion ?? 0) : 0);
    this.known.set(name, crd);
    if (!isWanted(crd) || this.isBuiltIn(crd)) {
      this.withdraw(name);
      return;
    }
    const compilation = this.compilationOf(crd);
    const { result } = compilation;
    if (result instanceof CompiledDefinition) {
      this.install(crd, compilation, result);
      return;
    }
    result
      .then((compiled) => {
        if (this.known.get(name) === crd) this.install(crd, compilation, compiled);
      })
      .catch((error: unknown) => this.options.onError(name, error));
  }

  /** Stops serving a deleted definition and forgets everything kept about its objects. */
  remove(crd: KubeObject): void {
    const name = crd.metadata.name ?? '';
    if (this.isOwn(crd)) return;
    this.options.observer?.gone(crd);
    this.withdraw(name);
    this.known.delete(name);
    this.compilations.delete(name);
    this.births.delete(crd.metadata.uid ?? '');
    if (this.isShadowed(crd)) return;
    // Watches receive the deletion of the last objects before they end.
    this.options.clock.setTimer(FORGET_MILLIS, () => {
      if (!this.known.has(name)) this.options.cacher.remove(storageName(crd));
    });
  }

  /** Reports whether the definition names a type that Annex itself defines. */
  private isOwn(crd: KubeObject): boolean {
    return this.own.has(crd.metadata.name ?? '');
  }

  /**
   * Reports whether the definition names a type of Annex's own, built in or not: that one is served instead, and its objects are not the
   * definition's.
   */
  isShadowed(crd: KubeObject): boolean {
    return this.isOwn(crd) || this.isBuiltIn(crd);
  }

  private isBuiltIn(crd: KubeObject): boolean {
    const spec = objectAt(crd, 'spec');
    const group = stringAt(spec, 'group') ?? '';
    const resource = stringAt(objectAt(spec, 'names'), 'plural') ?? '';
    return this.options.registry.isBuiltInType({ group, resource });
  }

  /** Returns the store of a definition's objects, whether it is served or not. */
  store(crd: KubeObject): ResourceStore {
    const definition = readDefinition(crd);
    const type = storedType(definition);
    const resource = storageName(crd);
    const { backend, cacher, clock, gate } = this.options;
    const cache = cacher.add({ resource, attributes: customAttributes(definition) });
    // If the type has a log of its own, revisions say nothing about when the definition was created.
    const bornAt = isOnMainLog(backend, resource) ? this.births.get(crd.metadata.uid ?? '') : undefined;
    const written = gate?.through(backend, type) ?? backend;
    return new ResourceStore(type, resource, written, cache, clock, bornAt ?? 0);
  }

  private compilationOf(crd: KubeObject): Compilation {
    const name = crd.metadata.name ?? '';
    const inputs = inputsOf(crd);
    const known = this.compilations.get(name);
    if (known !== undefined && sameInputs(known.inputs, inputs)) return known;
    const definition = readDefinition(crd);
    const compilation: Compilation = {
      inputs,
      definition,
      result: sliced(compileSliced(definition), this.options.clock),
    };
    this.compilations.set(name, compilation);
    const { result } = compilation;
    if (result instanceof Promise) {
      result.then(
        (compiled) => {
          compilation.result = compiled;
        },
        () => {
          if (this.compilations.get(name) === compilation) this.compilations.delete(name);
        },
      );
    }
    return compilation;
  }

  private install(crd: KubeObject, compilation: Compilation, compiled: CompiledDefinition): void {
    const name = crd.metadata.name ?? '';
    const { definition } = compilation;
    const terminating = isConditionTrue(crd, 'Terminating');
    const established = isConditionTrue(crd, 'Established');
    const before = this.serving.get(name);
    const leaving = this.options.handover?.relist(crd, before?.leaving);
    const state = { compilation, terminating, established, leaving };
    if (before !== undefined && isSameState(before, state)) return;
    const store = this.store(crd);
    const retired = new AbortController();
    const watchEnd = this.watchEndOf(before, state);
    const options = {
      compiled,
      store,
      conversion: this.options.conversionOf(definition),
      terminating,
      // Annex's own definitions never change.
      epoch: this.own.has(name) ? 0 : ++this.epoch,
      signal: retired.signal,
      watchCancellation: watchEnd.signal,
      clock: this.options.clock,
      cbor: this.options.cbor,
      offloadConversion: this.options.offloadConversion,
      verification: this.verificationOf(definition.name, compilation.inputs),
    };
    const { groupResource } = store;
    before?.retired.abort();
    this.serving.set(name, { ...state, groupResource, retired, watchEnd });
    this.options.backend.indexes?.keep(store.resource, selectableFields(definition));
    const { registry } = this.options;
    // Built-in group versions serve only their own types.
    const apis = serveDefinition(
      options,
      ({ version }) => version.served && !registry.isBuiltIn(definition.group, version.name),
    );
    const [hidden] =
      apis.length > 0 ? [] : serveDefinition(options, ({ version }) => version.name === definition.storageVersion);
    registry.install({ groupResource, apis, hidden, groupPriority: CUSTOM_GROUP_PRIORITY });
  }

  private verificationOf(name: string, { uid, generation }: Inputs): Verification | undefined {
    const { verified, backend } = this.options;
    return (
      verified && {
        marks: verified.marks,
        isShared: backend.presence !== undefined,
        isNewest: async () => {
          const newest = await verified.newest(name);
          return newest?.metadata.uid === uid && newest.metadata.generation === generation;
        },
      }
    );
  }

  /** Running watches survive a change of conditions, but not a change of what is served. */
  private watchEndOf(before: Serving | undefined, { compilation, leaving }: ServedState): AbortController {
    if (before?.compilation === compilation && before.leaving === leaving) return before.watchEnd;
    const watchEnd = endOfMany();
    if (leaving !== undefined) {
      before?.watchEnd.abort(leaving);
      watchEnd.abort(leaving);
    } else if (before !== undefined) this.endLater(before);
    return watchEnd;
  }

  private endLater({ watchEnd }: Serving): void {
    this.options.clock.setTimer(WATCH_GRACE_MILLIS, () => watchEnd.abort());
  }

  private withdraw(name: string): void {
    const serving = this.serving.get(name);
    if (serving === undefined) return;
    this.serving.delete(name);
    serving.retired.abort();
    this.endLater(serving);
    this.options.registry.remove(serving.groupResource);
  }
}

const isSameState = (a: ServedState, b: ServedState): boolean =>
  a.compilation === b.compilation &&
  a.terminating === b.terminating &&
  a.established === b.established &&
  a.leaving === b.leaving;

/** Returns the fields that clients may select by, in any version: conversion seldom moves them. */
function selectableFields(definition: Definition): string[] {
  const paths = definition.versions.flatMap((version) => version.selectableFields);
  return [...new Set(paths.map((path) => path.replace(/^\./, '')))];
}

/** Returns a controller whose signal may have thousands of listeners, one for each watch. */
function endOfMany(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Definitions are named `<plural>.<group>`, which is how the store names their types. */
const storageName = (crd: KubeObject): string => crd.metadata.name ?? '';

/** Reports whether there is anything to serve: the names are accepted, or were once. */
const isWanted = (crd: KubeObject): boolean =>
  isConditionTrue(crd, 'NamesAccepted') || isConditionTrue(crd, 'Established');

function inputsOf(crd: KubeObject): Inputs {
  const status = crd['status'] as { acceptedNames?: JsonValue } | undefined;
  const { uid = '', generation } = crd.metadata;
  return { uid, generation, spec: crd['spec'], names: status?.acceptedNames };
}

/** A generation has one spec, so equal generations need no comparison. */
function sameInputs(a: Inputs, b: Inputs): boolean {
  if (a.uid !== b.uid || !deepEqual(a.names, b.names)) return false;
  return (a.generation !== undefined && a.generation === b.generation) || deepEqual(a.spec, b.spec);
}
