import type { AdmissionAttributes, AdmissionChain, AdmissionOperation, AdmissionPlugin } from './interfaces.js';
import { Reinvocation } from './reinvocation.js';

/**
 * Runs plugins one after the other; a plugin that answers at once costs no promise. A mutating plugin may ask for one second pass
 * over all of them.
 */
export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const mutating = plugins.filter((plugin) => plugin.admit !== undefined);
  const validating = plugins.filter((plugin) => plugin.validate !== undefined);
  const mutate = (attributes: AdmissionAttributes, reinvocation: Reinvocation): Promise<void> | void =>
    run(mutating, attributes.operation, (plugin) => plugin.admit?.(attributes, reinvocation));
  return {
    mutates: (operation: AdmissionOperation) => mutating.some((plugin) => plugin.handles(operation)),
    readsObjects: (operation, resource) =>
      plugins.some((plugin) => plugin.handles(operation) && plugin.readsObjects?.(resource) !== false),
    admit(attributes) {
      const reinvocation = new Reinvocation();
      const again = (): Promise<void> | void => {
        if (!reinvocation.isRequested) return;
        reinvocation.begin();
        return mutate(attributes, reinvocation);
      };
      const first = mutate(attributes, reinvocation);
      return first instanceof Promise ? first.then(again) : again();
    },
    validate: (attributes) => run(validating, attributes.operation, (plugin) => plugin.validate?.(attributes)),
  };
}

function run(
  plugins: readonly AdmissionPlugin[],
  operation: AdmissionOperation,
  call: (plugin: AdmissionPlugin) => Promise<void> | void,
  from = 0,
): Promise<void> | void {
  for (let i = from; i < plugins.length; i++) {
    const plugin = plugins[i];
    if (plugin?.handles(operation) !== true) continue;
    const pending = call(plugin);
    if (pending instanceof Promise) return pending.then(() => run(plugins, operation, call, i + 1));
  }
}
