// Checks the origin of a WebSocket: every browser sends one, and Go's server accepts no WebSocket without one. Used by
// websocket-watch.ts. Source: golang.org/x/net/websocket (checkOrigin), net/url (ParseRequestURI).

const badEscape = /%(?![0-9a-f]{2})/i;
const control = /\p{Cc}/u;
/** A scheme and the rest. */
const absolute = /^[a-z][a-z0-9+.-]*:(.*)$/i;
/** User, host or address in brackets, port. */
const authority = /^(?:[^@]*@)?(?:\[[^\]]*\]|[^\s\\^`{|}#@[\]:%]*)(?::\d*)?$/;

/** True for a URL that a request may have: an absolute one or a path. Its value does not matter. */
export function isOrigin(text: string): boolean {
  if (text === '*') return true;
  if (control.test(text) || badEscape.test(text.split('?', 1)[0] ?? '')) return false;
  if (text.startsWith('/')) return true;
  const rest = absolute.exec(text)?.[1];
  if (rest === undefined) return false;
  return !rest.startsWith('//') || authority.test(rest.slice(2).split(/[/?]/, 1)[0] ?? '');
}
