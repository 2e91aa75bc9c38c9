import type { NetworkInterfaceInfo } from 'node:os';
import { advertisedAddress, defaultHostAddress, type HostNetwork, isUnspecified } from './host-address.js';

const info = (address: string, internal = false): NetworkInterfaceInfo => {
  const common = { address, netmask: '', mac: '', internal, cidr: null };
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' };
};
const LO = [info('127.0.0.1', true), info('::1', true)];
const HEAD = 'Iface\tDestination\tGateway \tFlags\n';
const V4 = (name: string): string => `${name}\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`;
const LOCAL4 = 'eth9\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n';
const ZERO = '0'.repeat(32);
const V6 = (name: string, gateway = `fe8${'0'.repeat(28)}1`): string =>
  `${ZERO} 00 ${ZERO} 00 ${gateway} 00000400 00000001 00000000 00000003 ${name}\n`;

const host = (interfaces: Record<string, NetworkInterfaceInfo[]>, v4?: string, v6?: string): HostNetwork => ({
  interfaces: () => interfaces,
  routes: (family) => (family === 4 ? v4 : v6),
});
const both = [info('169.254.7.7'), info('192.0.2.7'), info('fe80::7'), info('2001:db8::7')];

const CASES: readonly (readonly [string, 4 | 6, HostNetwork, string | undefined])[] = [
  [
    'the interface of the default route',
    4,
    host({ lo: LO, eth9: [info('192.0.2.9')], eth0: both }, HEAD + LOCAL4 + V4('eth0')),
    '192.0.2.7',
  ],
  ['IPv4 first', 4, host({ lo: LO, eth0: both }, HEAD + V4('eth0'), V6('eth0')), '192.0.2.7'],
  ['IPv6 first', 6, host({ lo: LO, eth0: both }, HEAD + V4('eth0'), V6('eth0')), '2001:db8::7'],
  [
    'the other family, where it alone has a route',
    6,
    host({ lo: LO, eth0: both }, HEAD + V4('eth0'), V6('lo', ZERO)),
    '192.0.2.7',
  ],
  [
    'an address of the loopback interface that is everywhere',
    4,
    host({ lo: [...LO, info('198.51.100.1', true)], eth0: [info('fe80::7')] }, HEAD + V4('eth0')),
    '198.51.100.1',
  ],
  ['a route to nowhere', 4, host({ lo: LO }, HEAD + V4('eth0')), undefined],
  ['no route', 4, host({ lo: LO, eth0: both }, HEAD + LOCAL4), undefined],
  ['no table of routes', 4, host({ lo: LO, tap: [info('fe80::1')], eth0: both }), '192.0.2.7'],
  ['no table of routes, IPv6', 6, host({ lo: LO, eth0: both }), '2001:db8::7'],
  ['nothing at all', 4, host({}), undefined],
];

test.each(CASES)('default address: %s', (_name, prefer, network, expected) => {
  expect(defaultHostAddress(prefer, network)).toBe(expected);
});

test.each<[string, boolean]>([
  ['0.0.0.0', true],
  ['::', true],
  ['0:0:0:0:0:0:0:0', true],
  ['127.0.0.1', false],
  ['::1', false],
])('%s is unspecified: %s', (address, unspecified) => {
  expect(isUnspecified(address)).toBe(unspecified);
});

describe('the advertised address', () => {
  const warn = jest.fn();
  const network = host({ lo: LO, eth0: both }, HEAD + V4('eth0'), V6('eth0'));
  const none = host({ lo: LO });
  const cases: readonly (readonly [string, string, string, HostNetwork, string, number])[] = [
    ['the one that was given', '203.0.113.1', '192.0.2.7', network, '203.0.113.1', 0],
    ['else the one that is listened on', '', '192.0.2.8', network, '192.0.2.8', 0],
    ['given as anything', '0.0.0.0', '192.0.2.8', network, '192.0.2.8', 0],
    ['who listens on the host alone is nowhere else', '', '127.0.0.1', network, '127.0.0.1', 0],
    ['listening everywhere', '', '0.0.0.0', network, '192.0.2.7', 0],
    ['listening everywhere by IPv6', '', '::', network, '2001:db8::7', 0],
    ['listening everywhere, being nowhere', '', '0.0.0.0', none, '127.0.0.1', 1],
    ['likewise by IPv6', '', '::', none, '::1', 1],
  ];
  test.each(cases)('%s', (_name, advertiseAddress, bindAddress, on, expected, warnings) => {
    warn.mockClear();
    expect(advertisedAddress({ advertiseAddress, bindAddress }, { warn }, on)).toBe(expected);
    expect(warn).toHaveBeenCalledTimes(warnings);
  });
});
