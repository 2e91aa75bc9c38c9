import type { AdmissionAttributes, AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';

/** Admits every request. */
export function alwaysAdmit(): AdmissionPlugin {
  return { name: 'AlwaysAdmit', handles: () => true, readsObjects: () => false };
}

/** Refuses every request. */
export function alwaysDeny(): AdmissionPlugin {
  const deny = (attributes: AdmissionAttributes): never => {
    throw refusal(attributes, 'admission control is denying all modifications');
  };
  return { name: 'AlwaysDeny', handles: () => true, readsObjects: () => false, admit: deny, validate: deny };
}
