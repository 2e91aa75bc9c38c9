import {
  type Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type RequestOptions,
} from 'node:http';
import { Agent, type AgentOptions, request as secureRequest } from 'node:https';
import {
  checkServerIdentity as checkIdentity,
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls';
import { HttpsProxyAgent } from 'hpagent';
import { SocksProxyAgent } from 'socks-proxy-agent';
import { type ProxyFor, proxyFromEnvironment } from './proxy-environment.js';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pem, pemBlocks } from '../../pki/der.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The paths where distributions keep the CAs that a host trusts; the first existing file is used, and all folders. */
const FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const FOLDERS = ['/etc/ssl/certs', '/etc/pki/tls/certs'];

/**
 * Returns the CAs that the host trusts, as Go programs find them: SSL_CERT_FILE and SSL_CERT_DIR (several separated by colons) replace the
 * default paths. Unreadable files are ignored; without any CA, no server is trusted.
 */
export function readHostRoots(environment: Environment): string[] {
  const { SSL_CERT_FILE: file = '', SSL_CERT_DIR: folders = '' } = environment;
  const found = new Map<string, string>();
  const add = (path: string): boolean => {
    try {
      for (const raw of pemBlocks(readFileSync(path, 'utf8'), 'CERTIFICATE')) {
        found.set(raw.toString('base64'), pem('CERTIFICATE', raw));
      }
      return true;
    } catch {
      return false;
    }
  };
  (file === '' ? FILES : [file]).some(add);
  for (const folder of folders === '' ? FOLDERS : folders.split(':')) for (const path of filesIn(folder)) add(path);
  return [...found.values()];
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** The host's settings for outgoing connections. */
export interface Egress {
  /** The CAs that the host trusts, in PEM. */
  readonly roots: readonly string[];
  readonly proxyFor: ProxyFor;
  /** For connections without a CA and a certificate of their own: reading all CAs takes a while. */
  readonly context: SecureContext;
}

/** Reads the settings from an environment such as `process.env`. */
export function egressOf(environment: Readonly<Record<string, string | undefined>>): Egress {
  let roots: readonly string[] | undefined;
  let context: SecureContext | undefined;
  const proxyFor = proxyFromEnvironment(environment);
  return {
    proxyFor,
    get roots() {
      return (roots ??= readHostRoots(environment));
    },
    get context() {
      return (context ??= createSecureContext({ ca: [...this.roots] }));
    },
  };
}

let ofProcess: Egress | undefined;
/** Read once, as Go programs do. */
export const hostEgress = (): Egress => (ofProcess ??= egressOf(process.env));

/** Returns an agent for connections to `url`, through a proxy if there is one. Without a CA of its own, the agent trusts those of the host. */
export function agentFor(url: URL, options: AgentOptions, proxy: URL | undefined, egress: Egress): HttpAgent {
  const trusting = withTrust(options, egress);
  if (proxy === undefined) return new Agent(trusting);
  if (isSocks(proxy)) {
    const host = options.servername ?? url.hostname;
    // The agent drops addresses that are not names, and would check the certificate against localhost instead.
    const checkServerIdentity: AgentOptions['checkServerIdentity'] = (_host, certificate) =>
      (options.checkServerIdentity ?? checkIdentity)(host.replace(/^\[|\]$/g, ''), certificate);
    return new SocksProxyAgent(resolving(proxy), { ...trusting, checkServerIdentity } as AgentOptions);
  }
  const { ca, rejectUnauthorized = true } = options;
  // The types allow only strings, although https accepts whatever the agent accepts.
  const proxyRequestOptions = { rejectUnauthorized, ca: ca === undefined ? [...egress.roots] : [String(ca)] };
  return new HttpsProxyAgent({ ...trusting, proxy, proxyRequestOptions });
}

/** Makes options without a CA trust those of the host. */
export function withTrust<T extends SecureContextOptions>(
  options: T,
  egress: Egress,
): T & { readonly secureContext?: SecureContext } {
  const { ca, cert, key } = options;
  if (ca !== undefined) return options;
  const isAnonymous = cert === undefined && key === undefined;
  return { ...options, ...(isAnonymous ? { secureContext: egress.context } : { ca: [...egress.roots] }) };
}

const isSocks = ({ protocol }: URL): boolean => protocol === 'socks5:' || protocol === 'socks5h:';

/** SOCKS proxies resolve names, as with Go's client. */
const resolving = ({ href }: URL): string => href.replace(/^socks5:/, 'socks5h:');

/** Sends a request without TLS; a proxy gets the whole URL. */
export function plainRequest(
  url: URL,
  options: RequestOptions,
  proxy: URL | undefined,
  egress: Egress,
  answered: (response: IncomingMessage) => void,
): ClientRequest {
  if (proxy === undefined) return request(url, options, answered);
  if (isSocks(proxy)) return request(url, { ...options, agent: new SocksProxyAgent(resolving(proxy)) }, answered);
  const { username, password, protocol, hostname, port } = proxy;
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = {
    ...(options.headers as OutgoingHttpHeaders | undefined),
    host: url.host,
    ...((username !== '' || password !== '') && { 'proxy-authorization': `Basic ${credentials}` }),
  };
  const whole = { ...options, headers, hostname, port, path: url.href };
  return protocol === 'https:'
    ? secureRequest({ ...whole, ca: [...egress.roots] }, answered)
    : request(whole, answered);
}
