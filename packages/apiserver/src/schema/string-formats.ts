// The string formats that kube-apiserver checks in custom resources; others are ignored. Source: kube-openapi
// validation/strfmt, default registry. The patterns are our own, and all are linear.
import { isIPv4, isIPv6 } from 'node:net';

const hex = '[0-9a-fA-F]';
const uuid = (version: string, variant: string): RegExp =>
  new RegExp(`^${hex}{8}-?${hex}{4}-?${version}${hex}{3}-?${variant}${hex}{3}-?${hex}{12}$`);
const letter = '[a-zA-Z0-9\\p{S}\\p{L}]';
const label = `${letter}(?:(?:[a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${letter})?)`;
const hostname = new RegExp(`^(?:${letter}(?:-?${letter}{0,62})?|(?:${label}\\.)+[a-zA-Z\\p{L}]{2,63})$`, 'u');
const dateTime = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const shortName = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
// Matches numbers with a unit anywhere. It starts only at the first digit; otherwise a long number would be read once
// per digit.
const amounts = /(?<!\d)(\d+)\s*([A-Za-zµ]+)/g;
const amountUnit = /^(?:ns|us|µs|ms|s|m|hr?|d|wk?|(?:nano|micro|milli|sec|min|hour|day|week).*)$/i;
// Matches at least one byte. Source: govalidator.IsBase64.
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;

const checks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', (text) => new RegExp(`^${hex}{24}$`).test(text)],
  ['uri', isUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => isSloppyIPv4(text) || (text.includes('.') && isPlainIPv6(text))],
  ['ipv6', isPlainIPv6],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', (text) => uuid(hex, hex).test(text)],
  ['uuid3', (text) => uuid('3', hex).test(text)],
  ['uuid4', (text) => uuid('4', '[89abAB]').test(text)],
  ['uuid5', (text) => uuid('5', '[89abAB]').test(text)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', (text) => new RegExp(`^#?(?:${hex}{3}|${hex}{6})$`).test(text)],
  ['rgbcolor', isRgbColor],
  ['byte', (text) => base64.test(text)],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => text.length <= 63 && shortName.test(text)],
  ['k8slongname', (text) => text.length <= 253 && text.split('.').every((segment) => shortName.test(segment))],
]);

/** Numbers may have leading zeros, as in old Go. Source: netutils.ParseIPSloppy. */
function isSloppyIPv4(text: string): boolean {
  return isIPv4(text.replace(/(^|\.)0+(?=\d)/g, '$1'));
}

function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

/** True when the text has the format, or the format is not checked. "date-time" and "datetime" are the same. */
export function isOfFormat(text: string, format: string): boolean {
  return checks.get(normalized(format))?.(text) ?? true;
}

export function isKnownFormat(format: string): boolean {
  return checks.has(normalized(format));
}

function normalized(format: string): string {
  return format.includes('-') ? format.replaceAll('-', '') : format;
}

/** Accepts a name before the address, as mail headers have it. */
function isEmail(text: string): boolean {
  const address = /^[^<>]*<([^<>]*)>$/.exec(text)?.[1] ?? text;
  return address.length <= 254 && /^[^\s@<>]+@[^\s@<>]+$/.test(address);
}

/** The last label has letters only, and signs count as letters. Source: strfmt.IsHostname. */
function isHostname(text: string): boolean {
  return text.length <= 255 && hostname.test(text) && text.split('.').every((part) => part.length <= 63);
}

/** Source: net.ParseMAC, for addresses of 6, 8 and 20 bytes. */
function isMac(text: string): boolean {
  const digits = text.replace(/[:.-]/g, '');
  if (![12, 16, 40].includes(digits.length) || !/^[0-9a-fA-F]+$/.test(digits)) return false;
  if (digits === text) return digits.length !== 40;
  const [separator = ''] = /[:.-]/.exec(text) ?? [];
  const size = separator === '.' ? 4 : 2;
  return text.split(separator).every((group) => group.length === size && /^[0-9a-fA-F]+$/.test(group));
}

function isUri(text: string): boolean {
  return URL.canParse(text) || /^\/[^\s]*$/.test(text);
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128);
}

/** Accepts Go's durations and any text that contains an amount of time. Source: strfmt.ParseDuration. */
function isDuration(text: string): boolean {
  if (goDuration.test(text)) return true;
  const found = [...text.matchAll(amounts)];
  if (found.some(([, amount]) => Number(amount) >= 2 ** 63)) return false;
  return found.some(([, , unit = '']) => amountUnit.test(unit));
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month);
}

function daysOfMonth(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return isLeap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isDateTime(text: string): boolean {
  const match = dateTime.exec(text);
  if (match === null) return false;
  const [, date = '', hours, minutes, seconds] = match;
  return isDate(date) && Number(hours) <= 23 && Number(minutes) <= 59 && Number(seconds) <= 59;
}

function isRgbColor(text: string): boolean {
  const match = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  return match?.slice(1).every((part) => Number(part) <= 255) === true;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (digit === 'X' ? 10 : Number(digit)) * (10 - index),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
