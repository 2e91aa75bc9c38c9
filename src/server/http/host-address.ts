import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Logger } from '../../util/logger.js';

/** The network of the host, as the kernel reports it. */
export interface HostNetwork {
  /** Returns the interfaces that are up, with their addresses. */
  interfaces(): Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;
  /** Returns `/proc/net/route` or `/proc/net/ipv6_route`; undefined if the system has no such file. */
  routes(family: 4 | 6): string | undefined;
}

const NO_ADDRESS = /^0*$/;

const hostNetwork: HostNetwork = {
  interfaces: () => networkInterfaces(),
  routes: (family) => {
    try {
      return readFileSync(family === 4 ? '/proc/net/route' : '/proc/net/ipv6_route', 'utf8');
    } catch {
      return undefined;
    }
  },
};

export const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

export const isUnspecified = (address: string): boolean => /^(?:0\.0\.0\.0|[0:]+|::ffff:0\.0\.0\.0)$/i.test(address);

/** Reports whether other hosts can reach the address: it is not local to this host or link, and not shared by many hosts. */
function isGlobalUnicast({ address, family }: NetworkInterfaceInfo): boolean {
  if (family === 'IPv4')
    return !/^(?:127\.|169\.254\.|2(?:2[4-9]|3\d)\.|255\.255\.255\.255$|0\.0\.0\.0$)/.test(address);
  return !/^(?:::1?$|fe[89ab]|ff)/i.test(address);
}

function globalAddress(infos: readonly NetworkInterfaceInfo[] | undefined, family: 4 | 6): string | undefined {
  return infos?.find((info) => info.family === `IPv${family}` && isGlobalUnicast(info))?.address;
}

/** Returns the names of the interfaces of the default routes. */
function defaultInterfaces(network: HostNetwork, family: 4 | 6): string[] {
  const lines = (network.routes(family) ?? '').split('\n').map((line) => line.trim().split(/\s+/));
  const names = lines.map((fields) => {
    const [first = '', second = '', , , gateway = ''] = fields;
    if (family === 4) return first !== 'Iface' && NO_ADDRESS.test(second) ? first : '';
    // Default routes without a gateway are those of the loopback interface.
    return NO_ADDRESS.test(first) && !NO_ADDRESS.test(gateway) ? (fields[9] ?? '') : '';
  });
  return names.filter((name) => name !== '');
}

/**
 * Returns the address at which other hosts reach this one: that of the interface of a default route, or, if that has none, a
 * global address of the loopback interface. Addresses of the preferred family come first. Without a routing table, returns that
 * of the first interface with a global address. Undefined if none exists.
 */
export function defaultHostAddress(prefer: 4 | 6, network: HostNetwork = hostNetwork): string | undefined {
  const all = network.interfaces();
  const infos = Object.values(all).map((list) => list ?? []);
  const loopback = infos.filter((list) => list.some(({ internal }) => internal)).flat();
  const others = infos.filter((list) => list.every(({ internal }) => !internal)).flat();
  const routed = network.routes(4) !== undefined;
  for (const family of [prefer, prefer === 4 ? 6 : 4] as const) {
    if (!routed) {
      const found = globalAddress(others, family);
      if (found !== undefined) return found;
      continue;
    }
    for (const name of defaultInterfaces(network, family)) {
      const found = globalAddress(all[name], family) ?? globalAddress(loopback, family);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Returns the address at which other hosts should reach the server: --advertise-address, else --bind-address, else that of the
 * host's default interface. If none exists, logs a warning and returns the loopback address.
 */
export function advertisedAddress(
  options: { readonly advertiseAddress: string; readonly bindAddress: string },
  logger: Pick<Logger, 'warn'>,
  network: HostNetwork = hostNetwork,
): string {
  const { advertiseAddress, bindAddress } = options;
  if (advertiseAddress !== '' && !isUnspecified(advertiseAddress)) return advertiseAddress;
  if (!isUnspecified(bindAddress)) return bindAddress;
  const prefer = isIPv6(bindAddress) ? 6 : 4;
  const found = defaultHostAddress(prefer, network);
  if (found !== undefined) return found;
  const local = prefer === 6 ? '::1' : '127.0.0.1';
  logger.warn('found no default network interface whose address could be advertised; set --advertise-address', {
    advertised: local,
  });
  return local;
}
