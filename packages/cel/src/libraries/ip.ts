// The library of IP addresses.
import { goQuote } from '@kapstan/api/internal';
import type { Library } from '../environment/library.ts';
import { type CelType, opaqueType } from '../types/cel-type.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { formatIp, type IpAddress, IpError, isIpv4, isMapped, parseIp } from './ip-address.ts';

const ipType: CelType = opaqueType('net.IP');

/** A value of the type `net.IP`. */
export class CelIp extends CelObject {
  readonly type: CelType = ipType;
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    super();
    this.address = address;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelIp ? formatIp(this.address) === formatIp(other.address) : overloadFailure(other);
  }

  override get size(): number {
    return this.address.bytes.length;
  }

  override asString(): string {
    return formatIp(this.address);
  }

  override get nativeType(): string {
    return 'netip.Addr';
  }

  override toString(): string {
    return this.asString();
  }
}

/** Parses an address without a zone that is not IPv4 in IPv6. */
export function readIp(text: string): CelIp | CelFailure {
  const quoted = goQuote(text);
  const address = tryParse(text);
  if (address instanceof IpError) {
    return new CelFailure(`IP Address ${quoted} parse error during conversion from string: ${address.message}`);
  }
  if (address.zone !== '') return new CelFailure(`IP address ${quoted} with zone value is not allowed`);
  if (isMapped(address)) return new CelFailure(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  return new CelIp(address);
}

function tryParse(text: string): IpAddress | IpError {
  try {
    return parseIp(text);
  } catch (error) {
    if (error instanceof IpError) return error;
    throw error;
  }
}

function isCanonical(text: string): unknown {
  const ip = readIp(text);
  return isFailure(ip) ? ip : ip.asString() === text;
}

type AddressTest = (address: IpAddress) => boolean;

const isUnspecified: AddressTest = ({ bytes }) => bytes.every((byte) => byte === 0);

const isLoopback: AddressTest = (address) => (isIpv4(address) ? address.bytes[0] === 127 : formatIp(address) === '::1');

const isLinkLocalMulticast: AddressTest = (address) => {
  const [first = 0, second = 0, third = 0] = address.bytes;
  return isIpv4(address) ? first === 224 && second === 0 && third === 0 : first === 0xff && (second & 0x0f) === 2;
};

const isLinkLocalUnicast: AddressTest = (address) => {
  const [first = 0, second = 0] = address.bytes;
  return isIpv4(address) ? first === 169 && second === 254 : first === 0xfe && (second & 0xc0) === 0x80;
};

const isMulticast: AddressTest = (address) =>
  isIpv4(address) ? ((address.bytes[0] ?? 0) & 0xf0) === 0xe0 : address.bytes[0] === 0xff;

const isBroadcast: AddressTest = (address) => isIpv4(address) && address.bytes.every((byte) => byte === 255);

const isGlobalUnicast: AddressTest = (address) =>
  ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast, isBroadcast].some((test) => test(address));

function addressTest(name: string, id: string, test: AddressTest): FunctionDeclaration {
  return oneOverload(
    name,
    memberOverload(id, 'net.IP -> bool', ({ address }: CelIp) => test(address)),
  );
}

export const ipLibrary: Library = {
  name: 'kubernetes.net.ip',
  functions: [
    oneOverload('ip', globalOverload('string_to_ip', 'string -> net.IP', readIp)),
    oneOverload(
      'family',
      memberOverload('ip_family', 'net.IP -> int', ({ address }: CelIp) => (isIpv4(address) ? 4 : 6)),
    ),
    oneOverload('ip.isCanonical', globalOverload('ip_is_canonical', 'string -> bool', isCanonical)),
    addressTest('isUnspecified', 'ip_is_unspecified', isUnspecified),
    addressTest('isLoopback', 'ip_is_loopback', isLoopback),
    addressTest('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
    addressTest('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
    addressTest('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
    oneOverload(
      'isIP',
      globalOverload('is_ip', 'string -> bool', (text: string) => !isFailure(readIp(text))),
    ),
    oneOverload(
      'string',
      globalOverload('ip_to_string', 'net.IP -> string', (ip: CelIp) => ip.asString()),
    ),
  ],
  types: [ipType],
};
