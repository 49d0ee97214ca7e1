// The header baggage of W3C: values that a caller wants everybody to have who works on its request. Passed on to webhooks.
// Source: go.opentelemetry.io/otel/propagation (Baggage), baggage.Parse, whose limits these are.

const maxBytes = 8192;
const maxMembers = 180;

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const octets = '[\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]*';
const property = `\\s*;\\s*${token}(?:\\s*=\\s*${octets})?`;
const member = new RegExp(`^\\s*${token}\\s*=\\s*${octets}(?:${property})*\\s*$`);

/** Returns the header as it may be passed on; undefined when there is none or it is wrong. `lines`: as they were sent. */
export function baggageOf(lines: readonly string[]): string | undefined {
  if (lines.length === 0) return undefined;
  const text = lines.join(',');
  if (text.length > maxBytes) return undefined;
  const members = text.split(',');
  return members.length <= maxMembers && members.every((one) => member.test(one)) ? text : undefined;
}
