import { setMaxListeners } from 'node:events';
import type { GroupResource, KubeObject } from '../apimachinery/meta.js';
import { deepEqual, type JsonObject, type JsonValue } from '../apimachinery/json.js';
import { isConditionTrue, readDefinition } from '../registry/customresource/definition.js';
import { customAttributes, serveDefinition } from '../registry/customresource/serve.js';
import type { Conversion } from '../registry/customresource/conversion.js';
import type { Definition } from '../registry/customresource/definition.js';
import { ResourceStore } from '../registry/generic/resource-store.js';
import type { ApiRegistry } from '../registry/rest/api-registry.js';
import type { Cacher } from '../storage/cacher/interfaces.js';
import type { Backend } from '../storage/interfaces.js';
import type { Clock } from '../util/clock.js';

/** Watches under an earlier definition get this long to see the last events. */
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
}

interface Serving {
  readonly inputs: JsonObject;
  readonly groupResource: GroupResource;
  /** Aborted when what is served of the definition is replaced or withdrawn. */
  readonly retired: AbortController;
  readonly watches: Watches;
}

/** The watches of a definition whose spec and names stay as they are. */
interface Watches {
  readonly inputs: JsonObject;
  readonly end: AbortController;
}

/** Puts definitions into service and takes them out of it, as their objects change. */
export class DefinitionServing {
  private readonly serving = new Map<string, Serving>();
  private epoch = 0;
  /** Revisions at which definitions were first seen, by uid; none for those that were there at the start. */
  private readonly births = new Map<string, number>();
  private live = false;
  private readonly known = new Set<string>();

  constructor(private readonly options: ServingOptions) {}

  /** All definitions of the start have been told; those that come now are new. */
  started(): void {
    this.live = true;
  }

  /** Brings what is served of a definition up to date with it. Nothing happens where nothing of importance changed. */
  update(crd: KubeObject): void {
    const name = crd.metadata.name ?? '';
    const uid = crd.metadata.uid ?? '';
    this.known.add(name);
    if (!this.births.has(uid)) this.births.set(uid, this.live ? Number(crd.metadata.resourceVersion ?? 0) : 0);
    const accepted = isConditionTrue(crd, 'NamesAccepted');
    if (!accepted && !isConditionTrue(crd, 'Established')) {
      this.withdraw(name);
      return;
    }
    const inputs = servingInputs(crd);
    const before = this.serving.get(name);
    if (before !== undefined && deepEqual(before.inputs, inputs)) return;
    this.install(crd, inputs);
  }

  /** The definition is gone: so is everything that was kept of its objects. */
  remove(crd: KubeObject): void {
    const name = crd.metadata.name ?? '';
    this.withdraw(name);
    this.known.delete(name);
    this.births.delete(crd.metadata.uid ?? '');
    // Watches see the last objects go before they end.
    this.options.clock.setTimer(FORGET_MILLIS, () => {
      if (!this.known.has(name)) this.options.cacher.remove(storageName(crd));
    });
  }

  /** The store of a definition's objects, whether it is served or not. */
  store(crd: KubeObject): ResourceStore {
    const definition = readDefinition(crd);
    const groupResource = { group: definition.group, resource: definition.names.plural };
    const resource = storageName(crd);
    const { backend, cacher, clock } = this.options;
    const cache = cacher.add({ resource, attributes: customAttributes(definition) });
    // Revisions of a log of the type's own say nothing about when the definition was made.
    const bornAt = (backend.logOf?.(resource) ?? '') === '' ? this.births.get(crd.metadata.uid ?? '') : undefined;
    return new ResourceStore(groupResource, definition.namespaced, resource, backend, cache, clock, bornAt ?? 0);
  }

  private install(crd: KubeObject, inputs: JsonObject): void {
    const definition = readDefinition(crd);
    const store = this.store(crd);
    const retired = new AbortController();
    const name = crd.metadata.name ?? '';
    const watches = this.watchesOf(name, inputs);
    const apis = serveDefinition({
      definition,
      store,
      conversion: this.options.conversionOf(definition),
      terminating: isConditionTrue(crd, 'Terminating'),
      epoch: ++this.epoch,
      signal: retired.signal,
      watchesEnd: watches.end.signal,
      clock: this.options.clock,
      cbor: this.options.cbor,
    });
    const { groupResource } = store;
    this.serving.get(name)?.retired.abort();
    this.serving.set(name, { inputs, groupResource, retired, watches });
    this.options.backend.index?.(store.resource, selectableFields(definition));
    this.options.registry.install({ groupResource, apis, groupPriority: CUSTOM_GROUP_PRIORITY });
  }

  /** Conditions may change under running watches; what is served may not. */
  private watchesOf(name: string, inputs: JsonObject): Watches {
    const { uid, spec, names } = inputs;
    const before = this.serving.get(name)?.watches;
    if (before !== undefined && deepEqual(before.inputs, { uid, spec, names })) return before;
    if (before !== undefined) this.endLater(before);
    return { inputs: { uid, spec, names }, end: endOfMany() };
  }

  private endLater(watches: Watches): void {
    this.options.clock.setTimer(WATCH_GRACE_MILLIS, () => {
      watches.end.abort();
    });
  }

  private withdraw(name: string): void {
    const serving = this.serving.get(name);
    if (serving === undefined) return;
    this.serving.delete(name);
    serving.retired.abort();
    this.endLater(serving.watches);
    this.options.registry.remove(serving.groupResource);
  }
}

/** The fields that clients may select by, in any version: conversion seldom moves them. */
function selectableFields(definition: Definition): string[] {
  const paths = definition.versions.flatMap((version) => version.selectableFields);
  return [...new Set(paths.map((path) => path.replace(/^\./, '')))];
}

/** Thousands of watches may listen. */
function endOfMany(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Definitions are named `<plural>.<group>`, which is how the store names their types. */
const storageName = (crd: KubeObject): string => crd.metadata.name ?? '';

function servingInputs(crd: KubeObject): JsonObject {
  const status = crd['status'] as { acceptedNames?: JsonValue } | undefined;
  return {
    uid: crd.metadata.uid ?? '',
    spec: crd['spec'],
    names: status?.acceptedNames,
    terminating: isConditionTrue(crd, 'Terminating'),
    established: isConditionTrue(crd, 'Established'),
  };
}
