import type { JsonObject } from '../../../apimachinery/json/json.js';
import { type Convert, type Notes, Refusal, type Row } from '../conversion.js';
import { isUnset, dropOtherFields, objectIn, objectsIn, textIn } from '../fields.js';

const V2 = 'autoscaling/v2';

/** The v2beta1 field names for one kind of metric, in the spec or in the status. */
interface Names {
  readonly value?: string;
  readonly averageValue?: string;
  readonly averageUtilization?: string;
  /** The name of the metric's selector field; resource metrics have none. */
  readonly selector?: string;
}

interface Shape {
  readonly type: string;
  readonly key: string;
  readonly spec: Names;
  readonly status: Names;
}

const SHAPES: readonly Shape[] = [
  {
    type: 'Object',
    key: 'object',
    spec: { value: 'targetValue', averageValue: 'averageValue', selector: 'selector' },
    status: { value: 'currentValue', averageValue: 'averageValue', selector: 'selector' },
  },
  {
    type: 'Pods',
    key: 'pods',
    spec: { averageValue: 'targetAverageValue', selector: 'selector' },
    status: { averageValue: 'currentAverageValue', selector: 'selector' },
  },
  {
    type: 'Resource',
    key: 'resource',
    spec: { averageValue: 'targetAverageValue', averageUtilization: 'targetAverageUtilization' },
    status: { averageValue: 'currentAverageValue', averageUtilization: 'currentAverageUtilization' },
  },
  {
    type: 'ContainerResource',
    key: 'containerResource',
    spec: { averageValue: 'targetAverageValue', averageUtilization: 'targetAverageUtilization' },
    status: { averageValue: 'currentAverageValue', averageUtilization: 'currentAverageUtilization' },
  },
  {
    type: 'External',
    key: 'external',
    spec: { value: 'targetValue', averageValue: 'targetAverageValue', selector: 'metricSelector' },
    status: { value: 'currentValue', averageValue: 'currentAverageValue', selector: 'metricSelector' },
  },
];

const FIGURES = ['value', 'averageValue', 'averageUtilization'] as const;
const TYPES = { value: 'Value', averageValue: 'AverageValue', averageUtilization: 'Utilization' };

const fromV2beta1: Convert = (object, notes) => {
  const spec = objectIn(object, 'spec', '') ?? {};
  const status = objectIn(object, 'status', '') ?? {};
  for (const [metric, path] of objectsIn(spec, 'metrics', 'spec')) convertMetric(metric, path, 'spec', notes);
  for (const [metric, path] of objectsIn(status, 'currentMetrics', 'status'))
    convertMetric(metric, path, 'status', notes);
};

function convertMetric(metric: JsonObject, path: string, part: 'spec' | 'status', notes: Notes): void {
  dropOtherFields(metric, ['type', ...SHAPES.map(({ key }) => key)], path, V2, notes);
  for (const shape of SHAPES) {
    const source = objectIn(metric, shape.key, path);
    if (source === undefined) continue;
    metric[shape.key] = convertSource(source, shape, `${path}.${shape.key}`, part, notes);
  }
  const type = textIn(metric, 'type', path);
  const shape = SHAPES.find((one) => one.type === type);
  if (shape === undefined) throw new Refusal(`${path}.type must be one of ${SHAPES.map((one) => one.type).join(', ')}`);
  if (isUnset(metric[shape.key])) throw new Refusal(`${path}.${shape.key} is missing`);
}

function convertSource(
  source: JsonObject,
  { key, ...names }: Shape,
  path: string,
  part: 'spec' | 'status',
  notes: Notes,
): JsonObject {
  const fields = names[part];
  const isObject = key === 'object';
  const isResource = fields.selector === undefined;
  const { value, averageValue, averageUtilization, selector: selectorName } = fields;
  const known = [value, averageValue, averageUtilization, selectorName].filter((name) => name !== undefined);
  if (isObject) known.push('target');
  known.push(...(isResource ? ['name'] : ['metricName']));
  if (key === 'containerResource') known.push('container');
  dropOtherFields(source, known, path, V2, notes);
  const made: JsonObject = {};
  if (isObject) made['describedObject'] = source['target'];
  if (isResource) {
    made['name'] = source['name'];
    if (!isUnset(source['container'])) made['container'] = source['container'];
  } else {
    const selector = source[fields.selector];
    made['metric'] = { name: source['metricName'], ...(!isUnset(selector) && { selector }) };
  }
  made[part === 'spec' ? 'target' : 'current'] = figures(source, fields, path, part);
  return made;
}

function figures(source: JsonObject, fields: Names, path: string, part: 'spec' | 'status'): JsonObject {
  const given = FIGURES.filter((figure) => {
    const name = fields[figure];
    return name !== undefined && !isUnset(source[name]);
  });
  const values = Object.fromEntries(given.map((figure) => [figure, source[fields[figure] ?? '']]));
  if (part === 'status') return values;
  // For Object metrics `targetValue` was required; if the average was also given, it had no effect.
  const meant = fields.value === 'targetValue' && fields.averageValue === 'averageValue' ? given.slice(-1) : given;
  const [figure, ...more] = meant;
  if (figure === undefined) throw new Refusal(`${path} has no target`);
  if (more.length > 0) throw new Refusal(`${path} has several targets: keep only one`);
  return { type: TYPES[figure], ...Object.fromEntries(meant.map((one) => [one, values[one]])) };
}

export const autoscaling: readonly Row[] = [
  { from: ['autoscaling/v2beta1'], kinds: ['HorizontalPodAutoscaler'], to: V2, convert: fromV2beta1 },
  { from: ['autoscaling/v2beta2'], kinds: ['HorizontalPodAutoscaler'], to: V2 },
];
