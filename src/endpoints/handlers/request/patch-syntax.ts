import { newBadRequest } from '../../../apimachinery/meta/errors.js';
import { JsonError } from '../../../apimachinery/json/decode.js';
import { parseYaml } from '../../../apimachinery/yaml/yaml.js';

/** The depth beyond which Go's decoder takes a document for broken. */
const MAX_DEPTH = 10_000;

/**
 * Throws a 400 for a patch that cannot be written to the audit log as JSON, whether there is such a log or not, and before the object is
 * looked for. Apply configurations that look like JSON are taken as they are.
 */
export function checkSyntax(patchType: string, body: Buffer): void {
  if (patchType === 'application/apply-patch+cbor') return;
  if (patchType !== 'application/apply-patch+yaml') {
    if (!isJson(body)) throw newBadRequest('invalid JSON patch');
    return;
  }
  if (/^\s*\{/u.test(body.toString('latin1', 0, 64))) return;
  try {
    parseYaml(body);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    // Other errors are those of reading the JSON that the YAML stands for.
    if (isConversionError(error)) throw newBadRequest(`error encoding patch: ${error.message}`);
  }
}

/** Reports whether an error says that YAML cannot be written as JSON. */
export const isConversionError = ({ message }: JsonError): boolean =>
  /^(?:yaml: |json: unsupported value|unsupported map key)/.test(message);

function isJson(body: Buffer): boolean {
  if (body.length > MAX_DEPTH && depthOf(body) > MAX_DEPTH) return false;
  try {
    JSON.parse(body.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

/** Returns how deeply the brackets of a document nest. */
function depthOf(body: Buffer): number {
  let deepest = 0;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (quoted) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) quoted = false;
    } else if (byte === 0x22) quoted = true;
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return deepest;
}
