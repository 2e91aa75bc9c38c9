import { parseJson } from '../../apimachinery/json/decode.js';
import type { JsonValue } from '../../apimachinery/json/json.js';
import { parseYaml } from '../../apimachinery/yaml/yaml.js';

export const looksLikeJson = (body: string): boolean => /^\s*\{/.test(body);

/** Parses a body as YAML unless it looks like JSON, whatever its media type. Throws if it is neither. */
export const decodeAnswer = (body: string): JsonValue =>
  looksLikeJson(body) ? parseJson(body) : parseYaml(body).value;
