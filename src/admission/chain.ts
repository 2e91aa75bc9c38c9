import type { AdmissionAttributes, AdmissionChain, AdmissionOperation, AdmissionPlugin } from './interfaces.js';

/** Runs plugins one after the other; a plugin that answers at once costs no promise. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const mutating = plugins.filter((plugin) => plugin.admit !== undefined);
  const validating = plugins.filter((plugin) => plugin.validate !== undefined);
  return {
    mutates: (operation: AdmissionOperation) => mutating.some((plugin) => plugin.handles(operation)),
    readsObjects: (operation, resource) =>
      plugins.some((plugin) => plugin.handles(operation) && plugin.readsObjects?.(resource) !== false),
    admit: (attributes) => run(mutating, attributes, (plugin) => plugin.admit?.(attributes)),
    validate: (attributes) => run(validating, attributes, (plugin) => plugin.validate?.(attributes)),
  };
}

function run(
  plugins: readonly AdmissionPlugin[],
  attributes: AdmissionAttributes,
  call: (plugin: AdmissionPlugin) => Promise<void> | void,
  from = 0,
): Promise<void> | void {
  for (let i = from; i < plugins.length; i++) {
    const plugin = plugins[i];
    if (plugin?.handles(attributes.operation) !== true) continue;
    const pending = call(plugin);
    if (pending instanceof Promise) return pending.then(() => run(plugins, attributes, call, i + 1));
  }
}
