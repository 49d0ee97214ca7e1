// IPv4 addresses and networks as numbers.
import { isIPv4 } from 'node:net';

/** Returns undefined when the text is not an IPv4 address. */
export function parseIpv4(text: string): number | undefined {
  if (!isIPv4(text)) return undefined;
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function printIpv4(address: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.');
}

export interface Ipv4Network {
  /** The network address. */
  readonly first: number;
  /** Number of addresses, including the network and broadcast addresses. */
  readonly size: number;
}

/** Returns undefined when the text is not an IPv4 network with at least four addresses. */
export function readIpv4Network(cidr: string): Ipv4Network | undefined {
  const [text = '', bits = ''] = cidr.split('/');
  const address = parseIpv4(text);
  const length = /^\d{1,2}$/.test(bits) ? Number(bits) : Number.NaN;
  if (address === undefined || !(length >= 0 && length <= 30)) return undefined;
  const size = 2 ** (32 - length);
  return { first: Math.floor(address / size) * size, size };
}

/** Returns first address and number of addresses of "10.96.0.0/12". Throws TypeError. */
export function parseIpv4Network(cidr: string): Ipv4Network {
  const network = readIpv4Network(cidr);
  if (network === undefined) throw new TypeError(`not an IPv4 network with at least four addresses: ${cidr}`);
  return network;
}

export function printIpv4Network({ first, size }: Ipv4Network): string {
  return `${printIpv4(first)}/${32 - Math.log2(size)}`;
}

/**
 * Returns the first address for services, which the API servers have. Throws TypeError when the text is not a network.
 */
export function firstServiceAddress(cidr: string): string {
  return printIpv4(parseIpv4Network(cidr).first + 1);
}

/**
 * Returns the network as Go prints it: "10.96.7.1/16" becomes "10.96.0.0/16". Throws TypeError when the text is not a
 * network.
 */
export function serviceNetwork(cidr: string): string {
  return printIpv4Network(parseIpv4Network(cidr));
}
