import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the proxy for a URL according to the environment; undefined if there is none. */
export type ProxyFor = (url: URL) => URL | undefined;

/** Reports whether a host, in lower case and without brackets, is called without a proxy. */
type Exception = (host: string, port: string) => boolean;

/**
 * Interprets HTTPS_PROXY, HTTP_PROXY and NO_PROXY, also in lower case, as Go programs do. Exceptions are `*`, addresses, ranges of
 * addresses, and domains, which include their subdomains (`.example.com` means only the subdomains). All but ranges may have a port. The
 * host itself is never called through a proxy. Throws if the address of a proxy is invalid.
 */
export function proxyFromEnvironment(environment: Environment): ProxyFor {
  const read = (name: string): string => environment[name] || environment[name.toLowerCase()] || '';
  const proxies = { 'https:': parseProxy(read('HTTPS_PROXY')), 'http:': parseProxy(read('HTTP_PROXY')) };
  const exceptions = read('NO_PROXY').split(',').flatMap(exceptionsOf);
  return ({ protocol, hostname, port }) => {
    const proxy = protocol === 'https:' || protocol === 'http:' ? proxies[protocol] : undefined;
    if (proxy === undefined) return undefined;
    const host = unbracketed(hostname.toLowerCase());
    if (host === 'localhost' || isLoopback(host)) return undefined;
    const at = port === '' ? DEFAULT_PORTS[protocol] : port;
    return exceptions.some((excepted) => excepted(host, at ?? '')) ? undefined : proxy;
  };
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };
const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, '');
const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');
const isLoopback = (host: string): boolean => isIP(host) !== 0 && LOOPBACK.check(host, family(host));

/** Without a scheme, http is assumed. The text may contain a password and is not repeated. */
function parseProxy(text: string): URL | undefined {
  if (text === '') return undefined;
  const whole = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url !== undefined && url.host !== '') return url;
  throw new Error('invalid proxy address in HTTPS_PROXY or HTTP_PROXY');
}

function exceptionsOf(text: string): Exception[] {
  const entry = text.trim().toLowerCase();
  if (entry === '') return [];
  if (entry === '*') return [() => true];
  const range = rangeOf(entry);
  if (range !== undefined) return [(host) => isIP(host) !== 0 && range.check(host, family(host))];
  const { host, port } = hostAndPort(entry);
  if (host === '') return [];
  const fits = (given: string): boolean => port === '' || port === given;
  if (isIP(host) !== 0) {
    const only = new BlockList();
    only.addAddress(host, family(host));
    return [(given, at) => fits(at) && isIP(given) !== 0 && only.check(given, family(given))];
  }
  const domain = host.startsWith('*.') ? host.slice(1) : host;
  const below = domain.startsWith('.') ? `.${toAscii(domain.slice(1))}` : `.${toAscii(domain)}`;
  const itself = domain.startsWith('.') ? undefined : below.slice(1);
  return [(given, at) => fits(at) && (given === itself || given.endsWith(below))];
}

const toAscii = (domain: string): string => domainToASCII(domain) || domain;

function rangeOf(entry: string): BlockList | undefined {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(entry) ?? [];
  if (isIP(address) === 0 || Number(bits) > (isIP(address) === 4 ? 32 : 128)) return undefined;
  const range = new BlockList();
  range.addSubnet(address, Number(bits), family(address));
  return range;
}

function hostAndPort(entry: string): { readonly host: string; readonly port: string } {
  if (isIP(entry) !== 0) return { host: entry, port: '' };
  const found = /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>[^:]*))?$/.exec(entry)?.groups;
  return { host: unbracketed(found?.['host'] ?? entry), port: found?.['port'] ?? '' };
}
