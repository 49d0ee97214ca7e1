// The string formats that kube-apiserver checks in custom resources; others are ignored. Source: kube-openapi
// validation/strfmt, default registry, and its copy of govalidator. The patterns are our own, and all are linear.
import { isIPv4, isIPv6 } from 'node:net';
import { parseInt64 } from '@kapstan/api/internal';
import { isRequestUri, parseGoDuration } from '@kapstan/cel';
import { isMailAddress } from './mail-address.ts';

const hex = '[0-9a-fA-F]';
const uuid = (version: string, variant: string): RegExp =>
  new RegExp(`^${hex}{8}-?${hex}{4}-?${version}${hex}{3}-?${variant}${hex}{3}-?${hex}{12}$`);
const anyUuid = uuid(hex, hex);
const uuid3 = uuid('3', hex);
const uuid4 = uuid('4', '[89abAB]');
const uuid5 = uuid('5', '[89abAB]');
const objectId = new RegExp(`^${hex}{24}$`);
const hexColor = new RegExp(`^#?(?:${hex}{3}|${hex}{6})$`);
const colorPart = '[\\t\\n\\f\\r ]*(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])[\\t\\n\\f\\r ]*';
const rgbColor = new RegExp(`^rgb\\(${colorPart},${colorPart},${colorPart}\\)$`);
const letter = '[a-zA-Z0-9\\p{S}\\p{L}]';
const label = `${letter}(?:(?:[a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${letter})?)`;
const hostname = new RegExp(`^(?:${letter}(?:-?${letter}{0,62})?|(?:${label}\\.)+[a-zA-Z\\p{L}]{2,63})$`, 'u');
// Matches the time of day in a date-time. Any character may stand before the fraction.
const timeOfDay = /^(\d{2}):(\d{2}):(\d{2})(?:[^\n]\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/u;
const shortName = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
// Matches numbers with a unit anywhere. It starts only at the first digit; otherwise a long number would be read once
// per digit.
const amounts = /(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g;
const amountUnit = /^(?:ns|us|µs|ms|s|m|hr?|d|wk?|(?:nano|micro|milli|sec|min|hour|day|week).*)$/i;
// Matches at least one byte. Source: govalidator.IsBase64.
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const macOf = (size: number): string =>
  `${hex}{2}(?::${hex}{2}){${size - 1}}|${hex}{2}(?:-${hex}{2}){${size - 1}}|` +
  `${hex}{4}(?:\\.${hex}{4}){${size / 2 - 1}}|${hex}{${size * 2}}`;
const mac = new RegExp(`^(?:${[6, 8, 20].map(macOf).join('|')})$`);
// Matches the numbers of Visa, Mastercard, Discover, American Express, Diners Club and JCB, some newer ones excepted.
const creditCard =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;

const checks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', (text) => objectId.test(text)],
  ['uri', isRequestUri],
  ['email', isMailAddress],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', (text) => isIPv6(text) && !text.includes('%')],
  ['cidr', isCidr],
  ['mac', (text) => mac.test(text)],
  ['uuid', (text) => anyUuid.test(text)],
  ['uuid3', (text) => uuid3.test(text)],
  ['uuid4', (text) => uuid4.test(text)],
  ['uuid5', (text) => uuid5.test(text)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => /^\d{3}[- ]\d{2}[- ]\d{4}$/.test(text)],
  ['hexcolor', (text) => hexColor.test(text)],
  ['rgbcolor', (text) => rgbColor.test(text)],
  ['byte', (text) => base64.test(text)],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => text.length <= 63 && shortName.test(text)],
  ['k8slongname', (text) => text.length <= 253 && text.split('.').every((segment) => shortName.test(segment))],
]);

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

/** The last label has letters only, and signs count as letters. Lengths are of UTF-8. Source: strfmt.IsHostname. */
function isHostname(text: string): boolean {
  if (text.length > 255 || !hostname.test(text)) return false;
  return Buffer.byteLength(text) <= 255 && text.split('.').every((part) => Buffer.byteLength(part) <= 63);
}

/** Numbers may have leading zeros, as in old Go. Source: netutils.ParseIPSloppy. */
function withoutLeadingZeros(address: string): string {
  return address.replace(/(^|[.:])0+(?=[0-9a-fA-F])/g, '$1');
}

/** Accepts an IPv6 address that ends in the dotted form, too. */
function isIpv4(text: string): boolean {
  const address = withoutLeadingZeros(text);
  return isIPv4(address) || (isIPv6(address) && address.includes('.') && !address.includes('%'));
}

/** Source: netutils.ParseCIDRSloppy. */
function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const bits = text.slice(slash + 1);
  if (slash < 0 || !/^\d+$/.test(bits)) return false;
  const address = withoutLeadingZeros(text.slice(0, slash));
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && !address.includes('%') && Number(bits) <= 128);
}

/** Accepts Go's durations and any text that contains an amount of time. Source: strfmt.ParseDuration. */
function isDuration(text: string): boolean {
  if (parseGoDuration(text) !== undefined) return true;
  let hasTime = false;
  for (const [, amount = '', unit = ''] of text.matchAll(amounts)) {
    if (parseInt64(amount) === undefined) return false;
    hasTime ||= amountUnit.test(unit);
  }
  return hasTime;
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

/** Text after a second T is not read. Source: strfmt.IsDateTime. */
function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.split(/[Tt]/, 2);
  if (!isDate(date)) return false;
  const [, hours = '24', minutes = '', seconds = ''] = timeOfDay.exec(time) ?? [];
  return hours <= '23' && minutes <= '59' && seconds <= '59';
}

function withoutSpacesAndDashes(text: string): string {
  return text.replace(/[\t\n\f\r -]+/g, '');
}

function isIsbn10(text: string): boolean {
  const digits = withoutSpacesAndDashes(text);
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (digit === 'X' ? 10 : Number(digit)) * (10 - index),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = withoutSpacesAndDashes(text);
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

/** Characters other than digits are not read. Source: govalidator.IsCreditCard. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, '');
  if (!creditCard.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
