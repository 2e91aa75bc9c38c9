import type { JsonObject } from '../../apimachinery/json/json.js';
import { parameterText } from './descriptions.js';
import { type Operation, queryTypes } from './operations.js';

/** The parts of a path that differ between versions of OpenAPI. */
export interface PathDialect {
  /** `query`: the query parameters of this operation, without those that are listed once, on the path. */
  operation(one: Operation, query: JsonObject[]): JsonObject;
  parameter(parameter: JsonObject, type: string): JsonObject;
}

/** Builds the paths of a group version, each with its operations and their common parameters. */
export function pathItems(operations: readonly Operation[], dialect: PathDialect): JsonObject {
  const byPath = new Map<string, Operation[]>();
  for (const one of operations) byPath.set(one.path, [...(byPath.get(one.path) ?? []), one]);
  const paths: JsonObject = {};
  for (const path of [...byPath.keys()].sort()) {
    const list = byPath.get(path) ?? [];
    const common = commonQuery(list);
    const item: JsonObject = {};
    for (const one of list) {
      const query = one.query.filter((name) => !common.includes(name));
      item[one.method] = dialect.operation(
        one,
        query.map((name) => queryParameter(name, dialect)),
      );
    }
    item['parameters'] = pathParameters(path, common, dialect);
    paths[path] = item;
  }
  return paths;
}

/** Returns the query parameters that all operations of a path share. */
function commonQuery(operations: readonly Operation[]): readonly string[] {
  const [first, ...others] = operations;
  return (first?.query ?? []).filter((name) => others.every((one) => one.query.includes(name)));
}

const IN_PATH = ['name', 'namespace'];

function pathParameters(path: string, common: readonly string[], dialect: PathDialect): JsonObject[] {
  const inPath = IN_PATH.filter((name) => path.includes(`{${name}}`)).map((name) =>
    dialect.parameter({ name, in: 'path', ...parameterText(name), required: true }, 'string'),
  );
  const names = [...common, 'pretty'].sort();
  return [...inPath, ...names.map((name) => queryParameter(name, dialect))];
}

const queryParameter = (name: string, dialect: PathDialect): JsonObject =>
  dialect.parameter({ name, in: 'query', ...parameterText(name) }, queryTypes[name] ?? 'string');

const codeTexts: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

export const codeText = (code: string): string => codeTexts[code] ?? '';
