// safeErrorText turns an error into a line that the inspector may show to people, with names but without values. Its second form,
// quotedErrorText, shows texts of errors too. Used by controller and control-plane.
import { isStatusError, type StatusError } from './status-error.ts';

const longest = 300;
const deepest = 5;

export type ErrorText = (error: unknown) => string;

/**
 * Returns one line of at most 300 characters. An answer of the API is described by its reason, its object and the fields at fault. Other
 * errors are described by class and code, because any text may quote a value, as JSON.parse does, and values cannot be told from words.
 */
export function safeErrorText(error: unknown): string {
  if (isStatusError(error)) return cut(statusText(error));
  if (!(error instanceof Error)) return `a value of type ${typeof error} was thrown`;
  const code = codeBelow(error);
  const status = statusBelow(error);
  const parts = [`${classOf(error)}${code === undefined ? '' : ` (${code})`}`, status && statusText(status)];
  return cut(parts.filter((part) => part !== undefined).join(': '));
}

/**
 * Like safeErrorText, but with the first line of an error's text. Text that looks like a value or a credential is left out. That is a help
 * but not a guarantee, so users must opt in.
 */
export function quotedErrorText(error: unknown): string {
  if (isStatusError(error)) return safeErrorText(error);
  const [message = ''] = messageOf(error).split('\n', 1);
  const status = statusBelow(error);
  // A program often wraps an answer of the API by quoting its message.
  const own = status === undefined ? message : message.split(status.message)[0];
  const text = withoutValues(cut(own ?? ''));
  return cut(status === undefined ? text : `${text}${text.trimEnd().endsWith(':') ? '' : ': '}${statusText(status)}`);
}

/** True for the kind whose objects are not named. */
export function isSecret({ group, plural }: { readonly group: string; readonly plural: string }): boolean {
  return group === '' && plural === 'secrets';
}

/** The thrower chooses the name, so only a name that can belong to a class is shown. */
function classOf(error: Error): string {
  const own: unknown = error.name === 'Error' ? error.constructor?.name : error.name;
  return typeof own === 'string' && /^[A-Za-z_$][\w$]{0,63}$/.test(own) ? own : 'Error';
}

/** Returns the first code of the error and its causes that looks like one, such as ECONNREFUSED. */
function codeBelow(error: Error): string | undefined {
  let cause: unknown = error;
  for (let depth = 0; depth < deepest && cause instanceof Error && !isStatusError(cause); depth++) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/.test(code) && code.length <= 64) return code;
    if (Number.isInteger(code)) return String(code);
    cause = cause.cause;
  }
  return undefined;
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  return typeof error === 'string' ? error : `a value of type ${typeof error} was thrown`;
}

function statusBelow(error: unknown): StatusError | undefined {
  let cause: unknown = error;
  for (let depth = 0; depth < deepest && cause instanceof Error; depth++) {
    if (isStatusError(cause)) return cause;
    cause = cause.cause;
  }
  return undefined;
}

function statusText({ reason, code, details }: StatusError): string {
  const { group = '', kind = '', name = '', causes = [] } = details ?? {};
  const resource = `${kind}${group === '' ? '' : `.${group}`}`;
  const isHidden = group === '' && /^secrets?$/i.test(kind);
  const object = `${resource}${name === '' || isHidden ? '' : ` "${name}"`}`.trim();
  const fields = isHidden ? [] : causes.slice(0, 5).map((cause) => `${cause.field ?? ''}: ${cause.reason ?? ''}`);
  return [`${reason === '' ? 'Error' : reason} (${code})`, object, fields.join(', ')]
    .filter((part) => part !== '')
    .join(': ');
}

/** Removes values as Kubernetes quotes them, names of Secrets, and text that looks like a credential. */
function withoutValues(text: string): string {
  return text
    .replace(/\b((?:Invalid|Unsupported|Duplicate) value: ).*$/i, '$1…')
    .replace(/\b(secrets?) "[^"]*"/gi, '$1 "…"')
    .replace(
      /\b(password|passwd|token|secret|bearer|authorization|api[-_]?key)\b(\s*(?:[=:]|is)\s*|\s+(?=\S*\d))\S+/gi,
      '$1$2…',
    )
    .replace(/[A-Za-z0-9+/_=]{24,}/g, '…');
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
