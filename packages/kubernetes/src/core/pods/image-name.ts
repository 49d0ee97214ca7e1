// Parses names of container images as far as defaults need it. Source: pkg/util/parsers ParseImageName over
// github.com/distribution/reference ParseNormalizedNamed.

const host = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const domain = new RegExp(`^(?:${host}(?:\\.${host})*|\\[[A-Fa-f0-9:]+\\])(?::[0-9]+)?$`);
const part = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const path = new RegExp(`^${part}(?:/${part})*$`);
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
/** Longest path of a name. */
const maxNameLength = 255;
/** Longer texts are not names, so the patterns are not tried. */
const maxLength = 2048;

/** True for an image with the tag "latest" or with neither tag nor digest. A malformed name has no tag. */
export function isLatest(image: string): boolean {
  if (image.length > maxLength) return false;
  const [named = '', digest, ...rest] = image.split('@');
  const [, name = named, tag] = /^(.+):([^/]*)$/.exec(named) ?? [];
  const isValid =
    rest.length === 0 &&
    isName(name) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || digestPattern.test(digest));
  if (!isValid) return false;
  return tag === undefined ? digest === undefined : tag === 'latest';
}

/** The text before the first slash is a host if it looks like one. */
function isName(name: string): boolean {
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const isHost = slash > 0 && (/[.:A-Z]/.test(first) || first === 'localhost');
  const rest = isHost ? name.slice(slash + 1) : name;
  if (/^[0-9a-f]{64}$/.test(name) || rest.length > maxNameLength) return false;
  return (!isHost || domain.test(first)) && path.test(rest);
}
