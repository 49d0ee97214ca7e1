// Reads the headers that ask to act as someone else. impersonator.ts decides who may. Source: apiserver
// pkg/endpoints/filters/impersonation (processImpersonationHeaders).

import { badRequest } from '@kapstan/api/errors';
import { goQuote } from '@kapstan/api/internal';

export interface ImpersonationHeaders {
  headerNames(): readonly string[];
  headerValues(name: string): readonly string[];
}

/** The user that a request wants to act as, exactly as the headers name it. */
export interface WantedUser {
  readonly name: string;
  /** "" = none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

const extraPrefix = 'impersonate-extra-';

/** Returns undefined when nobody is to be impersonated. Throws 400 for groups, uid or extras without a user. */
export function readImpersonation(headers: ImpersonationHeaders): WantedUser | undefined {
  if (!headers.headerNames().some((name) => name.startsWith('impersonate-'))) return undefined;
  const wanted: WantedUser = {
    // If there are several, the first counts, as in Go's Header.Get.
    name: headers.headerValues('impersonate-user')[0] ?? '',
    uid: headers.headerValues('impersonate-uid')[0] ?? '',
    groups: headers.headerValues('impersonate-group'),
    extra: readExtra(headers),
  };
  if (wanted.name !== '') return wanted;
  if (wanted.groups.length > 0 || wanted.uid !== '' || wanted.extra.size > 0) throw withoutUser(wanted);
  return undefined;
}

function readExtra(headers: ImpersonationHeaders): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const name of headers.headerNames()) {
    if (!name.startsWith(extraPrefix)) continue;
    extra.set(decodeKey(name.slice(extraPrefix.length)), headers.headerValues(name));
  }
  return extra;
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}

/** Makes the error, whose text shows the incomplete user in Go's form. */
function withoutUser({ uid, groups, extra: entries }: WantedUser): Error {
  const texts = (values: readonly string[]): string =>
    values.length === 0 ? '[]string(nil)' : `[]string{${values.map((value) => goQuote(value)).join(', ')}}`;
  const shownEntries = [...entries].map(([key, values]) => `${goQuote(key)}:${texts(values)}`);
  const extra = entries.size === 0 ? 'map[string][]string(nil)' : `map[string][]string{${shownEntries.join(', ')}}`;
  const shown = `&user.DefaultInfo{Name:"", UID:${goQuote(uid)}, Groups:${texts(groups)}, Extra:${extra}}`;
  return badRequest(`requested ${shown} without impersonating a user name`);
}
