// The header baggage of W3C: values that a caller sends to every server that works on its request. They are passed on to webhooks. Source,
// also of the limits: go.opentelemetry.io/otel/propagation (Baggage), baggage.Parse.

const maxBytes = 8192;
const maxMembers = 180;

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const octets = '[\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]*';
const property = `\\s*;\\s*${token}(?:\\s*=\\s*${octets})?`;
const member = new RegExp(`^\\s*${token}\\s*=\\s*${octets}(?:${property})*\\s*$`);

/**
 * Returns the header as it may be passed on; undefined when it is absent or malformed. `lines`: its lines as received.
 */
export function baggageOf(lines: readonly string[]): string | undefined {
  if (lines.length === 0) return undefined;
  const text = lines.join(',');
  if (text.length > maxBytes) return undefined;
  const members = text.split(',');
  return members.length <= maxMembers && members.every((one) => member.test(one)) ? text : undefined;
}
