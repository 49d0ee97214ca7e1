// Syntax of names: DNS labels and subdomains, qualified names (label keys), label values. Texts of apimachinery's util/validation.

const qualifiedNameFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValueFormat = `(${qualifiedNameFormat})?`;
const dnsLabelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const dnsSubdomainFormat = `${dnsLabelFormat}(\\.${dnsLabelFormat})*`;

const qualifiedName = new RegExp(`^${qualifiedNameFormat}$`);
const labelValue = new RegExp(`^${labelValueFormat}$`);
const dnsLabel = new RegExp(`^${dnsLabelFormat}$`);
const dnsSubdomain = new RegExp(`^${dnsSubdomainFormat}$`);

/** Matches most valid names without a prefix in one step. */
const plainName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/**
 * Returns the errors of a label key, finalizer or condition type: "example.com/MyName" or "MyName". Empty = valid.
 * Source: IsQualifiedName.
 */
export function qualifiedNameErrors(text: string): string[] {
  if (plainName.test(text)) return [];
  const parts = text.split('/');
  if (parts.length > 2) {
    const pattern = regexError(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      qualifiedNameFormat,
      ['MyName', 'my.name', '123-abc'],
    );
    return [`a valid label key ${pattern} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const prefix = parts.length === 2 ? parts[0] : undefined;
  const name = parts.at(-1) ?? '';
  return [...(prefix === undefined ? [] : prefixErrors(prefix)), ...namePartErrors(name)];
}

/** Returns the errors of a label value. Empty = valid. Source: IsValidLabelValue. */
export function labelValueErrors(text: string): string[] {
  if (text === '' || plainName.test(text)) return [];
  const errors = tooLong(text, 63, 'bytes');
  if (!labelValue.test(text)) {
    errors.push(
      regexError(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        labelValueFormat,
        ['MyValue', 'my_value', '12345'],
      ),
    );
  }
  return errors;
}

/** Returns the errors of a DNS label: "my-name". Empty = valid. Source: IsDNS1123Label. */
export function dnsLabelErrors(text: string): string[] {
  const errors = tooLong(text, 63, 'characters');
  if (dnsLabel.test(text)) return errors;
  const message = dnsSubdomain.test(text)
    ? 'must not contain dots'
    : regexError(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        dnsLabelFormat,
        ['my-name', '123-abc'],
      );
  return [...errors, message];
}

/** Returns the errors of a DNS subdomain: "example.com". Empty = valid. Source: IsDNS1123Subdomain. */
export function dnsSubdomainErrors(text: string): string[] {
  return [...tooLong(text, 253, 'characters'), ...subdomainFormErrors(text)];
}

function subdomainFormErrors(text: string): string[] {
  if (dnsSubdomain.test(text)) return [];
  const message =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [regexError(message, dnsSubdomainFormat, ['example.com'])];
}

function prefixErrors(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  const errors = [...tooLong(prefix, 253, 'bytes'), ...subdomainFormErrors(prefix)];
  return errors.map((error) => `prefix part ${error}`);
}

function namePartErrors(name: string): string[] {
  // An empty name fails the pattern too: Kubernetes reports both.
  const errors =
    name === '' ? ['name part must be non-empty'] : tooLong(name, 63, 'bytes').map((error) => `name part ${error}`);
  if (!qualifiedName.test(name)) {
    const pattern = regexError(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      qualifiedNameFormat,
      ['MyName', 'my.name', '123-abc'],
    );
    errors.push(`name part ${pattern}`);
  }
  return errors;
}

/** The two blanks before "or" are in Kubernetes' text. Source: validation.RegexError. */
function regexError(message: string, format: string, examples: readonly string[]): string {
  const quoted = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${quoted}regex used for validation is '${format}')`;
}

function tooLong(text: string, max: number, unit: 'bytes' | 'characters'): string[] {
  // A code unit takes one to three bytes, so most names need not be counted.
  const fits = text.length * 3 <= max || new TextEncoder().encode(text).length <= max;
  return fits ? [] : [`must be no more than ${max} ${unit}`];
}
