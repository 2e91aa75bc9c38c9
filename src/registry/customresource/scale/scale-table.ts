import { objectAt } from '../../../apimachinery/json/json.js';
import { Age, tableOf } from '../../builtin/shared/table.js';

/** A scale subresource as a Table. */
export const scaleTable = tableOf('apis/autoscaling/v1/scale', (scale) => [
  scale.metadata.name ?? '',
  // A zero is left out of the spec, and so there is nothing to show.
  objectAt(scale, 'spec')?.['replicas'] || null,
  objectAt(scale, 'status')?.['replicas'] ?? 0,
  Age.of(scale),
]);
