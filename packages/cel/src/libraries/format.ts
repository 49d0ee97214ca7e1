// The library of named formats: `format.dns1123Label().validate(name)`.
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Library } from '../environment/library.ts';
import { type CelType, structType } from '../types/cel-type.ts';
import { globalOverload, memberOverload, oneOverload } from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { type CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { CelOptional } from '../values/optional.ts';
import { parseTimestamp } from '../values/timestamp.ts';
import { isRequestUri, parseRequestUri } from './go-url.ts';

const formatType = structType('kubernetes.NamedFormat');

interface FormatParts {
  readonly name: string;
  /** Length of its longest pattern, which decides the cost. */
  readonly maxPatternSize: number;
  /** Returns the faults of a text; none when it is valid. */
  readonly errorsOf: (text: string) => readonly string[];
}

/** A value of the type `kubernetes.NamedFormat`. */
export class CelFormat extends CelObject {
  readonly type: CelType = formatType;
  readonly name: string;
  readonly maxPatternSize: number;
  readonly errorsOf: (text: string) => readonly string[];

  constructor({ name, maxPatternSize, errorsOf }: FormatParts) {
    super();
    this.name = name;
    this.maxPatternSize = maxPatternSize;
    this.errorsOf = errorsOf;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelFormat ? this.name === other.name : overloadFailure(other);
  }

  override toString(): string {
    return this.name;
  }
}

const dns1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const dns1035Message =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with " +
  "an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

function dns1035LabelErrors(text: string): string[] {
  const errors = new TextEncoder().encode(text).length > 63 ? ['must be no more than 63 characters'] : [];
  return dns1035.test(text) ? errors : [...errors, dns1035Message];
}

/** The prefix of a generated name may end with a dash. */
function prefixOf(text: string): string {
  return text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text;
}

const uuidPattern = '(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$';
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const timePattern = '^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$';
const time = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/;

function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && parseTimestamp(`${text}T00:00:00Z`) !== undefined;
}

function isDateTime(text: string): boolean {
  const [date = '', clock] = text.toLowerCase().split('t');
  if (clock === undefined || !isDate(date)) return false;
  const [, hour = '', minute = '', second = ''] = time.exec(clock) ?? [];
  return hour !== '' && hour <= '23' && minute <= '59' && second <= '59';
}

function check(test: (text: string) => boolean, message: string): (text: string) => readonly string[] {
  return (text) => (test(text) ? [] : [message]);
}

function uriErrors(text: string): readonly string[] {
  if (isRequestUri(text)) return [];
  const parsed = parseRequestUri(text);
  return isFailure(parsed) ? [parsed.message] : [];
}

const formats: ReadonlyMap<string, CelFormat> = new Map(
  Object.entries<FormatParts>({
    dns1123Label: { name: 'DNS1123Label', maxPatternSize: 30, errorsOf: dnsLabelErrors },
    dns1123Subdomain: { name: 'DNS1123Subdomain', maxPatternSize: 60, errorsOf: dnsSubdomainErrors },
    dns1035Label: { name: 'DNS1035Label', maxPatternSize: 30, errorsOf: dns1035LabelErrors },
    qualifiedName: { name: 'QualifiedName', maxPatternSize: 60, errorsOf: qualifiedNameErrors },
    dns1123LabelPrefix: {
      name: 'DNS1123LabelPrefix',
      maxPatternSize: 30,
      errorsOf: (text) => dnsLabelErrors(prefixOf(text)),
    },
    dns1123SubdomainPrefix: {
      name: 'DNS1123SubdomainPrefix',
      maxPatternSize: 60,
      errorsOf: (text) => dnsSubdomainErrors(prefixOf(text)),
    },
    dns1035LabelPrefix: {
      name: 'DNS1035LabelPrefix',
      maxPatternSize: 30,
      errorsOf: (text) => dns1035LabelErrors(prefixOf(text)),
    },
    labelValue: { name: 'LabelValue', maxPatternSize: 40, errorsOf: labelValueErrors },
    uri: { name: 'URI', maxPatternSize: 1103, errorsOf: uriErrors },
    uuid: {
      name: 'uuid',
      maxPatternSize: uuidPattern.length,
      errorsOf: check((text) => uuid.test(text), 'does not match the UUID format'),
    },
    byte: { name: 'byte', maxPatternSize: 84, errorsOf: check((text) => base64.test(text), 'invalid base64') },
    date: { name: 'date', maxPatternSize: timePattern.length, errorsOf: check(isDate, 'invalid date') },
    datetime: { name: 'datetime', maxPatternSize: timePattern.length, errorsOf: check(isDateTime, 'invalid datetime') },
  }).map(([name, parts]) => [name, new CelFormat(parts)]),
);

function named(name: string): CelOptional {
  const format = formats.get(name);
  return format === undefined ? CelOptional.none : CelOptional.of(format);
}

function validate(format: CelFormat, text: string): CelOptional {
  const errors = format.errorsOf(text);
  return errors.length === 0 ? CelOptional.none : CelOptional.of(errors);
}

const validateSignature = 'kubernetes.NamedFormat, string -> optional(list(string))';

export const formatLibrary: Library = {
  name: 'kubernetes.format',
  functions: [
    oneOverload('validate', memberOverload('format-validate', validateSignature, validate)),
    oneOverload('format.named', globalOverload('format-named', 'string -> optional(kubernetes.NamedFormat)', named)),
    ...Array.from(formats, ([name, format]) =>
      oneOverload(
        `format.${name}`,
        globalOverload(`format.${name}`, '-> kubernetes.NamedFormat', () => format),
      ),
    ),
  ],
};
