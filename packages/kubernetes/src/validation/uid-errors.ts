// Checks a uid, which must be a UUID in its usual form. Source: pkg/apis/resource/validation validateUID,
// github.com/google/uuid Validate.

const hex32 = /^[0-9a-f]{32}$/i;
const dashed = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns messages, empty when the uid is valid. */
export function uidErrors(text: string): string[] {
  const fault = uuidFault(text);
  if (fault !== undefined) return [`error validating uid: ${fault}`];
  if (text.length === 36 && text === text.toLowerCase()) return [];
  return [
    'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
  ];
}

/** Accepts the four forms of a UUID: plain, dashed, in braces, as a URN. */
function uuidFault(text: string): string | undefined {
  const length = Buffer.byteLength(text);
  const malformed = 'invalid UUID format';
  switch (length) {
    case 32:
      return hex32.test(text) ? undefined : malformed;
    case 36:
      return dashed.test(text) ? undefined : malformed;
    case 38:
      if (!/^\{.*\}$/s.test(text)) return 'invalid bracketed UUID format';
      return dashed.test(text.slice(1, -1)) ? undefined : malformed;
    case 45:
      if (!/^urn:uuid:/i.test(text)) return `invalid urn prefix: ${JSON.stringify(text.slice(0, 9))}`;
      return dashed.test(text.slice(9)) ? undefined : malformed;
    default:
      return `invalid UUID length: ${length}`;
  }
}
