import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { quote } from '../../apimachinery/meta/meta.js';
import {
  ConfigurationDecodeError,
  ConfigurationReader,
  decodeConfiguration,
  typeMismatch,
  CONFIG_GROUP,
  configVersionOf,
  isDecodeError,
} from '../../apimachinery/yaml/configuration-file.js';
import { messageOf } from '../../util/error-message.js';
import { FlagError } from '../options/flags.js';
import { redactedAddress } from '../../util/text/redacted-address.js';

/** TracingConfiguration of apiserver.config.k8s.io. */
export interface TracingConfiguration {
  /** Has no scheme, or one that gRPC supports; undefined for OTLP's own default. */
  readonly endpoint: string | undefined;
  /** If undefined, only requests that the caller samples are traced. */
  readonly samplingRatePerMillion: number | undefined;
}

const KIND = 'TracingConfiguration';
const OTHER_KINDS: readonly string[] = [
  'AuthenticationConfiguration',
  'AuthorizationConfiguration',
  'AdmissionConfiguration',
  'EgressSelectorConfiguration',
  'EncryptionConfiguration',
];
const MILLION = 1_000_000;
const SCHEMES = ['dns', 'unix'];

/** Reads the file of `--tracing-config-file`. Throws FlagError in kube-apiserver's words. */
export function readTracingConfiguration(path: string): TracingConfiguration {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? `open ${path}: no such file or directory` : messageOf(error);
    throw new FlagError(
      `failed to read tracing config: unable to read tracing configuration from ${quote(path)}: ${why}`,
    );
  }
  return parseTracingConfiguration(text);
}

/** Parses a TracingConfiguration. Throws FlagError in kube-apiserver's words. */
export function parseTracingConfiguration(text: string): TracingConfiguration {
  let configuration: TracingConfiguration;
  try {
    configuration = decodeConfiguration(text, readerOf, { apiVersion: `${CONFIG_GROUP}/v1`, kind: KIND });
  } catch (error) {
    if (!isDecodeError(error)) throw error;
    throw new FlagError(`failed to read tracing config: unable to decode tracing configuration data: ${error.message}`);
  }
  const errors = [...rateErrors(configuration.samplingRatePerMillion), ...endpointErrors(configuration.endpoint)];
  if (errors.length === 0) return configuration;
  const joined = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
  throw new FlagError(`failed to validate tracing configuration: ${joined ?? ''}`);
}

function readerOf(apiVersion: string, kind: string): Reader | undefined {
  const version = configVersionOf(apiVersion);
  if (version === undefined) return undefined;
  if (OTHER_KINDS.includes(kind)) {
    throw new ConfigurationDecodeError(`converting (${version}.${kind}) to (apiserver.${KIND}): unknown conversion`);
  }
  return kind === KIND ? new Reader() : undefined;
}

class Reader extends ConfigurationReader {
  configuration(root: JsonObject): TracingConfiguration {
    const at = `${KIND}.${KIND}`;
    const endpoint = this.text(root['endpoint'], `${at}.endpoint`);
    const samplingRatePerMillion = this.rate(root['samplingRatePerMillion'], `${at}.samplingRatePerMillion`);
    this.recordUnknownFields(root, ['apiVersion', 'kind', 'endpoint', 'samplingRatePerMillion'], '');
    return { endpoint, samplingRatePerMillion };
  }

  private rate(value: JsonValue | undefined, path: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    const number = Number(value);
    if (typeof value === 'object' || typeof value === 'string' || typeof value === 'boolean') {
      throw typeMismatch(value, path, 'int32');
    }
    if (!Number.isInteger(number) || Math.abs(number) > 2 ** 31 - 1) {
      throw new ConfigurationDecodeError(
        `json: cannot unmarshal number ${String(value)} into Go struct field ${path} of type int32`,
      );
    }
    return number;
  }
}

function rateErrors(rate: number | undefined): string[] {
  if (rate === undefined || (rate >= 0 && rate <= MILLION)) return [];
  const why =
    rate < 0 ? 'sampling rate must be positive' : 'sampling rate per million must be less than or equal to one million';
  return [`samplingRatePerMillion: Invalid value: ${rate}: ${why}`];
}

function endpointErrors(endpoint: string | undefined): string[] {
  if (endpoint === undefined) return [];
  const url = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  const shown = quote(redactedAddress(url));
  const invalid = (why: string): string[] => [`endpoint: Invalid value: ${shown}: ${why}`];
  const escape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(url);
  if (escape !== null) return invalid(`parse ${shown}: invalid URL escape ${quote(escape[0])}`);
  const [scheme = '', rest = ''] = url.split('://', 2);
  if (rest.split('/')[0]?.includes(' ') === true) return invalid(`parse ${shown}: invalid character " " in host name`);
  if (SCHEMES.includes(scheme)) return [];
  // Node has no abstract sockets.
  if (scheme === 'unix-abstract') return invalid('unix-abstract is not supported by this server');
  return invalid(
    `unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
  );
}
