import { objectAt } from '../../../apimachinery/json/json.js';
import { Age, tableOf } from '../../builtin/shared/table.js';

/** The Table of a scale subresource. */
export const scaleTable = tableOf('apis/autoscaling/v1/scale', (scale) => [
  scale.metadata.name ?? '',
  // Zero replicas are omitted from the spec, so the cell is empty.
  objectAt(scale, 'spec')?.['replicas'] || null,
  objectAt(scale, 'status')?.['replicas'] ?? 0,
  Age.of(scale),
]);
