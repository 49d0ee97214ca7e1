// Rules for single values, as messages: ports, port names, addresses, keys, percentages. Names and labels are in
// @kapstan/api. Source: apimachinery util/validation.
import { isIP, isIPv4 } from 'node:net';
import { dnsSubdomainErrors } from '@kapstan/api/errors';

const range = (min: number, max: number): string => `must be between ${min} and ${max}, inclusive`;

/** Source: IsValidPortNum. */
export function portNumberErrors(port: number): string[] {
  return port >= 1 && port <= 65_535 ? [] : [range(1, 65_535)];
}

/** Source: IsInRange. */
export function rangeErrors(value: number, min: number, max: number): string[] {
  return value >= min && value <= max ? [] : [range(min, max)];
}

/** Source: IsValidPortName. */
export function portNameErrors(name: string): string[] {
  const errors: string[] = [];
  if (name.length > 15) errors.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(name)) errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) errors.push('must contain at least one letter (a-z)');
  if (name.includes('--')) errors.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

/** Checks a port number or name. Source: ValidatePortNumOrName. */
export function portErrors(port: number | string): string[] {
  return typeof port === 'number' ? portNumberErrors(port) : portNameErrors(port);
}

const ipExample = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const leadingZero = /(^|\.)0\d+/;

/** Returns the faults of an IP address. Strict: refuses leading zeros and IPv4 in IPv6. Source: IsValidIP. */
export function ipErrors(text: string): string[] {
  if (isIP(text) !== 0 && !text.includes('%')) {
    return /^::ffff:\d+\./i.test(text) ? ['must not be an IPv4-mapped IPv6 address'] : [];
  }
  const withoutZeros = text.replace(/(^|\.)0+(\d)/g, '$1$2');
  return leadingZero.test(text) && isIPv4(withoutZeros) ? ['must not have leading 0s'] : [ipExample];
}

/** Like {@link ipErrors}, but the text must also be in Kubernetes' canonical form. Source: IsValidIP. */
export function canonicalIpErrors(text: string): string[] {
  const errors = ipErrors(text);
  if (errors.length > 0) return errors;
  const canonical = canonicalIp(text);
  return text === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** Returns IPv6 in the form of RFC 5952. */
export function canonicalIp(text: string): string {
  return text.includes(':') ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
}

const cidrExample = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

/** Source: IsValidCIDR. */
export function cidrErrors(text: string): string[] {
  const cut = text.indexOf('/');
  const address = text.slice(0, cut);
  const bits = text.slice(cut + 1);
  const max = isIPv4(address) ? 32 : 128;
  const isValid = cut > 0 && isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= max;
  return isValid ? [] : [cidrExample];
}

/**
 * Like {@link cidrErrors}, for fields that once accepted ambiguous networks. Source: IsValidCIDRForLegacyField, strict.
 */
export function strictCidrErrors(text: string): string[] {
  if (cidrErrors(text).length > 0) {
    const withoutZeros = text.replace(/(^|[./])0+(?=\d)/g, '$1');
    return cidrErrors(withoutZeros).length === 0 ? ['must not have leading 0s in IP or prefix length'] : [cidrExample];
  }
  const [address = '', length = ''] = text.split('/');
  if (/^0\d/.test(length)) return ['must not have leading 0s in IP or prefix length'];
  if (isMapped(address)) return ['must not have an IPv4-mapped IPv6 address'];
  const hasMore = addressBits(address).slice(Number(length)).includes('1');
  return hasMore ? ['must not have bits set beyond the prefix length'] : [];
}

const isMapped = (address: string): boolean => ipErrors(address).includes('must not be an IPv4-mapped IPv6 address');

/** Checks an address with the prefix length of its network. Source: IsValidInterfaceAddress. */
export function interfaceAddressErrors(text: string): string[] {
  const [address = '', length = ''] = text.replace(/(^|\.)0+(?=\d)/g, '$1').split('/');
  if (cidrErrors(`${address}/${length}`).length > 0)
    return ['must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'];
  const canonical = `${canonicalIp(address)}/${Number(length)}`;
  return text === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** Like {@link cidrErrors}, but the text must also be in Kubernetes' canonical form. Source: IsValidCIDR. */
export function canonicalCidrErrors(text: string): string[] {
  const errors = cidrErrors(text);
  if (errors.length > 0) return errors;
  const [address = '', length = ''] = text.split('/');
  if (isMapped(address)) return ['must not have an IPv4-mapped IPv6 address'];
  if (addressBits(address).slice(Number(length)).includes('1'))
    return ['must not have bits set beyond the prefix length'];
  const canonical = `${canonicalIp(address)}/${Number(length)}`;
  return text === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** Returns the bits of a valid address, the most significant first. */
function addressBits(address: string): string {
  if (!address.includes(':'))
    return address
      .split('.')
      .map((part) => binary(part, 10, 8))
      .join('');
  const [head = '', tail = ''] = canonicalIp(address).split('::');
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const bits = (groups: readonly string[] | undefined): string =>
    (groups ?? []).map((group) => binary(group, 16, 16)).join('');
  return bits(first).padEnd(128 - bits(last).length, '0') + bits(last);
}

const binary = (digits: string, radix: number, width: number): string =>
  Number.parseInt(digits, radix).toString(2).padStart(width, '0');

/** Returns errors for addresses that no endpoint may have. Source: ValidateNonSpecialIP. */
export function specialIpErrors(text: string): string[] {
  // Leading zeros are reported by other rules.
  const lower = text.replace(/(^|\.)0+(?=\d)/g, '$1').toLowerCase();
  if (isIP(lower) === 0) return ['must be a valid IP address'];
  if (/^(0\.0\.0\.0|::)$/.test(lower)) return ['may not be unspecified (0.0.0.0 or ::)'];
  if (lower.startsWith('127.') || lower === '::1') return ['may not be in the loopback range (127.0.0.0/8, ::1/128)'];
  if (lower.startsWith('169.254.') || /^fe[89ab]/.test(lower))
    return ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'];
  if (lower.startsWith('224.0.0.') || lower.startsWith('ff02:')) {
    return ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'];
  }
  return [];
}

/** Checks the key of a ConfigMap or Secret. Source: IsConfigMapKey. */
export function configKeyErrors(key: string): string[] {
  const errors: string[] = [];
  if (Buffer.byteLength(key) > 253) errors.push('must be no more than 253 characters');
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
    errors.push(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    );
  }
  if (key === '.') errors.push("must not be '.'");
  else if (key === '..') errors.push("must not be '..'");
  else if (key.startsWith('..')) errors.push("must not start with '..'");
  return errors;
}

/** Source: IsValidPercent. */
export function percentErrors(text: string): string[] {
  if (/^[0-9]+%$/.test(text)) return [];
  return [
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
  ];
}

/** Checks the name of an environment variable: anything printable but "=". Source: IsRelaxedEnvVarName. */
export function envNameErrors(name: string): string[] {
  if (name === '') return ['environment variable name must be non-empty'];
  if (/^[\x20-\x3C\x3E-\x7E]+$/.test(name)) return [];
  return [
    "a valid environment variable name must consist only of printable ASCII characters other than '=' (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[ -<>-~]+')",
  ];
}

const underscoreLabel = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const underscoreSubdomain = `${underscoreLabel}(\\.${underscoreLabel})*`;

/** Checks a DNS subdomain that may have underscores. Source: IsDNS1123SubdomainWithUnderscore. */
export function searchPathErrors(text: string): string[] {
  const errors: string[] = [];
  if (Buffer.byteLength(text) > 253) errors.push('must be no more than 253 characters');
  if (!new RegExp(`^${underscoreSubdomain}$`).test(text)) {
    errors.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${underscoreSubdomain}')`,
    );
  }
  return errors;
}

const pathPattern = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;

/**
 * Returns the faults of a text like "example.com/name", whose part before the slash must be a DNS subdomain. Source:
 * IsDomainPrefixedPath.
 */
export function domainPathErrors(text: string): string[] {
  const cut = text.indexOf('/');
  const host = text.slice(0, Math.max(cut, 0));
  const path = text.slice(cut + 1);
  if (host === '' || path === '') return ['must be a domain-prefixed path (such as "acme.io/foo")'];
  const errors = [...dnsSubdomainErrors(host)];
  if (!new RegExp(`^${pathPattern}$`).test(path))
    errors.push(`Invalid path (regex used for validation is '${pathPattern}')`);
  return errors;
}

const wildcardPattern = String.raw`\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`;

/** Source: IsWildcardDNS1123Subdomain. */
export function wildcardSubdomainErrors(text: string): string[] {
  if (new RegExp(`^${wildcardPattern}$`).test(text)) return [];
  return [
    `a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '${wildcardPattern}')`,
  ];
}
