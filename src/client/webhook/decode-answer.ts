import { parseJson } from '../../apimachinery/json/decode.js';
import type { JsonValue } from '../../apimachinery/json/json.js';
import { parseYaml } from '../../apimachinery/yaml/yaml.js';

export const looksLikeJson = (body: string): boolean => /^\s*\{/.test(body);

/** What does not look like JSON is read as YAML, whatever its media type. Throws where it is neither. */
export const decodeAnswer = (body: string): JsonValue =>
  looksLikeJson(body) ? parseJson(body) : parseYaml(body).value;
