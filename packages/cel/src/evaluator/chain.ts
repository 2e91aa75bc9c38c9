import { CelError, CelList, CelMap, FieldSite, Optional, type Value } from '../values/value.js';
import { at, field, hasParts, lookup, noSuchKey } from '../values/access.js';
import type { VariableField, Frame, Run } from './frame.js';

/** One step of a qualified access: a field or an index. */
export type Step =
  | { readonly kind: 'field'; readonly name: string; readonly optional: boolean }
  | { readonly kind: 'index'; readonly index: Run; readonly optional: boolean };

/**
 * Plans a chain of selections and indices of which none is optional. Each step costs 1. The root costs `rootCost`, which is 0 if an
 * enclosing `?:` returns its branch without observing it.
 */
export function chain(root: Run, rootCost: number, steps: readonly Step[]): Run {
  const names = steps.map((step) => (step.kind === 'field' ? step.name : undefined));
  const [first, second, third] = names;
  if (first !== undefined && names.length === 1) return oneField(root, rootCost, first);
  if (first !== undefined && second !== undefined && names.length === 2)
    return twoFields(root, rootCost, first, second);
  if (first !== undefined && second !== undefined && third !== undefined && names.length === 3) {
    return oneField(twoFields(root, rootCost, first, second), 0, third);
  }
  const last = steps.at(-1);
  if (last?.kind === 'index' && steps.length === 1) return oneIndex(root, rootCost, last.index);
  if (last === undefined) return root;
  const head = chain(root, rootCost, steps.slice(0, -1));
  return last.kind === 'field' ? oneField(head, 0, last.name) : oneIndex(head, 0, last.index);
}

/** Plans `variable.name`. `general` reads it if the variable may be an optional. */
export function planVariableField(
  slot: number,
  missing: CelError,
  rootCost: number,
  name: string,
  general: Run | undefined,
): VariableField {
  const cost = rootCost + 1;
  const fallback: Run = (frame) => {
    const value = frame.slots[slot];
    if (value === undefined || value instanceof CelError) {
      frame.cost += rootCost;
      return value ?? missing;
    }
    if (general !== undefined && value instanceof Optional) return general(frame);
    frame.cost += cost;
    return field(value, name);
  };
  return { slot, cost, site: new FieldSite(name), fallback };
}

function oneField(root: Run, rootCost: number, name: string): Run {
  const cost = rootCost + 1;
  const site = new FieldSite(name);
  return (frame) => {
    const value = root(frame);
    if (value instanceof CelMap) {
      frame.cost += cost;
      return value.select(site) ?? noSuchKey(name);
    }
    if (value instanceof CelError) {
      frame.cost += rootCost;
      return value;
    }
    frame.cost += cost;
    return field(value, name);
  };
}

function twoFields(root: Run, rootCost: number, first: string, second: string): Run {
  const inner = oneField(root, rootCost, first);
  const site = new FieldSite(second);
  return (frame) => {
    const value = inner(frame);
    if (value instanceof CelError) return value;
    frame.cost++;
    return value instanceof CelMap ? (value.select(site) ?? noSuchKey(second)) : field(value, second);
  };
}

function oneIndex(root: Run, rootCost: number, index: Run): Run {
  return (frame) => {
    const value = root(frame);
    frame.cost += rootCost;
    if (value instanceof CelError) return value;
    const key = index(frame);
    frame.cost++;
    if (typeof key === 'number' && value instanceof CelList && key >= 0 && key < value.size) return value.get(key);
    return at(value, key);
  };
}

/**
 * Evaluates the steps of a chain. Once the root or a step is optional, an absent value ends the walk with `absent`;
 * otherwise `arrive` computes the result from the final value.
 */
function walk(
  root: Run,
  rootCost: number,
  steps: readonly Step[],
  strict: boolean,
  absent: Value,
  arrive: (frame: Frame, value: Value, optional: boolean) => Value,
): Run {
  return (frame) => {
    frame.cost += rootCost;
    let value = root(frame);
    if (value instanceof CelError) return value;
    let optional = value instanceof Optional;
    if (value instanceof Optional) {
      if (value.value === undefined) return absent;
      value = value.value;
    }
    for (const step of steps) {
      optional ||= step.optional;
      const next = optional ? tryStep(frame, value, step, strict) : takeStep(frame, value, step);
      if (next === undefined) return absent;
      if (next instanceof CelError) return next;
      value = next;
    }
    return arrive(frame, value, optional);
  };
}

/** Plans a chain whose result is optional if the root or any step is. Otherwise like `chain`. */
export function optionalChain(root: Run, rootCost: number, steps: readonly Step[], strict: boolean): Run {
  return walk(root, rootCost, steps, strict, Optional.none, (_frame, value, optional) =>
    optional ? new Optional(value) : value,
  );
}

function takeStep(frame: Frame, value: Value, step: Step): Value {
  if (step.kind === 'field') {
    frame.cost++;
    return field(value, step.name);
  }
  const key = step.index(frame);
  frame.cost++;
  return at(value, key);
}

function tryStep(frame: Frame, value: Value, step: Step, strict: boolean): Value | undefined {
  const key = step.kind === 'field' ? step.name : step.index(frame);
  if (key instanceof CelError) return key;
  const found = lookup(value, key);
  if (found !== undefined) frame.cost++;
  else if (strict && !hasParts(value)) return noSuchKey(key);
  return found;
}

/** Plans `has(root.steps.name)`. The steps are charged, the root is not. */
export function presence(root: Run, steps: readonly Step[], name: string, strict: boolean): Run {
  const site = new FieldSite(name);
  const arrive = (frame: Frame, value: Value, optional: boolean): Value => {
    const found = value instanceof CelMap ? value.select(site) : lookup(value, name);
    if (!optional || found !== undefined) frame.cost++;
    if (strict && found === undefined && !hasParts(value)) return noSuchKey(name);
    return found instanceof CelError ? found : found !== undefined;
  };
  const general = walk(root, 0, steps, strict, false, arrive);
  if (steps.length > 0) return general;
  return (frame) => {
    const value = root(frame);
    if (value instanceof CelMap) return arrive(frame, value, false);
    return value instanceof CelError ? value : walk(() => value, 0, steps, strict, false, arrive)(frame);
  };
}
