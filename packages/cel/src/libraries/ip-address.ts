// Parses and formats IP addresses as Go's net/netip does.
import { goQuote } from '@kapstan/api/internal';

export interface IpAddress {
  /** 4 or 16 bytes. */
  readonly bytes: readonly number[];
  readonly zone: string;
}

/** Thrown for a text that is not an address. */
export class IpError extends Error {}

function fail(text: string, message: string, at?: string): never {
  const place = at === undefined ? '' : ` (at ${goQuote(at)})`;
  throw new IpError(`ParseAddr(${goQuote(text)}): ${message}${place}`);
}

export function parseIp(text: string): IpAddress {
  for (const char of text) {
    if (char === '.') return parseIpv4(text);
    if (char === ':') return parseIpv6(text);
    if (char === '%') fail(text, 'missing IPv6 address');
  }
  return fail(text, 'unable to parse IP');
}

function parseIpv4(text: string): IpAddress {
  return { bytes: ipv4Bytes(text, text), zone: '' };
}

function ipv4Bytes(text: string, whole: string): number[] {
  const bytes: number[] = [];
  let field = '';
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (/\d/.test(char)) field = longerField(field, char, whole);
    else if (char !== '.') fail(whole, 'unexpected character', text.slice(i));
    else {
      requireDigitsAround(text, i, whole);
      if (bytes.length === 3) fail(whole, 'IPv4 address too long');
      bytes.push(Number(field));
      field = '';
    }
  }
  if (bytes.length < 3) fail(whole, 'IPv4 address too short');
  return [...bytes, Number(field)];
}

function longerField(field: string, digit: string, whole: string): string {
  if (field === '0') fail(whole, 'IPv4 field has octet with leading zero');
  if (Number(field + digit) > 255) fail(whole, 'IPv4 field has value >255');
  return field + digit;
}

function requireDigitsAround(text: string, dot: number, whole: string): void {
  if (dot > 0 && dot < text.length - 1 && text.charAt(dot - 1) !== '.') return;
  fail(whole, 'IPv4 field must have at least one digit', text.slice(dot));
}

function parseIpv6(whole: string): IpAddress {
  const percent = whole.indexOf('%');
  const zone = percent < 0 ? '' : whole.slice(percent + 1);
  if (percent >= 0 && zone === '') fail(whole, 'zone must be a non-empty string');
  const reader = new Ipv6Reader(whole, percent < 0 ? whole : whole.slice(0, percent));
  return { bytes: reader.read(), zone };
}

class Ipv6Reader {
  readonly #whole: string;
  #text: string;
  readonly #bytes: number[] = [];
  /** Position of `::`; undefined before it is found. */
  #gap: number | undefined;

  constructor(whole: string, text: string) {
    this.#whole = whole;
    this.#text = text;
  }

  read(): number[] {
    if (this.#text.startsWith('::')) {
      this.#gap = 0;
      this.#text = this.#text.slice(2);
      if (this.#text === '') return Array.from({ length: 16 }, () => 0);
    }
    while (this.#bytes.length < 16) {
      if (!this.#field()) break;
    }
    if (this.#text !== '') fail(this.#whole, 'trailing garbage after address', this.#text);
    return this.#filled();
  }

  /** Reads one field with the colon after it; returns false at the end. */
  #field(): boolean {
    const digits = /^[0-9a-fA-F]*/.exec(this.#text)?.[0] ?? '';
    const tooLong = digits.replace(/^(.{5}).*/, '$1');
    if (digits.length > 3 && Number.parseInt(tooLong, 16) > 0xffff) {
      fail(this.#whole, 'IPv6 field has value >=2^16', this.#text);
    }
    if (digits.length > 4) fail(this.#whole, 'each group must have 4 or less digits', this.#text);
    if (digits === '') fail(this.#whole, 'each colon-separated field must have at least one digit', this.#text);
    if (this.#text.charAt(digits.length) === '.') return this.#embeddedIpv4();
    const value = Number.parseInt(digits, 16);
    this.#bytes.push(value >> 8, value & 0xff);
    this.#text = this.#text.slice(digits.length);
    return this.#text !== '' && this.#colon();
  }

  #embeddedIpv4(): boolean {
    if (this.#gap === undefined && this.#bytes.length !== 12) {
      fail(this.#whole, 'embedded IPv4 address must replace the final 2 fields of the address', this.#text);
    }
    if (this.#bytes.length + 4 > 16) {
      fail(this.#whole, 'too many hex fields to fit an embedded IPv4 at the end of the address', this.#text);
    }
    for (const byte of ipv4Bytes(this.#text, this.#whole)) this.#bytes.push(byte);
    this.#text = '';
    return false;
  }

  #colon(): boolean {
    if (!this.#text.startsWith(':')) fail(this.#whole, 'unexpected character, want colon', this.#text);
    if (this.#text === ':') fail(this.#whole, 'colon must be followed by more characters', this.#text);
    this.#text = this.#text.slice(1);
    if (!this.#text.startsWith(':')) return true;
    if (this.#gap !== undefined) fail(this.#whole, 'multiple :: in address', this.#text);
    this.#gap = this.#bytes.length;
    this.#text = this.#text.slice(1);
    return this.#text !== '';
  }

  #filled(): number[] {
    const missing = 16 - this.#bytes.length;
    if (missing > 0) {
      if (this.#gap === undefined) fail(this.#whole, 'address string too short');
      const zeros = Array.from({ length: missing }, () => 0);
      return [...this.#bytes.slice(0, this.#gap), ...zeros, ...this.#bytes.slice(this.#gap)];
    }
    if (this.#gap !== undefined) fail(this.#whole, 'the :: must expand to at least one field of zeros');
    return this.#bytes;
  }
}

export function isIpv4({ bytes }: IpAddress): boolean {
  return bytes.length === 4;
}

/** True for an IPv4 address mapped into IPv6: ::ffff:1.2.3.4. */
export function isMapped({ bytes }: IpAddress): boolean {
  return (
    bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
  );
}

/** Returns the canonical text. */
export function formatIp(address: IpAddress): string {
  const { bytes, zone } = address;
  if (bytes.length === 4) return bytes.join('.');
  const suffix = zone === '' ? '' : `%${zone}`;
  if (isMapped(address)) return `::ffff:${bytes.slice(12).join('.')}${suffix}`;
  const fields = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] as number) << 8) | (bytes[2 * i + 1] as number));
  const [start, end] = longestZeros(fields);
  const hex = (part: readonly number[]): string => part.map((field) => field.toString(16)).join(':');
  if (end - start < 2) return hex(fields) + suffix;
  return `${hex(fields.slice(0, start))}::${hex(fields.slice(end))}${suffix}`;
}

/** Returns the first of the longest runs of zeros. */
function longestZeros(fields: readonly number[]): [start: number, end: number] {
  let best: [number, number] = [0, 0];
  for (let start = 0; start < fields.length; start++) {
    let end = start;
    while (fields[end] === 0) end++;
    if (end - start > best[1] - best[0]) best = [start, end];
  }
  return best;
}
