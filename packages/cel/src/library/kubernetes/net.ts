import { type Address, AddressError, parseAddress } from '../../formats/address.js';
import { ipText } from '../../formats/ip-address.js';
import { quoted } from '../../values/text.js';
import { fn, type Implementation, method, overload } from '../../declarations.js';
import type { Library } from '../library.js';
import { BOOL, INT, STRING, opaqueType } from '../../types.js';
import { CelError, NO_SUCH_OVERLOAD, Opaque, type Value } from '../../values/value.js';
import { onString } from '../helpers.js';
import { typeConstant } from '../standard.js';

const isSame = (a: Address, b: Address): boolean => a.bits === b.bits && a.value === b.value;

const isMapped = (address: Address): boolean => address.bits === 128 && address.value >> 32n === 0xffffn;

const formatAddress = ({ value, bits }: Address): string => ipText(value, bits);

/** Returns the address with all but its first `bits` bits cleared. */
function mask(address: Address, bits: number): Address {
  const shift = BigInt(address.bits - bits);
  return { bits: address.bits, value: (address.value >> shift) << shift };
}

const IP = opaqueType('net.IP');
const CIDR = opaqueType('net.CIDR');

class IPValue extends Opaque {
  readonly typeName = 'net.IP';
  constructor(readonly address: Address) {
    super();
  }

  override get cost(): number {
    return this.address.bits / 8;
  }

  equals(other: Value): boolean | CelError {
    return other instanceof IPValue ? isSame(this.address, other.address) : NO_SUCH_OVERLOAD;
  }
}

class CIDRValue extends Opaque {
  readonly typeName = 'net.CIDR';
  constructor(
    readonly address: Address,
    readonly prefix: number,
  ) {
    super();
  }

  override get cost(): number {
    return Math.ceil(this.prefix / 8);
  }

  equals(other: Value): boolean | CelError {
    if (!(other instanceof CIDRValue)) return NO_SUCH_OVERLOAD;
    return this.prefix === other.prefix && isSame(this.address, other.address);
  }

  contains(address: Address): boolean {
    if (address.bits !== this.address.bits) return false;
    return mask(address, this.prefix).value === mask(this.address, this.prefix).value;
  }
}

/** Runs a function that may throw an AddressError, and returns the error as a value. */
function guarded(prefix: string, run: () => Value): Value {
  try {
    return run();
  } catch (error) {
    if (error instanceof AddressError) return new CelError(prefix + error.message);
    throw error;
  }
}

const mapped = (text: string): CelError => new CelError(`IPv4-mapped IPv6 address ${quoted(text)} is not allowed`);

function parseIP(text: string): Value {
  return guarded(`IP Address ${quoted(text)} parse error during conversion from string: `, () => {
    const address = parseAddress(text);
    if (address.zone !== '') return new CelError(`IP address ${quoted(text)} with zone value is not allowed`);
    return isMapped(address) ? mapped(text) : new IPValue(address);
  });
}

const PARSE_ERROR = 'network address parse error during conversion from string: ';

function parsePrefix(text: string): Value {
  const slash = text.lastIndexOf('/');
  const bad = (why: string): CelError =>
    new CelError(`${PARSE_ERROR}${PARSE_ERROR}netip.ParsePrefix(${quoted(text)}): ${why}`);
  if (slash < 0) return bad("no '/'");
  return guarded(`${PARSE_ERROR}${PARSE_ERROR}netip.ParsePrefix(${quoted(text)}): `, () => {
    const address = parseAddress(text.slice(0, slash));
    const digits = text.slice(slash + 1);
    if (address.zone !== '') return bad('IPv6 zones cannot be present in a prefix');
    // Go reads an int of 64 bits.
    if (!/^(?:\d|[1-9]\d{1,17})$/.test(digits)) return bad(`bad bits after slash: ${quoted(digits)}`);
    if (Number(digits) > address.bits) return bad('prefix length out of range');
    if (isMapped(address)) return new CelError(`${PARSE_ERROR}${mapped(text).message}`);
    return new CIDRValue(address, Number(digits));
  });
}

const isIP = (text: string): boolean => parseIP(text) instanceof IPValue;
const isCIDR = (text: string): boolean => parsePrefix(text) instanceof CIDRValue;

function isCanonical(text: string): Value {
  const value = parseIP(text);
  return value instanceof IPValue ? formatAddress(value.address) === text : value;
}

const onIP =
  (run: (address: Address) => Value): Implementation =>
  (value) =>
    value instanceof IPValue ? run(value.address) : NO_SUCH_OVERLOAD;
const onCIDR =
  (run: (cidr: CIDRValue, other: Value) => Value): Implementation =>
  (value, other) =>
    value instanceof CIDRValue ? run(value, other) : NO_SUCH_OVERLOAD;

const family = ({ bits }: Address): number => (bits === 32 ? 4 : 6);
const isUnspecified = ({ value }: Address): boolean => value === 0n;

const octet = (address: Address, index: number): number =>
  Number((address.value >> BigInt(address.bits - 8 - 8 * index)) & 0xffn);

function isLoopback(address: Address): boolean {
  return address.bits === 32 ? octet(address, 0) === 127 : address.value === 1n;
}

function isLinkLocalMulticast(address: Address): boolean {
  if (address.bits === 32) return address.value >> 8n === 0xe00000n;
  return ((address.value >> 112n) & 0xff0fn) === 0xff02n;
}

function isLinkLocalUnicast(address: Address): boolean {
  return address.bits === 32 ? address.value >> 16n === 0xa9fen : address.value >> 118n === 0x3fan;
}

function isGlobalUnicast(address: Address): boolean {
  const multicast = address.bits === 32 ? octet(address, 0) >> 4 === 14 : octet(address, 0) === 255;
  const broadcast = address.bits === 32 && address.value === 0xffffffffn;
  return address.value !== 0n && !broadcast && !multicast && !isLoopback(address) && !isLinkLocalUnicast(address);
}

/** `other` is an address or its text. The error of a malformed address is not passed on. */
function containsIP(cidr: CIDRValue, other: Value): Value {
  const address = typeof other === 'string' ? parseIP(other) : other;
  return address instanceof IPValue ? cidr.contains(address.address) : NO_SUCH_OVERLOAD;
}

/** `other` is a CIDR or its text. */
function containsCIDR(cidr: CIDRValue, other: Value): Value {
  const inner = typeof other === 'string' ? parsePrefix(other) : other;
  if (inner instanceof CelError) return inner;
  if (!(inner instanceof CIDRValue)) return NO_SUCH_OVERLOAD;
  return cidr.prefix <= inner.prefix && cidr.contains(inner.address);
}

const addressOf = ({ address }: CIDRValue): Value => new IPValue(address);
const prefixLength = ({ prefix }: CIDRValue): number => prefix;
const masked = ({ address, prefix }: CIDRValue): Value => new CIDRValue(mask(address, prefix), prefix);
const formatCIDR = (cidr: CIDRValue): string => `${formatAddress(cidr.address)}/${cidr.prefix}`;

export const IP_LIBRARY: Library = {
  types: [typeConstant(IP)],
  functions: [
    fn('ip', overload('string_to_ip', [STRING], IP, onString(parseIP))),
    fn('family', method('ip_family', [IP], INT, onIP(family))),
    fn('ip.isCanonical', overload('ip_is_canonical', [STRING], BOOL, onString(isCanonical))),
    fn('isUnspecified', method('ip_is_unspecified', [IP], BOOL, onIP(isUnspecified))),
    fn('isLoopback', method('ip_is_loopback', [IP], BOOL, onIP(isLoopback))),
    fn('isLinkLocalMulticast', method('ip_is_link_local_multicast', [IP], BOOL, onIP(isLinkLocalMulticast))),
    fn('isLinkLocalUnicast', method('ip_is_link_local_unicast', [IP], BOOL, onIP(isLinkLocalUnicast))),
    fn('isGlobalUnicast', method('ip_is_global_unicast', [IP], BOOL, onIP(isGlobalUnicast))),
    fn('isIP', overload('is_ip', [STRING], BOOL, onString(isIP))),
    fn('string', overload('ip_to_string', [IP], STRING, onIP(formatAddress))),
  ],
};

export const CIDR_LIBRARY: Library = {
  types: [typeConstant(CIDR)],
  functions: [
    fn('cidr', overload('string_to_cidr', [STRING], CIDR, onString(parsePrefix))),
    fn(
      'containsIP',
      method('cidr_contains_ip_string', [CIDR, STRING], BOOL, onCIDR(containsIP)),
      method('cidr_contains_ip_ip', [CIDR, IP], BOOL, onCIDR(containsIP)),
    ),
    fn(
      'containsCIDR',
      method('cidr_contains_cidr_string', [CIDR, STRING], BOOL, onCIDR(containsCIDR)),
      method('cidr_contains_cidr', [CIDR, CIDR], BOOL, onCIDR(containsCIDR)),
    ),
    fn('ip', method('cidr_ip', [CIDR], IP, onCIDR(addressOf))),
    fn('prefixLength', method('cidr_prefix_length', [CIDR], INT, onCIDR(prefixLength))),
    fn('masked', method('cidr_masked', [CIDR], CIDR, onCIDR(masked))),
    fn('isCIDR', overload('is_cidr', [STRING], BOOL, onString(isCIDR))),
    fn('string', overload('cidr_to_string', [CIDR], STRING, onCIDR(formatCIDR))),
  ],
};
