import { objectAt } from '../../apimachinery/json.js';
import { Age, tableOf } from '../core/shared/table.js';

/** A scale subresource as a Table. */
export const scaleTable = tableOf('apis/autoscaling/v1/scale', (scale) => [
  scale.metadata.name ?? '',
  objectAt(scale, 'spec')?.['replicas'] ?? 0,
  objectAt(scale, 'status')?.['replicas'] ?? 0,
  Age.of(scale),
]);
