// The library of IP prefixes: `cidr('10.0.0.0/8')`.
import { goQuote } from '@kapstan/api/internal';
import type { Library } from '../environment/library.ts';
import { type CelType, opaqueType } from '../types/cel-type.ts';
import { globalOverload, memberOverload, oneOverload } from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, noSuchOverload, overloadFailure } from '../values/failure.ts';
import { CelIp, readIp } from './ip.ts';
import { formatIp, type IpAddress, IpError, isMapped, parseIp } from './ip-address.ts';

const cidrType: CelType = opaqueType('net.CIDR');

/** A value of the type `net.CIDR`. */
export class CelCidr extends CelObject {
  readonly type: CelType = cidrType;
  readonly address: IpAddress;
  readonly bits: number;

  constructor(address: IpAddress, bits: number) {
    super();
    this.address = address;
    this.bits = bits;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelCidr ? this.asString() === other.asString() : overloadFailure(other);
  }

  override get size(): number {
    return Math.ceil(this.bits / 8);
  }

  override asString(): string {
    return `${formatIp(this.address)}/${this.bits}`;
  }

  override get nativeType(): string {
    return 'netip.Prefix';
  }

  override toString(): string {
    return this.asString();
  }

  /** Returns true when the address begins with the bits of this prefix. */
  holds(address: IpAddress, bits: number = this.bits): boolean {
    const own = this.address.bytes;
    if (own.length !== address.bytes.length) return false;
    return own.every((byte, i) => {
      const mask = byteMask(bits - 8 * i);
      return (byte & mask) === ((address.bytes[i] ?? 0) & mask);
    });
  }

  masked(): CelCidr {
    const bytes = this.address.bytes.map((byte, i) => byte & byteMask(this.bits - 8 * i));
    return new CelCidr({ bytes, zone: '' }, this.bits);
  }
}

/** Returns a byte whose first `bits` bits are set. */
function byteMask(bits: number): number {
  return bits >= 8 ? 0xff : bits <= 0 ? 0 : (0xff << (8 - bits)) & 0xff;
}

const parseError = 'network address parse error during conversion from string';

function readCidr(text: string): CelCidr | CelFailure {
  const parsed = parsePrefix(text);
  if (typeof parsed === 'string') return new CelFailure(`${parseError}: ${parsed}`);
  return parsed;
}

function parsePrefix(text: string): CelCidr | string {
  const fail = (message: string): string => `${parseError}: netip.ParsePrefix(${goQuote(text)}): ${message}`;
  const slash = text.lastIndexOf('/');
  if (slash < 0) return fail("no '/'");
  const address = tryParse(text.slice(0, slash));
  if (address instanceof IpError) return fail(address.message);
  if (address.zone !== '') return fail('IPv6 zones cannot be present in a prefix');
  const bitsText = text.slice(slash + 1);
  if (!/^(?:0|[1-9]\d*)$/.test(bitsText)) return fail(`bad bits after slash: ${goQuote(bitsText)}`);
  const bits = Number(bitsText);
  if (bits > address.bytes.length * 8) return fail('prefix length out of range');
  if (isMapped(address)) return `IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`;
  return new CelCidr(address, bits);
}

function tryParse(text: string): IpAddress | IpError {
  try {
    return parseIp(text);
  } catch (error) {
    if (error instanceof IpError) return error;
    throw error;
  }
}

/** Returns the error "no such overload" for text that is not an address. */
function containsIp(cidr: CelCidr, ip: CelIp | CelFailure): unknown {
  return ip instanceof CelIp ? cidr.holds(ip.address) : noSuchOverload;
}

function containsCidr(cidr: CelCidr, other: CelCidr | CelFailure): unknown {
  if (isFailure(other)) return other;
  return cidr.bits <= other.bits && cidr.holds(other.address);
}

export const cidrLibrary: Library = {
  name: 'kubernetes.net.cidr',
  functions: [
    oneOverload('cidr', globalOverload('string_to_cidr', 'string -> net.CIDR', readCidr)),
    {
      name: 'containsIP',
      overloads: [
        memberOverload('cidr_contains_ip_string', 'net.CIDR, string -> bool', (cidr: CelCidr, text: string) =>
          containsIp(cidr, readIp(text)),
        ),
        memberOverload('cidr_contains_ip_ip', 'net.CIDR, net.IP -> bool', containsIp),
      ],
    },
    {
      name: 'containsCIDR',
      overloads: [
        memberOverload('cidr_contains_cidr_string', 'net.CIDR, string -> bool', (cidr: CelCidr, text: string) =>
          containsCidr(cidr, readCidr(text)),
        ),
        memberOverload('cidr_contains_cidr', 'net.CIDR, net.CIDR -> bool', containsCidr),
      ],
    },
    oneOverload(
      'ip',
      memberOverload('cidr_ip', 'net.CIDR -> net.IP', ({ address }: CelCidr) => new CelIp(address)),
    ),
    oneOverload(
      'prefixLength',
      memberOverload('cidr_prefix_length', 'net.CIDR -> int', ({ bits }: CelCidr) => bits),
    ),
    oneOverload(
      'masked',
      memberOverload('cidr_masked', 'net.CIDR -> net.CIDR', (cidr: CelCidr) => cidr.masked()),
    ),
    oneOverload(
      'isCIDR',
      globalOverload('is_cidr', 'string -> bool', (text: string) => !isFailure(readCidr(text))),
    ),
    oneOverload(
      'string',
      globalOverload('cidr_to_string', 'net.CIDR -> string', (cidr: CelCidr) => cidr.asString()),
    ),
  ],
  types: [cidrType],
};
