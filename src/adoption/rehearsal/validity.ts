import { withFloats } from '../../apimachinery/json/float.js';
import { aggregate } from '../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { setStoredForm } from '../../registry/apiextensions/customresourcedefinition/defaults.js';
import { compileSliced } from '../../registry/customresource/compiled.js';
import { readDefinition } from '../../registry/customresource/definition.js';
import { sliced } from '../../scheduling/slicer.js';
import type { Clock } from '../../util/clock.js';
import { definitionOf } from './definitions.js';

/** Returns why the schema would reject the object if it were created now; '' if it would not. */
export type ObjectValidator = (object: KubeObject) => string;

/** Returns a check against one version of a definition that Annex can serve. Objects may be older than their schema. */
export async function validatorOf(
  crd: KubeObject,
  version: string,
  clock: Pick<Clock, 'monotonic'>,
): Promise<ObjectValidator> {
  const definition = definitionOf(crd);
  setStoredForm(definition);
  const read = readDefinition(definition);
  const versions = read.versions.filter(({ name }) => name === version);
  const schema = (await sliced(compileSliced({ ...read, versions }), clock)).versions.get(version)?.schema;
  return (object) => {
    const errors = schema?.validate(withFloats(object), {}) ?? [];
    return errors.length === 0 ? '' : aggregate(errors);
  };
}
